// RUN: betz-opt %s | betz-opt | FileCheck %s

// CHECK-LABEL: func @bounds
func.func @bounds() -> tensor<24x2xi32> {
  // CHECK: betz.reach_bounds {reach = 2.000000e+01 : f64, span = 1.200000e+02 : f64} : () -> tensor<24x2xi32>
  %b = betz.reach_bounds {span = 120.0 : f64, reach = 20.0 : f64}
      : () -> tensor<24x2xi32>
  return %b : tensor<24x2xi32>
}
