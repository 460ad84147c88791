// RUN: betz-opt %s | betz-opt | FileCheck %s

!x = tensor<?x3x64xbf16, #betz.rows<"batch">>

// CHECK-LABEL: func @sums
// CHECK-SAME: %[[X:[^:]*]]:
func.func @sums(%x: !x) -> tensor<?x3x2xf32, #betz.rows<"batch">> {
  // CHECK: betz.square_sums %[[X]] {group = 32 : i64} : (tensor<?x3x64xbf16, #betz.rows<"batch">>) -> tensor<?x3x2xf32, #betz.rows<"batch">>
  %q = betz.square_sums %x {group = 32 : i64}
      : (!x) -> tensor<?x3x2xf32, #betz.rows<"batch">>
  return %q : tensor<?x3x2xf32, #betz.rows<"batch">>
}
