// RUN: betz-opt %s | betz-opt | FileCheck %s

// CHECK-LABEL: func @ones
func.func @ones() -> tensor<1x8xf32> {
  // CHECK: betz.fill {value = 1.000000e+00 : f64} : () -> tensor<1x8xf32>
  %x = betz.fill {value = 1.0 : f64} : () -> tensor<1x8xf32>
  return %x : tensor<1x8xf32>
}
