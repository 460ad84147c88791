// RUN: betz-opt %s | betz-opt | FileCheck %s

// CHECK-LABEL: func @any_rank
func.func @any_rank(%x: tensor<?x24x64xf32, #betz.rows<"batch">>) {
  // CHECK: betz.sigmoid %{{.*}} : (tensor<?x24x64xf32, #betz.rows<"batch">>) -> tensor<?x24x64xf32, #betz.rows<"batch">>
  %y = betz.sigmoid %x
      : (tensor<?x24x64xf32, #betz.rows<"batch">>)
      -> tensor<?x24x64xf32, #betz.rows<"batch">>
  return
}

// CHECK-LABEL: func @scalar
func.func @scalar(%x: tensor<bf16>) {
  // CHECK: betz.sigmoid %{{.*}} : (tensor<bf16>) -> tensor<bf16>
  %y = betz.sigmoid %x
      : (tensor<bf16>)
      -> tensor<bf16>
  return
}
