// RUN: betz-opt %s | betz-opt | FileCheck %s

// CHECK-LABEL: func @drop_last
func.func @drop_last(%x: tensor<?x2x1xf32, #betz.rows<"batch">>)
    -> tensor<?x2xf32, #betz.rows<"batch">> {
  // CHECK: betz.reshape %{{.*}} : (tensor<?x2x1xf32, #betz.rows<"batch">>) -> tensor<?x2xf32, #betz.rows<"batch">>
  %y = betz.reshape %x : (tensor<?x2x1xf32, #betz.rows<"batch">>)
      -> tensor<?x2xf32, #betz.rows<"batch">>
  return %y : tensor<?x2xf32, #betz.rows<"batch">>
}

// CHECK-LABEL: func @constant
func.func @constant(%x: tensor<6x4xi8>) -> tensor<2x12xi8> {
  // CHECK: betz.reshape %{{.*}} : (tensor<6x4xi8>) -> tensor<2x12xi8>
  %y = betz.reshape %x : (tensor<6x4xi8>) -> tensor<2x12xi8>
  return %y : tensor<2x12xi8>
}
