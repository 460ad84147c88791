// RUN: betz-opt %s | betz-opt | FileCheck %s

// CHECK-LABEL: func @expand
func.func @expand(%x: tensor<2x12xf32>) -> tensor<6x12xf32> {
  // CHECK: betz.expand_heads %{{.*}} {heads = 3 : i64} : (tensor<2x12xf32>) -> tensor<6x12xf32>
  %y = betz.expand_heads %x {heads = 3 : i64}
      : (tensor<2x12xf32>) -> tensor<6x12xf32>
  return %y : tensor<6x12xf32>
}
