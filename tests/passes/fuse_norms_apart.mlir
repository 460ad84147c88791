// RUN: betz-opt %s -betz-fuse=norms-apart=true | FileCheck %s

!rows = tensor<?x8xf32, #betz.rows<"batch">>
!scale = tensor<?x1xf32, #betz.rows<"batch">>
!w = tensor<8x8xf32>

// A norm and a LayerNorm's factor are kernels of their own; an RMSNorm's factor
// is measured by its matmul.
module attributes {betz.phase = "model", betz.symbols = ["batch"]} {
  func.func @prepare(%g: tensor<8xf32> {betz.weight = "g"},
                     %w: !w {betz.weight = "w"})
      -> (tensor<8xf32> {betz.derived = "g"}, !w {betz.derived = "w"}) {
    return %g, %w : tensor<8xf32>, !w
  }
  // CHECK-LABEL: func @main
  // CHECK: betz.kernel row "norm"
  // CHECK: betz.kernel matmul "matmul"
  // CHECK: betz.kernel row "norm_scale"
  // CHECK: betz.kernel matmul "matmul_scale_rows"
  // CHECK: betz.kernel matmul "norm_scale_matmul_scale_rows"
  func.func @main(%g: tensor<8xf32> {betz.derived = "g"},
                  %w: !w {betz.derived = "w"}, %x: !rows {betz.input = "x"})
      -> (!rows {betz.output = "out"}) {
    %n = betz.norm rms %x, %g {eps = 1.0e-5 : f64}
        : (!rows, tensor<8xf32>) -> !rows
    %a = betz.matmul %n, %w : (!rows, !w) -> !rows
    %ls = betz.norm_scale layer %a {eps = 1.0e-5 : f64} : (!rows) -> !scale
    %b = betz.matmul %a, %w : (!rows, !w) -> !rows
    %c = betz.scale_rows %b, %ls : (!rows, !scale) -> !rows
    %rs = betz.norm_scale rms %c {eps = 1.0e-5 : f64} : (!rows) -> !scale
    %d = betz.matmul %c, %w : (!rows, !w) -> !rows
    %e = betz.scale_rows %d, %rs : (!rows, !scale) -> !rows
    return %e : !rows
  }
}
