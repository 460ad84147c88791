// RUN: betz-opt %s -verify-diagnostics -split-input-file

func.func @c1_gain(%x: tensor<3x64xf32>, %g: tensor<32xf32>) {
  // expected-error @+1 {{(C1) gain and shift must be [64]}}
  %y = betz.norm rms %x, %g {eps = 1.0e-5 : f64}
      : (tensor<3x64xf32>, tensor<32xf32>) -> tensor<3x64xf32>
  return
}

// -----

func.func @c1_shift(%x: tensor<3x64xf32>, %g: tensor<64xf32>,
                    %s: tensor<1x64xf32>) {
  // expected-error @+1 {{(C1) gain and shift must be [64]}}
  %y = betz.norm layer %x, %g, %s {eps = 1.0e-5 : f64}
      : (tensor<3x64xf32>, tensor<64xf32>, tensor<1x64xf32>) -> tensor<3x64xf32>
  return
}

// -----

func.func @c1_scalar(%x: tensor<f32>, %g: tensor<0xf32>) {
  // expected-error @+1 {{(C1) x must have columns}}
  %y = betz.norm rms %x, %g {eps = 1.0e-5 : f64}
      : (tensor<f32>, tensor<0xf32>) -> tensor<f32>
  return
}

// -----

func.func @c2(%x: tensor<3x64xf32>, %g: tensor<64xf32>) {
  // expected-error @+1 {{(C2) result type 'tensor<4x64xf32>' differs from 'tensor<3x64xf32>'}}
  %y = betz.norm rms %x, %g {eps = 1.0e-5 : f64}
      : (tensor<3x64xf32>, tensor<64xf32>) -> tensor<4x64xf32>
  return
}

// -----

func.func @c3_zero(%x: tensor<3x64xf32>, %g: tensor<64xf32>) {
  // expected-error @+1 {{(C3) eps must be positive}}
  %y = betz.norm rms %x, %g {eps = 0.0 : f64}
      : (tensor<3x64xf32>, tensor<64xf32>) -> tensor<3x64xf32>
  return
}

// -----

func.func @c3_nan(%x: tensor<3x64xf32>, %g: tensor<64xf32>) {
  // expected-error @+1 {{(C3) eps must be positive}}
  %y = betz.norm rms %x, %g {eps = 0x7FF8000000000000 : f64}
      : (tensor<3x64xf32>, tensor<64xf32>) -> tensor<3x64xf32>
  return
}
