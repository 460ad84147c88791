// RUN: betz-opt %s | betz-opt | FileCheck %s

// CHECK-LABEL: func @any_rank
func.func @any_rank(%x: tensor<?x24x64xf32, #betz.rows<"batch">>,
                    %y: tensor<bf16>)
    -> (tensor<?x24x64xf32, #betz.rows<"batch">>, tensor<bf16>) {
  // CHECK: betz.silu %{{.*}} : (tensor<?x24x64xf32, #betz.rows<"batch">>) -> tensor<?x24x64xf32, #betz.rows<"batch">>
  %z = betz.silu %x : (tensor<?x24x64xf32, #betz.rows<"batch">>)
      -> tensor<?x24x64xf32, #betz.rows<"batch">>
  // CHECK: betz.silu %{{.*}} : (tensor<bf16>) -> tensor<bf16>
  %s = betz.silu %y : (tensor<bf16>) -> tensor<bf16>
  return %z, %s : tensor<?x24x64xf32, #betz.rows<"batch">>, tensor<bf16>
}
