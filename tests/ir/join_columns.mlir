// RUN: betz-opt %s | betz-opt | FileCheck %s

// CHECK-LABEL: func @side_by_side
func.func @side_by_side(%a: tensor<?x64xf32, #betz.rows<"events">>,
                        %b: tensor<?x64xf32, #betz.rows<"events">>) {
  // CHECK: betz.join_columns %{{.*}}, %{{.*}} {offsets = array<i64: 0, 64>} : (tensor<?x64xf32, #betz.rows<"events">>, tensor<?x64xf32, #betz.rows<"events">>) -> tensor<?x128xf32, #betz.rows<"events">>
  %y = betz.join_columns %a, %b {offsets = array<i64: 0, 64>}
      : (tensor<?x64xf32, #betz.rows<"events">>,
         tensor<?x64xf32, #betz.rows<"events">>)
      -> tensor<?x128xf32, #betz.rows<"events">>
  return
}

// CHECK-LABEL: func @vectors_with_a_gap
func.func @vectors_with_a_gap(%a: tensor<6xf32>,
                              %b: tensor<2xf32>) {
  // CHECK: betz.join_columns %{{.*}}, %{{.*}} {offsets = array<i64: 0, 64>} : (tensor<6xf32>, tensor<2xf32>) -> tensor<192xf32>
  %y = betz.join_columns %a, %b {offsets = array<i64: 0, 64>}
      : (tensor<6xf32>,
         tensor<2xf32>)
      -> tensor<192xf32>
  return
}
