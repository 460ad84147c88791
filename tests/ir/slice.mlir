// RUN: betz-opt %s | betz-opt | FileCheck %s

// CHECK-LABEL: func @values_of_kv
func.func @values_of_kv(%kv: tensor<?x128xf32, #betz.rows<"events">>)
    -> tensor<?x64xf32, #betz.rows<"events">> {
  // CHECK: betz.slice %{{.*}} {offset = 64 : i64} : (tensor<?x128xf32, #betz.rows<"events">>) -> tensor<?x64xf32, #betz.rows<"events">>
  %v = betz.slice %kv {offset = 64 : i64}
      : (tensor<?x128xf32, #betz.rows<"events">>)
      -> tensor<?x64xf32, #betz.rows<"events">>
  return %v : tensor<?x64xf32, #betz.rows<"events">>
}

// CHECK-LABEL: func @integers
func.func @integers(%x: tensor<6xi32>) -> tensor<2xi32> {
  // CHECK: betz.slice %{{.*}} {offset = 3 : i64} : (tensor<6xi32>) -> tensor<2xi32>
  %y = betz.slice %x {offset = 3 : i64} : (tensor<6xi32>) -> tensor<2xi32>
  return %y : tensor<2xi32>
}
