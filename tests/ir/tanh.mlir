// RUN: betz-opt %s | betz-opt | FileCheck %s

// CHECK-LABEL: func @any_rank
func.func @any_rank(%x: tensor<?x24x64xf32, #betz.rows<"batch">>) {
  // CHECK: betz.tanh %{{.*}} : (tensor<?x24x64xf32, #betz.rows<"batch">>) -> tensor<?x24x64xf32, #betz.rows<"batch">>
  %y = betz.tanh %x
      : (tensor<?x24x64xf32, #betz.rows<"batch">>)
      -> tensor<?x24x64xf32, #betz.rows<"batch">>
  return
}

// CHECK-LABEL: func @scalar
func.func @scalar(%x: tensor<bf16>) {
  // CHECK: betz.tanh %{{.*}} : (tensor<bf16>) -> tensor<bf16>
  %y = betz.tanh %x
      : (tensor<bf16>)
      -> tensor<bf16>
  return
}
