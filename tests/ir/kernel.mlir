// RUN: betz-opt %s | betz-opt | FileCheck %s

!rows = tensor<?x64xf32, #betz.rows<"events">>
!wide = tensor<?x256xf32, #betz.rows<"events">>

// CHECK-LABEL: func @matmul
// CHECK-SAME: %[[X:[^:]*]]: tensor<?x64xf32, #betz.rows<"events">>, %[[G:[^:]*]]: tensor<64xf32>, %[[W:[^:]*]]: tensor<256x64xf32>
func.func @matmul(%x: !rows, %g: tensor<64xf32>, %w: tensor<256x64xf32>)
    -> !wide {
  // CHECK: betz.kernel matmul "blocks.0.mlp.0"(%[[X]], %[[G]], %[[W]]) {betz.section = "blocks.0", offsets = [array<i64: 0>, array<i64: 4096>]} : (tensor<?x64xf32, #betz.rows<"events">>, tensor<64xf32>, tensor<256x64xf32>) -> tensor<?x256xf32, #betz.rows<"events">> {
  // CHECK-NEXT: ^bb0(%[[A:[^:]*]]: tensor<?x64xf32, #betz.rows<"events">>, %[[B:[^:]*]]: tensor<64xf32>, %[[C:[^:]*]]: tensor<256x64xf32>):
  // CHECK-NEXT: %[[N:.*]] = betz.norm rms %[[A]], %[[B]]
  // CHECK-NEXT: %[[M:.*]] = betz.matmul %[[N]], %[[C]]
  // CHECK-NEXT: %[[Y:.*]] = betz.gelu %[[M]]
  // CHECK-NEXT: betz.yield %[[Y]] : tensor<?x256xf32, #betz.rows<"events">>
  %y = betz.kernel matmul "blocks.0.mlp.0" (%x, %g, %w)
      {betz.section = "blocks.0", offsets = [array<i64: 0>, array<i64: 4096>]}
      : (!rows, tensor<64xf32>, tensor<256x64xf32>) -> !wide {
  ^bb0(%a: !rows, %b: tensor<64xf32>, %c: tensor<256x64xf32>):
    %n = betz.norm rms %a, %b {eps = 1.0e-5 : f64}
        : (!rows, tensor<64xf32>) -> !rows
    %m = betz.matmul %n, %c : (!rows, tensor<256x64xf32>) -> !wide
    %r = betz.gelu %m : (!wide) -> !wide
    betz.yield %r : !wide
  }
  return %y : !wide
}

// CHECK-LABEL: func @attention
func.func @attention(%q: tensor<24x64xf32>, %k: !rows,
                     %s: tensor<?xi32, #betz.rows<"batch" + 1>>)
    -> tensor<?x24x64xf32, #betz.rows<"batch">> {
  // CHECK: betz.kernel attention "cross"
  %y = betz.kernel attention "cross" (%q, %k, %s)
      : (tensor<24x64xf32>, !rows, tensor<?xi32, #betz.rows<"batch" + 1>>)
      -> tensor<?x24x64xf32, #betz.rows<"batch">> {
  ^bb0(%a: tensor<24x64xf32>, %b: !rows,
       %c: tensor<?xi32, #betz.rows<"batch" + 1>>):
    %o = betz.attention %a, %b, %b splits %c
        {heads = 4 : i64, kv_heads = 4 : i64, scale = 0.25 : f64}
        : (tensor<24x64xf32>, !rows, !rows,
           tensor<?xi32, #betz.rows<"batch" + 1>>)
        -> tensor<?x24x64xf32, #betz.rows<"batch">>
    betz.yield %o : tensor<?x24x64xf32, #betz.rows<"batch">>
  }
  return %y : tensor<?x24x64xf32, #betz.rows<"batch">>
}

// CHECK-LABEL: func @row
func.func @row(%x: !rows, %g: tensor<64xf32>) -> (!rows, !rows) {
  // CHECK: betz.kernel row "sum_and_norm"
  // CHECK: betz.yield %{{.*}}, %{{.*}} : tensor<?x64xf32, #betz.rows<"events">>, tensor<?x64xf32, #betz.rows<"events">>
  %n, %s = betz.kernel row "sum_and_norm" (%x, %g)
      : (!rows, tensor<64xf32>) -> (!rows, !rows) {
  ^bb0(%a: !rows, %b: tensor<64xf32>):
    %norm = betz.norm layer %a, %b {eps = 1.0e-5 : f64}
        : (!rows, tensor<64xf32>) -> !rows
    %sum = betz.add %norm, %a : (!rows, !rows) -> !rows
    betz.yield %norm, %sum : !rows, !rows
  }
  return %n, %s : !rows, !rows
}

// CHECK-LABEL: func @gather
func.func @gather(%i: tensor<?xi32, #betz.rows<"events">>,
                  %t: tensor<9x64xf32>) -> !rows {
  // CHECK: betz.kernel gather "tokens"
  %y = betz.kernel gather "tokens" (%i, %t)
      : (tensor<?xi32, #betz.rows<"events">>, tensor<9x64xf32>) -> !rows {
  ^bb0(%a: tensor<?xi32, #betz.rows<"events">>, %b: tensor<9x64xf32>):
    %x = betz.gather_sum (%a) in (%b)
        : (tensor<?xi32, #betz.rows<"events">>, tensor<9x64xf32>) -> !rows
    betz.yield %x : !rows
  }
  return %y : !rows
}

// CHECK-LABEL: func @elementwise
func.func @elementwise(%x: !rows) -> !rows {
  // CHECK: betz.kernel elementwise "square"
  %y = betz.kernel elementwise "square" (%x) : (!rows) -> !rows {
  ^bb0(%a: !rows):
    %s = betz.mul %a, %a : (!rows, !rows) -> !rows
    betz.yield %s : !rows
  }
  return %y : !rows
}
