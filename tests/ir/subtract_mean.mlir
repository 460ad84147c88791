// RUN: betz-opt %s | betz-opt | FileCheck %s

// CHECK-LABEL: func @either_dim
// CHECK-SAME: %[[W:[^:]*]]: tensor<192x64xf32>
func.func @either_dim(%w: tensor<192x64xf32>, %v: tensor<7xf32>)
    -> (tensor<192x64xf32>, tensor<192x64xf32>, tensor<7xf32>) {
  // CHECK: betz.subtract_mean %[[W]] {dim = 0 : i64} : (tensor<192x64xf32>) -> tensor<192x64xf32>
  %a = betz.subtract_mean %w {dim = 0 : i64}
      : (tensor<192x64xf32>) -> tensor<192x64xf32>
  // CHECK: betz.subtract_mean %[[W]] {dim = 1 : i64}
  %b = betz.subtract_mean %w {dim = 1 : i64}
      : (tensor<192x64xf32>) -> tensor<192x64xf32>
  // CHECK: betz.subtract_mean %{{.*}} {dim = 0 : i64} : (tensor<7xf32>) -> tensor<7xf32>
  %c = betz.subtract_mean %v {dim = 0 : i64} : (tensor<7xf32>) -> tensor<7xf32>
  return %a, %b, %c : tensor<192x64xf32>, tensor<192x64xf32>, tensor<7xf32>
}
