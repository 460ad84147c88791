// RUN: betz-opt %s -verify-diagnostics -split-input-file

func.func @c1_none() {
  // expected-error @+1 {{(C1) needs at least one part}}
  %x = betz.concat : () -> tensor<0x5xf32>
  return
}

// -----

func.func @c1_columns(%a: tensor<3x5xf32>, %b: tensor<3x4xf32>) {
  // expected-error @+1 {{(C1) parts must be constant [*, K] of one K and element type}}
  %x = betz.concat %a, %b
      : (tensor<3x5xf32>, tensor<3x4xf32>) -> tensor<6x5xf32>
  return
}

// -----

func.func @c1_element(%a: tensor<3x5xf32>, %b: tensor<3x5xbf16>) {
  // expected-error @+1 {{(C1) parts must be constant [*, K] of one K and element type}}
  %x = betz.concat %a, %b
      : (tensor<3x5xf32>, tensor<3x5xbf16>) -> tensor<6x5xf32>
  return
}

// -----

func.func @c1_first_rank(%a: tensor<5xf32>, %b: tensor<3x5xf32>) {
  // expected-error @+1 {{(C1) parts must be constant [*, K] of one K and element type}}
  %x = betz.concat %a, %b
      : (tensor<5xf32>, tensor<3x5xf32>) -> tensor<4x5xf32>
  return
}

// -----

func.func @c1_scalar(%a: tensor<3x5xf32>, %b: tensor<f32>) {
  // expected-error @+1 {{(C1) parts must be constant [*, K] of one K and element type}}
  %x = betz.concat %a, %b : (tensor<3x5xf32>, tensor<f32>) -> tensor<4x5xf32>
  return
}

// -----

func.func @c2(%a: tensor<3x5xf32>, %b: tensor<2x5xf32>) {
  // expected-error @+1 {{(C2) the result must be [sum of rows, K]}}
  %x = betz.concat %a, %b
      : (tensor<3x5xf32>, tensor<2x5xf32>) -> tensor<3x5xf32>
  return
}
