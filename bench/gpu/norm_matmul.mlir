// RMSNorm and then a product, K 512, N 1536 and 2048. The rows come from a
// table, so that a step's input is small, and a narrow product follows, so that
// its output is; the GELU keeps project-tables away.

!index = tensor<?xi32, #betz.rows<"batch">>
!x = tensor<?x512xf32, #betz.rows<"batch">>
!y1536 = tensor<?x1536xf32, #betz.rows<"batch">>
!y2048 = tensor<?x2048xf32, #betz.rows<"batch">>
!result = tensor<?x8xf32, #betz.rows<"batch">>
!table = tensor<4096x512xf32>
!gain = tensor<512xf32>
!w1536 = tensor<1536x512xf32>
!w2048 = tensor<2048x512xf32>
!e1536 = tensor<8x1536xf32>
!e2048 = tensor<8x2048xf32>

module attributes {betz.phase = "model", betz.symbols = ["batch"]} {
  func.func @prepare(%table: !table {betz.weight = "table"},
                     %g1536: !gain {betz.weight = "gain_1536"},
                     %w1536: !w1536 {betz.weight = "weight_1536"},
                     %e1536: !e1536 {betz.weight = "end_1536"},
                     %g2048: !gain {betz.weight = "gain_2048"},
                     %w2048: !w2048 {betz.weight = "weight_2048"},
                     %e2048: !e2048 {betz.weight = "end_2048"})
      -> (!table {betz.derived = "table"},
          !gain {betz.derived = "gain_1536"},
          !w1536 {betz.derived = "weight_1536"},
          !e1536 {betz.derived = "end_1536"},
          !gain {betz.derived = "gain_2048"},
          !w2048 {betz.derived = "weight_2048"},
          !e2048 {betz.derived = "end_2048"}) {
    return %table, %g1536, %w1536, %e1536, %g2048, %w2048, %e2048
        : !table, !gain, !w1536, !e1536, !gain, !w2048, !e2048
  }
  func.func @main(%table: !table {betz.derived = "table"},
                  %g1536: !gain {betz.derived = "gain_1536"},
                  %w1536: !w1536 {betz.derived = "weight_1536"},
                  %e1536: !e1536 {betz.derived = "end_1536"},
                  %g2048: !gain {betz.derived = "gain_2048"},
                  %w2048: !w2048 {betz.derived = "weight_2048"},
                  %e2048: !e2048 {betz.derived = "end_2048"},
                  %index: !index {betz.input = "index"})
      -> (!result {betz.output = "result_1536"},
          !result {betz.output = "result_2048"}) {
    %rows = betz.gather_sum (%index) in (%table) : (!index, !table) -> !x
    %x = betz.gelu %rows : (!x) -> !x
    %n1536 = betz.norm rms %x, %g1536 {betz.section = "n1536", eps = 1.0e-5 : f64}
        : (!x, !gain) -> !x
    %y1536 = betz.matmul %n1536, %w1536 {betz.section = "n1536"}
        : (!x, !w1536) -> !y1536
    %r1536 = betz.matmul %y1536, %e1536 : (!y1536, !e1536) -> !result
    %n2048 = betz.norm rms %x, %g2048 {betz.section = "n2048", eps = 1.0e-5 : f64}
        : (!x, !gain) -> !x
    %y2048 = betz.matmul %n2048, %w2048 {betz.section = "n2048"}
        : (!x, !w2048) -> !y2048
    %r2048 = betz.matmul %y2048, %e2048 : (!y2048, !e2048) -> !result
    return %r1536, %r2048 : !result, !result
  }
}
