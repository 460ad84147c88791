// RUN: betz-opt %s | betz-opt | FileCheck %s

// CHECK-LABEL: func @remainder
func.func @remainder(%w: tensor<33x7xf32>) -> tensor<3x7x16xf32> {
  // CHECK: betz.pack_panels %{{.*}} {panel = 16 : i64} : (tensor<33x7xf32>) -> tensor<3x7x16xf32>
  %p = betz.pack_panels %w {panel = 16 : i64}
      : (tensor<33x7xf32>) -> tensor<3x7x16xf32>
  return %p : tensor<3x7x16xf32>
}
