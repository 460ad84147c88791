// RUN: betz-opt %s | betz-opt | FileCheck %s

// CHECK-LABEL: func @flat
func.func @flat(%x: tensor<640xf32>) {
  // CHECK: betz.square_sum %{{.*}} : (tensor<640xf32>) -> tensor<1xf32>
  %y = betz.square_sum %x
      : (tensor<640xf32>)
      -> tensor<1xf32>
  return
}

// CHECK-LABEL: func @ragged
func.func @ragged(%x: tensor<?x64xbf16, #betz.rows<"events">>) {
  // CHECK: betz.square_sum %{{.*}} : (tensor<?x64xbf16, #betz.rows<"events">>) -> tensor<1xf32>
  %y = betz.square_sum %x
      : (tensor<?x64xbf16, #betz.rows<"events">>)
      -> tensor<1xf32>
  return
}
