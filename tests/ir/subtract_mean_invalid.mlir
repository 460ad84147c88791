// RUN: betz-opt %s -verify-diagnostics -split-input-file

func.func @c1_dim(%w: tensor<3x4xf32>) {
  // expected-error @+1 {{(C1) x must have a constant shape and dimension dim}}
  %a = betz.subtract_mean %w {dim = 2 : i64}
      : (tensor<3x4xf32>) -> tensor<3x4xf32>
  return
}

// -----

func.func @c1_negative(%w: tensor<3x4xf32>) {
  // expected-error @+1 {{(C1) x must have a constant shape and dimension dim}}
  %a = betz.subtract_mean %w {dim = -1 : i64}
      : (tensor<3x4xf32>) -> tensor<3x4xf32>
  return
}

// -----

func.func @c1_dynamic(%w: tensor<?x4xf32, #betz.rows<"events">>) {
  // expected-error @+1 {{(C1) x must have a constant shape and dimension dim}}
  %a = betz.subtract_mean %w {dim = 1 : i64}
      : (tensor<?x4xf32, #betz.rows<"events">>)
      -> tensor<?x4xf32, #betz.rows<"events">>
  return
}

// -----

func.func @c2(%w: tensor<3x4xf32>) {
  // expected-error @+1 {{(C2) result type 'tensor<3x1xf32>' differs from 'tensor<3x4xf32>'}}
  %a = betz.subtract_mean %w {dim = 1 : i64}
      : (tensor<3x4xf32>) -> tensor<3x1xf32>
  return
}
