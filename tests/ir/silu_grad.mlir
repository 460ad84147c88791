// RUN: betz-opt %s | betz-opt | FileCheck %s

// CHECK-LABEL: func @same
func.func @same(%a: tensor<?x24x64xf32, #betz.rows<"batch">>,
                %b: tensor<?x24x64xf32, #betz.rows<"batch">>) {
  // CHECK: betz.silu_grad %{{.*}}, %{{.*}} : (tensor<?x24x64xf32, #betz.rows<"batch">>, tensor<?x24x64xf32, #betz.rows<"batch">>) -> tensor<?x24x64xf32, #betz.rows<"batch">>
  %y = betz.silu_grad %a, %b
      : (tensor<?x24x64xf32, #betz.rows<"batch">>,
         tensor<?x24x64xf32, #betz.rows<"batch">>)
      -> tensor<?x24x64xf32, #betz.rows<"batch">>
  return
}

// CHECK-LABEL: func @repeated
func.func @repeated(%a: tensor<?x64xbf16, #betz.rows<"events">>,
                    %b: tensor<64xbf16>) {
  // CHECK: betz.silu_grad %{{.*}}, %{{.*}} : (tensor<?x64xbf16, #betz.rows<"events">>, tensor<64xbf16>) -> tensor<?x64xbf16, #betz.rows<"events">>
  %y = betz.silu_grad %a, %b
      : (tensor<?x64xbf16, #betz.rows<"events">>,
         tensor<64xbf16>)
      -> tensor<?x64xbf16, #betz.rows<"events">>
  return
}
