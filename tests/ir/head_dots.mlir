// RUN: betz-opt %s | betz-opt | FileCheck %s

// CHECK-LABEL: func @batched
func.func @batched(%a: tensor<?x24x64xf32, #betz.rows<"batch">>,
                   %b: tensor<?x24x64xf32, #betz.rows<"batch">>) {
  // CHECK: betz.head_dots %{{.*}}, %{{.*}} {heads = 4 : i64} : (tensor<?x24x64xf32, #betz.rows<"batch">>, tensor<?x24x64xf32, #betz.rows<"batch">>) -> tensor<?x24x4xf32, #betz.rows<"batch">>
  %y = betz.head_dots %a, %b {heads = 4 : i64}
      : (tensor<?x24x64xf32, #betz.rows<"batch">>,
         tensor<?x24x64xf32, #betz.rows<"batch">>)
      -> tensor<?x24x4xf32, #betz.rows<"batch">>
  return
}

// CHECK-LABEL: func @bf16
func.func @bf16(%a: tensor<?x64xbf16, #betz.rows<"events">>,
                %b: tensor<?x64xbf16, #betz.rows<"events">>) {
  // CHECK: betz.head_dots %{{.*}}, %{{.*}} {heads = 4 : i64} : (tensor<?x64xbf16, #betz.rows<"events">>, tensor<?x64xbf16, #betz.rows<"events">>) -> tensor<?x4xf32, #betz.rows<"events">>
  %y = betz.head_dots %a, %b {heads = 4 : i64}
      : (tensor<?x64xbf16, #betz.rows<"events">>,
         tensor<?x64xbf16, #betz.rows<"events">>)
      -> tensor<?x4xf32, #betz.rows<"events">>
  return
}
