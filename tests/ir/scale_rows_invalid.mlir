// RUN: betz-opt %s -verify-diagnostics -split-input-file

func.func @c1_columns(%x: tensor<3x64xf32>, %s: tensor<3x2xf32>) {
  // expected-error @+1 {{(C1) scale must be [..., 1] for x: [..., D]}}
  %y = betz.scale_rows %x, %s
      : (tensor<3x64xf32>, tensor<3x2xf32>) -> tensor<3x64xf32>
  return
}

// -----

func.func @c1_repeated(%x: tensor<5x3x64xf32>, %s: tensor<3x1xf32>) {
  // expected-error @+1 {{(C1) scale must be [..., 1] for x: [..., D]}}
  %y = betz.scale_rows %x, %s
      : (tensor<5x3x64xf32>, tensor<3x1xf32>) -> tensor<5x3x64xf32>
  return
}

// -----

func.func @c1_rank(%x: tensor<64xf32>, %s: tensor<1xf32>) {
  // expected-error @+1 {{(C1) scale must be [..., 1] for x: [..., D]}}
  %y = betz.scale_rows %x, %s
      : (tensor<64xf32>, tensor<1xf32>) -> tensor<64xf32>
  return
}

// -----

func.func @c2(%x: tensor<3x64xf32>, %s: tensor<3x1xf32>) {
  // expected-error @+1 {{(C2) result type 'tensor<3x32xf32>' differs from 'tensor<3x64xf32>'}}
  %y = betz.scale_rows %x, %s
      : (tensor<3x64xf32>, tensor<3x1xf32>) -> tensor<3x32xf32>
  return
}
