// RUN: betz-opt %s -betz-fuse=norms-apart | FileCheck %s
// RUN: betz-opt %s -betz-fuse=norms-apart -betz-verify-kernels -o /dev/null

!x = tensor<?x8xbf16, #betz.rows<"batch">>
!s = tensor<?x1xf32, #betz.rows<"batch">>
!out = tensor<?x8xf32, #betz.rows<"batch">>
!w = tensor<8x8xbf16>
!g = tensor<8xbf16>

// Norms and factors stay row kernels; a cast joins the kernel whose result it
// reads and ends it.
module attributes {betz.phase = "model", betz.symbols = ["batch"]} {
  func.func @prepare(%w: tensor<8x8xbf16> {betz.weight = "w"},
                     %g: tensor<8xbf16> {betz.weight = "g"})
      -> (!w {betz.derived = "w"}, !g {betz.derived = "g"}) {
    return %w, %g : !w, !g
  }
  // CHECK-LABEL: func @main
  // CHECK: %[[N:.+]] = betz.kernel row "norm"
  // CHECK: %[[A:.+]] = betz.kernel matmul "matmul"(%[[N]]
  // CHECK: %[[S:.+]] = betz.kernel row "norm_scale"(%[[A]]
  // CHECK: %[[B:.+]] = betz.kernel matmul "matmul_scale_rows"(%[[A]], %{{.+}}, %[[S]])
  // CHECK: %[[T:.+]] = betz.kernel row "norm_scale_2"(%[[B]]
  // CHECK: %[[C:.+]] = betz.kernel matmul "matmul_scale_rows_cast"(%[[B]], %{{[^ ,]+}}, %[[T]]) {{.*}} -> tensor<?x8xf32
  // CHECK: betz.matmul
  // CHECK: betz.scale_rows
  // CHECK: betz.cast
  // CHECK: %[[D:.+]] = betz.kernel elementwise "cast"(%[[B]])
  // CHECK: %[[E:.+]] = betz.kernel elementwise "gelu"(%[[D]])
  // CHECK: return %[[C]], %[[E]]
  func.func @main(%w: !w {betz.derived = "w"}, %g: !g {betz.derived = "g"},
                  %x: !x {betz.input = "x"})
      -> (!out {betz.output = "c"}, !out {betz.output = "e"}) {
    %n = betz.norm rms %x, %g {eps = 1.0e-5 : f64} : (!x, !g) -> !x
    %a = betz.matmul %n, %w : (!x, !w) -> !x
    %s = betz.norm_scale layer %a {eps = 1.0e-5 : f64} : (!x) -> !s
    %m = betz.matmul %a, %w : (!x, !w) -> !x
    %b = betz.scale_rows %m, %s : (!x, !s) -> !x
    %t = betz.norm_scale rms %b {eps = 1.0e-5 : f64} : (!x) -> !s
    %p = betz.matmul %b, %w : (!x, !w) -> !x
    %q = betz.scale_rows %p, %t : (!x, !s) -> !x
    %c = betz.cast %q : (!x) -> !out
    %d = betz.cast %b : (!x) -> !out
    %e = betz.gelu %d : (!out) -> !out
    return %c, %e : !out, !out
  }
}
