// RUN: betz-opt %s -verify-diagnostics -split-input-file

func.func @c1_group(%x: tensor<3x64xf32>) {
  // expected-error @+1 {{(C1) x must be [..., D], group a divisor of D}}
  %q = betz.square_sums %x {group = 24 : i64} : (tensor<3x64xf32>) -> tensor<3x2xf32>
  return
}

// -----

func.func @c1_zero(%x: tensor<3x64xf32>) {
  // expected-error @+1 {{(C1) x must be [..., D], group a divisor of D}}
  %q = betz.square_sums %x {group = 0 : i64} : (tensor<3x64xf32>) -> tensor<3x2xf32>
  return
}

// -----

func.func @c1_result(%x: tensor<3x64xf32>) {
  // expected-error @+1 {{(C1) x must be [..., D], group a divisor of D}}
  %q = betz.square_sums %x {group = 32 : i64} : (tensor<3x64xf32>) -> tensor<3x3xf32>
  return
}

// -----

func.func @c1_rank(%x: tensor<64xf32>) {
  // expected-error @+1 {{(C1) x must be [..., D], group a divisor of D}}
  %q = betz.square_sums %x {group = 32 : i64} : (tensor<64xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @c1_type(%x: tensor<3x64xf32>) {
  // expected-error @+1 {{(C1) x must be [..., D], group a divisor of D}}
  %q = betz.square_sums %x {group = 32 : i64} : (tensor<3x64xf32>) -> tensor<3x2xbf16>
  return
}

// -----

func.func @c1_scalar(%x: tensor<f32>) {
  // expected-error @+1 {{(C1) x must be [..., D], group a divisor of D}}
  %q = betz.square_sums %x {group = 32 : i64} : (tensor<f32>) -> tensor<f32>
  return
}
