// RUN: betz-opt %s -verify-diagnostics -split-input-file

func.func @c1(%x: tensor<3x4xf32>) {
  // expected-error @+1 {{(C1) result type 'tensor<3x4xbf16>' differs from 'tensor<3x4xf32>'}}
  %y = betz.sigmoid %x
      : (tensor<3x4xf32>)
      -> tensor<3x4xbf16>
  return
}
