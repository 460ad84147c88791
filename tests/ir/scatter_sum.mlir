// RUN: betz-opt %s | betz-opt | FileCheck %s

// CHECK-LABEL: func @ragged
func.func @ragged(%i: tensor<?xi32, #betz.rows<"events">>,
                  %x: tensor<?x64xf32, #betz.rows<"events">>) {
  // CHECK: betz.scatter_sum %{{.*}}, %{{.*}} : (tensor<?xi32, #betz.rows<"events">>, tensor<?x64xf32, #betz.rows<"events">>) -> tensor<137x64xf32>
  %y = betz.scatter_sum %i, %x
      : (tensor<?xi32, #betz.rows<"events">>,
         tensor<?x64xf32, #betz.rows<"events">>)
      -> tensor<137x64xf32>
  return
}

// CHECK-LABEL: func @grid
func.func @grid(%i: tensor<?x5xi32, #betz.rows<"batch">>,
                %x: tensor<?x5x64xbf16, #betz.rows<"batch">>) {
  // CHECK: betz.scatter_sum %{{.*}}, %{{.*}} : (tensor<?x5xi32, #betz.rows<"batch">>, tensor<?x5x64xbf16, #betz.rows<"batch">>) -> tensor<137x64xf32>
  %y = betz.scatter_sum %i, %x
      : (tensor<?x5xi32, #betz.rows<"batch">>,
         tensor<?x5x64xbf16, #betz.rows<"batch">>)
      -> tensor<137x64xf32>
  return
}
