// RUN: betz-opt %s -betz-fuse=norms-apart | FileCheck %s
// RUN: betz-opt %s -betz-fuse=norms-apart -betz-verify-kernels -o /dev/null

!x = tensor<?x64xbf16, #betz.rows<"batch">>
!s = tensor<?x1xf32, #betz.rows<"batch">>
!w = tensor<64x64xbf16>

// A matmul kernel leaves sums of squares of the rows it writes, of which the
// next matmul has the factor of its rows. Where two read the factor it stays a
// row kernel.
module attributes {betz.phase = "model", betz.symbols = ["batch"]} {
  func.func @prepare(%w: tensor<64x64xbf16> {betz.weight = "w"})
      -> (!w {betz.derived = "w"}) {
    return %w : !w
  }
  // CHECK-LABEL: func @main
  // CHECK: %[[A:.+]]:2 = betz.kernel matmul "matmul_add_square_sums"
  // CHECK-SAME: -> (tensor<?x64xbf16, #betz.rows<"batch">>, tensor<?x2xf32, #betz.rows<"batch">>)
  // CHECK: %[[SUM:.+]] = betz.add
  // CHECK: %[[Q:.+]] = betz.square_sums %[[SUM]] {group = 32 : i64}
  // CHECK: betz.yield %[[SUM]], %[[Q]]
  // CHECK: %[[B:.+]] = betz.kernel matmul "scale_from_squares_matmul_scale_rows"(%[[A]]#1, %[[A]]#0,
  // CHECK: betz.scale_from_squares %{{.*}} {columns = 64 : i64, eps = 1.000000e-05 : f64}
  // CHECK: %[[T:.+]] = betz.kernel row "norm_scale"(%[[B]]
  // CHECK: betz.kernel matmul "matmul_scale_rows"(%[[B]], %{{.+}}, %[[T]])
  // CHECK: betz.kernel matmul "matmul_scale_rows_2"(%[[B]], %{{.+}}, %[[T]])
  func.func @main(%w: !w {betz.derived = "w"}, %x: !x {betz.input = "x"})
      -> (!x {betz.output = "c"}, !x {betz.output = "d"}) {
    %m = betz.matmul %x, %w : (!x, !w) -> !x
    %a = betz.add %m, %x : (!x, !x) -> !x
    %s = betz.norm_scale rms %a {eps = 1.0e-5 : f64} : (!x) -> !s
    %n = betz.matmul %a, %w : (!x, !w) -> !x
    %b = betz.scale_rows %n, %s : (!x, !s) -> !x
    %t = betz.norm_scale rms %b {eps = 1.0e-5 : f64} : (!x) -> !s
    %p = betz.matmul %b, %w : (!x, !w) -> !x
    %c = betz.scale_rows %p, %t : (!x, !s) -> !x
    %q = betz.matmul %b, %w : (!x, !w) -> !x
    %d = betz.scale_rows %q, %t : (!x, !s) -> !x
    return %c, %d : !x, !x
  }
}
