// RUN: betz-opt %s -verify-diagnostics -split-input-file

func.func @c1(%x: tensor<3x4xf32>) {
  // expected-error @+1 {{(C1) the result must have the shape of x}}
  %z = betz.cast %x : (tensor<3x4xf32>) -> tensor<4x3xbf16>
  return
}

// -----

func.func @c2(%x: tensor<3x4xf32>) {
  // expected-error @+1 {{(C2) the element types must differ}}
  %z = betz.cast %x : (tensor<3x4xf32>) -> tensor<3x4xf32>
  return
}
