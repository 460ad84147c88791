// RUN: betz-opt %s | betz-opt | FileCheck %s

// CHECK-LABEL: func @layer
// CHECK-SAME: %[[X:[^:]*]]: {{.*}}, %[[G:[^:]*]]: tensor<64xf32>, %[[S:[^:]*]]: tensor<64xf32>
func.func @layer(%x: tensor<?x24x64xf32, #betz.rows<"batch">>,
                 %gain: tensor<64xf32>, %shift: tensor<64xf32>)
    -> tensor<?x24x64xf32, #betz.rows<"batch">> {
  // CHECK: betz.norm layer %[[X]], %[[G]], %[[S]] {eps = 1.000000e-05 : f64} : (tensor<?x24x64xf32, #betz.rows<"batch">>, tensor<64xf32>, tensor<64xf32>) -> tensor<?x24x64xf32, #betz.rows<"batch">>
  %y = betz.norm layer %x, %gain, %shift {eps = 1.0e-5 : f64}
      : (tensor<?x24x64xf32, #betz.rows<"batch">>, tensor<64xf32>,
         tensor<64xf32>) -> tensor<?x24x64xf32, #betz.rows<"batch">>
  return %y : tensor<?x24x64xf32, #betz.rows<"batch">>
}

// CHECK-LABEL: func @rms
func.func @rms(%x: tensor<3x64xf32>, %gain: tensor<64xf32>)
    -> tensor<3x64xf32> {
  // CHECK: betz.norm rms %{{.*}}, %{{.*}} {eps = 2.500000e-01 : f64} : (tensor<3x64xf32>, tensor<64xf32>) -> tensor<3x64xf32>
  %y = betz.norm rms %x, %gain {eps = 0.25 : f64}
      : (tensor<3x64xf32>, tensor<64xf32>) -> tensor<3x64xf32>
  return %y : tensor<3x64xf32>
}
