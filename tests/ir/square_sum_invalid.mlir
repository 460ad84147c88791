// RUN: betz-opt %s -verify-diagnostics -split-input-file

func.func @c1(%x: tensor<640xf32>) {
  // expected-error @+1 {{(C1) the result must be f32[1]}}
  %y = betz.square_sum %x
      : (tensor<640xf32>)
      -> tensor<2xf32>
  return
}
