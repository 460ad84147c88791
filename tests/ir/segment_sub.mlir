// RUN: betz-opt %s | betz-opt | FileCheck %s

// CHECK-LABEL: func @times
// CHECK-SAME: %[[T:.*]]: tensor<?xi32, #betz.rows<"events">>, %[[B:.*]]: tensor<?xi32, #betz.rows<"batch">>, %[[S:.*]]: tensor<?xi32, #betz.rows<"batch" + 1>>
func.func @times(%time: tensor<?xi32, #betz.rows<"events">>,
                 %start: tensor<?xi32, #betz.rows<"batch">>,
                 %splits: tensor<?xi32, #betz.rows<"batch" + 1>>)
    -> tensor<?xi32, #betz.rows<"events">> {
  // CHECK: betz.segment_sub %[[T]], %[[B]], %[[S]] : (tensor<?xi32, #betz.rows<"events">>, tensor<?xi32, #betz.rows<"batch">>, tensor<?xi32, #betz.rows<"batch" + 1>>) -> tensor<?xi32, #betz.rows<"events">>
  %t = betz.segment_sub %time, %start, %splits
      : (tensor<?xi32, #betz.rows<"events">>,
         tensor<?xi32, #betz.rows<"batch">>,
         tensor<?xi32, #betz.rows<"batch" + 1>>)
      -> tensor<?xi32, #betz.rows<"events">>
  return %t : tensor<?xi32, #betz.rows<"events">>
}
