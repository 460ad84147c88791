// RUN: betz-opt %s | betz-opt | FileCheck %s

// CHECK-LABEL: func @ragged
// CHECK-SAME: %[[X:[^:]*]]:
func.func @ragged(%x: tensor<?x64xf32, #betz.rows<"events">>)
    -> tensor<?x1xf32, #betz.rows<"events">> {
  // CHECK: betz.norm_scale rms %[[X]] {eps = 1.000000e-05 : f64} : (tensor<?x64xf32, #betz.rows<"events">>) -> tensor<?x1xf32, #betz.rows<"events">>
  %s = betz.norm_scale rms %x {eps = 1.0e-5 : f64}
      : (tensor<?x64xf32, #betz.rows<"events">>)
      -> tensor<?x1xf32, #betz.rows<"events">>
  return %s : tensor<?x1xf32, #betz.rows<"events">>
}

// CHECK-LABEL: func @layer
func.func @layer(%x: tensor<3x5x7xf32>) -> tensor<3x5x1xf32> {
  // CHECK: betz.norm_scale layer %{{.*}} {eps = 2.500000e-01 : f64} : (tensor<3x5x7xf32>) -> tensor<3x5x1xf32>
  %s = betz.norm_scale layer %x {eps = 0.25 : f64}
      : (tensor<3x5x7xf32>) -> tensor<3x5x1xf32>
  return %s : tensor<3x5x1xf32>
}
