// RUN: betz-opt %s -verify-diagnostics -split-input-file

func.func @c1(%x: tensor<3x4xf32>) {
  // expected-error @+1 {{(C1) the result must have the shape of x}}
  %z = betz.cast %x : (tensor<3x4xf32>) -> tensor<4x3xbf16>
  return
}

// -----

func.func @c1_rows(%x: tensor<?x4xf32, #betz.rows<"batch">>) {
  // expected-error @+1 {{(C1) the result must have the shape of x}}
  %z = betz.cast %x : (tensor<?x4xf32, #betz.rows<"batch">>)
      -> tensor<?x4xbf16, #betz.rows<"events">>
  return
}

// -----

func.func @c2(%x: tensor<3x4xf32>) {
  // expected-error @+1 {{(C2) the element types must differ}}
  %z = betz.cast %x : (tensor<3x4xf32>) -> tensor<3x4xf32>
  return
}

// -----

// Wider rows than factors would lose bits of every product.
func.func @narrow_factor(%x: tensor<3x4xf32>, %s: tensor<3x1xbf16>) {
  // expected-error @+1 {{(C1) scale must be [..., 1] for x: [..., D], of its element type or f32}}
  %y = betz.scale_rows %x, %s
      : (tensor<3x4xf32>, tensor<3x1xbf16>) -> tensor<3x4xf32>
  return
}
