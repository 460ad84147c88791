// RUN: betz-opt %s | betz-opt | FileCheck %s

// CHECK-LABEL: func @ragged
func.func @ragged(%a: tensor<?x192xf32, #betz.rows<"events">>,
                  %b: tensor<?x64xf32, #betz.rows<"events">>) {
  // CHECK: betz.contract_rows %{{.*}}, %{{.*}} : (tensor<?x192xf32, #betz.rows<"events">>, tensor<?x64xf32, #betz.rows<"events">>) -> tensor<192x64xf32>
  %y = betz.contract_rows %a, %b
      : (tensor<?x192xf32, #betz.rows<"events">>,
         tensor<?x64xf32, #betz.rows<"events">>)
      -> tensor<192x64xf32>
  return
}

// CHECK-LABEL: func @batched
func.func @batched(%a: tensor<?x24x192xbf16, #betz.rows<"batch">>,
                   %b: tensor<?x24x64xbf16, #betz.rows<"batch">>) {
  // CHECK: betz.contract_rows %{{.*}}, %{{.*}} : (tensor<?x24x192xbf16, #betz.rows<"batch">>, tensor<?x24x64xbf16, #betz.rows<"batch">>) -> tensor<192x64xbf16>
  %y = betz.contract_rows %a, %b
      : (tensor<?x24x192xbf16, #betz.rows<"batch">>,
         tensor<?x24x64xbf16, #betz.rows<"batch">>)
      -> tensor<192x64xbf16>
  return
}

// CHECK-LABEL: func @f32_of_bf16
func.func @f32_of_bf16(%a: tensor<5x3xbf16>,
                       %b: tensor<5x4xbf16>) {
  // CHECK: betz.contract_rows %{{.*}}, %{{.*}} : (tensor<5x3xbf16>, tensor<5x4xbf16>) -> tensor<3x4xf32>
  %y = betz.contract_rows %a, %b
      : (tensor<5x3xbf16>,
         tensor<5x4xbf16>)
      -> tensor<3x4xf32>
  return
}
