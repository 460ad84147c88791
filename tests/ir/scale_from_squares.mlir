// RUN: betz-opt %s | betz-opt | FileCheck %s

!q = tensor<?x2xf32, #betz.rows<"batch">>
!s = tensor<?x1xf32, #betz.rows<"batch">>

// CHECK-LABEL: func @factor
// CHECK-SAME: %[[Q:[^:]*]]:
func.func @factor(%q: !q) -> !s {
  // CHECK: betz.scale_from_squares %[[Q]] {columns = 64 : i64, eps = 1.000000e-05 : f64} : (tensor<?x2xf32, #betz.rows<"batch">>) -> tensor<?x1xf32, #betz.rows<"batch">>
  %s = betz.scale_from_squares %q {columns = 64 : i64, eps = 1.0e-5 : f64}
      : (!q) -> !s
  return %s : !s
}
