// RUN: betz-opt %s | betz-opt | FileCheck %s

// CHECK-LABEL: func @concat
// CHECK-SAME: %[[A:[^:]*]]: tensor<3x5xf32>, %[[B:[^:]*]]: tensor<1x5xf32>
func.func @concat(%a: tensor<3x5xf32>, %b: tensor<1x5xf32>)
    -> (tensor<5x5xf32>, tensor<3x5xf32>) {
  // CHECK: betz.concat %[[B]], %[[A]], %[[B]] : (tensor<1x5xf32>, tensor<3x5xf32>, tensor<1x5xf32>) -> tensor<5x5xf32>
  %x = betz.concat %b, %a, %b
      : (tensor<1x5xf32>, tensor<3x5xf32>, tensor<1x5xf32>) -> tensor<5x5xf32>
  // CHECK: betz.concat %[[A]] : (tensor<3x5xf32>) -> tensor<3x5xf32>
  %y = betz.concat %a : (tensor<3x5xf32>) -> tensor<3x5xf32>
  return %x, %y : tensor<5x5xf32>, tensor<3x5xf32>
}
