// RUN: betz-opt %s | betz-opt | FileCheck %s

// CHECK-LABEL: func @ragged
func.func @ragged(%x: tensor<?x64xf32, #betz.rows<"events">>) {
  // CHECK: betz.column_sum %{{.*}} : (tensor<?x64xf32, #betz.rows<"events">>) -> tensor<64xf32>
  %y = betz.column_sum %x
      : (tensor<?x64xf32, #betz.rows<"events">>)
      -> tensor<64xf32>
  return
}

// CHECK-LABEL: func @f32_of_bf16
func.func @f32_of_bf16(%x: tensor<?x24x64xbf16, #betz.rows<"batch">>) {
  // CHECK: betz.column_sum %{{.*}} : (tensor<?x24x64xbf16, #betz.rows<"batch">>) -> tensor<64xf32>
  %y = betz.column_sum %x
      : (tensor<?x24x64xbf16, #betz.rows<"batch">>)
      -> tensor<64xf32>
  return
}
