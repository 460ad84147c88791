// RUN: betz-opt %s | betz-opt | FileCheck %s

// CHECK-LABEL: func @both_ways
func.func @both_ways(%x: tensor<?x64xf32, #betz.rows<"batch">>,
                     %y: tensor<bf16>)
    -> (tensor<?x64xbf16, #betz.rows<"batch">>, tensor<f32>) {
  // CHECK: betz.cast %{{.*}} : (tensor<?x64xf32, #betz.rows<"batch">>) -> tensor<?x64xbf16, #betz.rows<"batch">>
  %a = betz.cast %x : (tensor<?x64xf32, #betz.rows<"batch">>)
      -> tensor<?x64xbf16, #betz.rows<"batch">>
  // CHECK: betz.cast %{{.*}} : (tensor<bf16>) -> tensor<f32>
  %b = betz.cast %y : (tensor<bf16>) -> tensor<f32>
  return %a, %b : tensor<?x64xbf16, #betz.rows<"batch">>, tensor<f32>
}
