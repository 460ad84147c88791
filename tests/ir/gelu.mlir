// RUN: betz-opt %s | betz-opt | FileCheck %s

// CHECK-LABEL: func @any_rank
func.func @any_rank(%x: tensor<?x24x64xf32, #betz.rows<"batch">>,
                    %y: tensor<bf16>)
    -> (tensor<?x24x64xf32, #betz.rows<"batch">>, tensor<bf16>) {
  // CHECK: betz.gelu %{{.*}} : (tensor<?x24x64xf32, #betz.rows<"batch">>) -> tensor<?x24x64xf32, #betz.rows<"batch">>
  %z = betz.gelu %x : (tensor<?x24x64xf32, #betz.rows<"batch">>)
      -> tensor<?x24x64xf32, #betz.rows<"batch">>
  // CHECK: betz.gelu %{{.*}} : (tensor<bf16>) -> tensor<bf16>
  %s = betz.gelu %y : (tensor<bf16>) -> tensor<bf16>
  return %z, %s : tensor<?x24x64xf32, #betz.rows<"batch">>, tensor<bf16>
}
