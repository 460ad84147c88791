// RUN: betz-opt %s | betz-opt | FileCheck %s

// CHECK-LABEL: func @transpose
func.func @transpose(%w: tensor<33x7xf32>) -> tensor<7x33xf32> {
  // CHECK: betz.transpose %{{.*}} : (tensor<33x7xf32>) -> tensor<7x33xf32>
  %t = betz.transpose %w : (tensor<33x7xf32>) -> tensor<7x33xf32>
  return %t : tensor<7x33xf32>
}
