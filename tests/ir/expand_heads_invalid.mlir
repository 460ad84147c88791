// RUN: betz-opt %s -verify-diagnostics -split-input-file

func.func @c1_heads(%x: tensor<2x12xf32>) {
  // expected-error @+1 {{(C1) x must be a constant [N, D], heads divide D}}
  %y = betz.expand_heads %x {heads = 5 : i64}
      : (tensor<2x12xf32>) -> tensor<10x12xf32>
  return
}

// -----

func.func @c1_zero(%x: tensor<2x12xf32>) {
  // expected-error @+1 {{(C1) x must be a constant [N, D], heads divide D}}
  %y = betz.expand_heads %x {heads = 0 : i64}
      : (tensor<2x12xf32>) -> tensor<0x12xf32>
  return
}

// -----

func.func @c1_dynamic(%x: tensor<?x12xf32, #betz.rows<"events">>) {
  // expected-error @+1 {{(C1) x must be a constant [N, D], heads divide D}}
  %y = betz.expand_heads %x {heads = 3 : i64}
      : (tensor<?x12xf32, #betz.rows<"events">>)
      -> tensor<?x12xf32, #betz.rows<"events">>
  return
}

// -----

func.func @c2(%x: tensor<2x12xf32>) {
  // expected-error @+1 {{(C2) the result must be [N * heads, D]}}
  %y = betz.expand_heads %x {heads = 3 : i64}
      : (tensor<2x12xf32>) -> tensor<6x4xf32>
  return
}
