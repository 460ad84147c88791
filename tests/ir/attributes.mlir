// RUN: betz-opt %s | betz-opt | FileCheck %s

// CHECK: module attributes {
// CHECK-SAME: betz.buckets = [#betz.bucket<capacity = [1, 4096], arena = 65536>, #betz.bucket<capacity = [8, 32768], arena = 524288>]
// CHECK-SAME: betz.phase = "program"
// CHECK-SAME: betz.symbols = ["batch", "events"]
module attributes {
  betz.phase = "program", betz.symbols = ["batch", "events"],
  betz.buckets = [#betz.bucket<capacity = [1, 4096], arena = 65536>,
                  #betz.bucket<capacity = [8, 32768], arena = 524288>]} {
  // A zero offset is not printed.
  // CHECK: func.func private @rows(tensor<?x64xf32, #betz.rows<"events">>, tensor<?xi32, #betz.rows<"batch" + 1>>, tensor<?xi32, #betz.rows<"batch">>)
  func.func private @rows(tensor<?x64xf32, #betz.rows<"events">>,
                          tensor<?xi32, #betz.rows<"batch" + 1>>,
                          tensor<?xi32, #betz.rows<"batch" + 0>>)
  // CHECK: func.func @main(%{{.*}}: tensor<?xi32, #betz.rows<"batch" + 1>> {betz.alias = "offsets", betz.input = "row_splits"}) -> (tensor<?xi32, #betz.rows<"batch" + 1>> {betz.output = "same"})
  func.func @main(%s: tensor<?xi32, #betz.rows<"batch" + 1>>
                      {betz.input = "row_splits", betz.alias = "offsets"})
      -> (tensor<?xi32, #betz.rows<"batch" + 1>> {betz.output = "same"}) {
    return %s : tensor<?xi32, #betz.rows<"batch" + 1>>
  }
}
