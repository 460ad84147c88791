// RUN: betz-opt %s -verify-diagnostics -split-input-file

func.func @c1_dynamic(%w: tensor<?x7xf32, #betz.rows<"n">>) {
  // expected-error @+1 {{(C1) weight must be constant [N, K], panel positive}}
  %p = betz.pack_panels %w {panel = 16 : i64}
      : (tensor<?x7xf32, #betz.rows<"n">>) -> tensor<3x7x16xf32>
  return
}

// -----

func.func @c1_rank(%w: tensor<33xf32>) {
  // expected-error @+1 {{(C1) weight must be constant [N, K], panel positive}}
  %p = betz.pack_panels %w {panel = 16 : i64}
      : (tensor<33xf32>) -> tensor<3x16xf32>
  return
}

// -----

func.func @c1_panel(%w: tensor<33x7xf32>) {
  // expected-error @+1 {{(C1) weight must be constant [N, K], panel positive}}
  %p = betz.pack_panels %w {panel = 0 : i64}
      : (tensor<33x7xf32>) -> tensor<3x7x16xf32>
  return
}

// -----

func.func @c2(%w: tensor<33x7xf32>) {
  // expected-error @+1 {{(C2) the result must be 'tensor<3x7x16xf32>'}}
  %p = betz.pack_panels %w {panel = 16 : i64}
      : (tensor<33x7xf32>) -> tensor<2x7x16xf32>
  return
}
