// RUN: betz-opt %s -verify-diagnostics -split-input-file

func.func @c1_result(%x: tensor<3x2xf32>) {
  // expected-error @+1 {{(C1) squares must be [..., G], the result [..., 1]}}
  %q = betz.scale_from_squares %x {columns = 64 : i64, eps = 1.0e-5 : f64} : (tensor<3x2xf32>) -> tensor<3x2xf32>
  return
}

// -----

func.func @c1_rank(%x: tensor<2xf32>) {
  // expected-error @+1 {{(C1) squares must be [..., G], the result [..., 1]}}
  %q = betz.scale_from_squares %x {columns = 64 : i64, eps = 1.0e-5 : f64} : (tensor<2xf32>) -> tensor<1xf32>
  return
}

// -----

func.func @c2_columns(%x: tensor<3x2xf32>) {
  // expected-error @+1 {{(C2) columns and eps must be positive}}
  %q = betz.scale_from_squares %x {columns = 0 : i64, eps = 1.0e-5 : f64} : (tensor<3x2xf32>) -> tensor<3x1xf32>
  return
}

// -----

func.func @c2_eps(%x: tensor<3x2xf32>) {
  // expected-error @+1 {{(C2) columns and eps must be positive}}
  %q = betz.scale_from_squares %x {columns = 64 : i64, eps = 0.0 : f64} : (tensor<3x2xf32>) -> tensor<3x1xf32>
  return
}
