// RUN: betz-opt %s -betz-fuse -split-input-file | FileCheck %s
// RUN: betz-opt %s -betz-fuse -betz-verify-kernels -split-input-file -o /dev/null

!x = tensor<?x8xf32, #betz.rows<"batch">>
!wide = tensor<?x32xf32, #betz.rows<"batch">>
!g = tensor<8xf32>
!up = tensor<32x8xf32>
!down = tensor<8x32xf32>

// A matmul takes the norm that only it reads and the chain that only its
// result feeds; the kernel is named after section and ops.
// CHECK: module attributes {betz.phase = "kernels"
module attributes {betz.phase = "model", betz.symbols = ["batch"]} {
  func.func @prepare(%g: !g {betz.weight = "g"}, %up: !up {betz.weight = "up"},
                     %down: !down {betz.weight = "down"})
      -> (!g {betz.derived = "g"}, !up {betz.derived = "up"},
          !down {betz.derived = "down"}) {
    return %g, %up, %down : !g, !up, !down
  }
  // CHECK-LABEL: func @main
  // CHECK-SAME: (%[[G:[^ :]+]]: {{[^{]+}} {betz.derived = "g"}, %[[UP:[^ :]+]]: {{[^{]+}} {betz.derived = "up"}, %[[DOWN:[^ :]+]]: {{[^{]+}} {betz.derived = "down"}, %[[X:[^ :]+]]: {{[^{]+}} {betz.input = "x"})
  // CHECK-NEXT: %[[H:.+]] = betz.kernel matmul "mlp_0__norm_matmul_gelu"(%[[X]], %[[G]], %[[UP]]) {betz.section = "mlp.0"}
  // CHECK-NEXT: ^bb0(%[[X0:[^ :]+]]: {{.+}}, %[[G0:[^ :]+]]: tensor<8xf32>, %[[UP0:[^ :]+]]: tensor<32x8xf32>):
  // CHECK-NEXT: %[[N0:.+]] = betz.norm rms %[[X0]], %[[G0]]
  // CHECK-NEXT: %[[M0:.+]] = betz.matmul %[[N0]], %[[UP0]]
  // CHECK-NEXT: %[[E0:.+]] = betz.gelu %[[M0]]
  // CHECK-NEXT: betz.yield %[[E0]]
  // The residual is the left operand here.
  // CHECK: %[[R:.+]] = betz.kernel matmul "mlp_0__matmul_add"(%[[H]], %[[DOWN]], %[[X]])
  // CHECK-NEXT: ^bb0(%[[H1:[^ :]+]]: {{.+}}, %[[DOWN1:[^ :]+]]: tensor<8x32xf32>, %[[X1:[^ :]+]]: {{.+}}):
  // CHECK-NEXT: %[[M1:.+]] = betz.matmul %[[H1]], %[[DOWN1]]
  // CHECK-NEXT: %[[S1:.+]] = betz.add %[[X1]], %[[M1]]
  // CHECK-NEXT: betz.yield %[[S1]]
  // CHECK: return %[[R]]
  func.func @main(%g: !g {betz.derived = "g"}, %up: !up {betz.derived = "up"},
                  %down: !down {betz.derived = "down"},
                  %x: !x {betz.input = "x"}) -> (!x {betz.output = "out"}) {
    %n = betz.norm rms %x, %g {betz.section = "mlp.0", eps = 1.0e-5 : f64}
        : (!x, !g) -> !x
    %h = betz.matmul %n, %up {betz.section = "mlp.0"} : (!x, !up) -> !wide
    %e = betz.gelu %h {betz.section = "mlp.0"} : (!wide) -> !wide
    %m = betz.matmul %e, %down {betz.section = "mlp.0"} : (!wide, !down) -> !x
    %r = betz.add %x, %m {betz.section = "mlp.0"} : (!x, !x) -> !x
    return %r : !x
  }
}

// -----

!x = tensor<?x8xf32, #betz.rows<"batch">>
!w = tensor<8x8xf32>

// A norm that two read is a row kernel; a result that two read ends its chain;
// twice the same value is no operand and result at once; equal names differ.
module attributes {betz.phase = "model", betz.symbols = ["batch"]} {
  func.func @prepare(%g: tensor<8xf32> {betz.weight = "g"},
                     %w: !w {betz.weight = "w"})
      -> (tensor<8xf32> {betz.derived = "g"}, !w {betz.derived = "w"}) {
    return %g, %w : tensor<8xf32>, !w
  }
  // CHECK-LABEL: func @main
  // CHECK: %[[N:.+]] = betz.kernel row "norm"(
  // CHECK: %[[A:.+]] = betz.kernel matmul "matmul"(%[[N]],
  // CHECK-NEXT: ^bb0
  // CHECK-NEXT: betz.matmul
  // CHECK-NEXT: betz.yield
  // CHECK: %[[B:.+]] = betz.kernel matmul "matmul_2"(%[[N]],
  // CHECK: %[[S:.+]] = betz.kernel elementwise "add"(%[[A]])
  // CHECK-NEXT: ^bb0(%[[S0:[^ :]+]]:
  // CHECK-NEXT: betz.add %[[S0]], %[[S0]]
  // CHECK: return %[[B]], %[[S]]
  func.func @main(%g: tensor<8xf32> {betz.derived = "g"},
                  %w: !w {betz.derived = "w"}, %x: !x {betz.input = "x"})
      -> (!x {betz.output = "b"}, !x {betz.output = "s"}) {
    %n = betz.norm rms %x, %g {eps = 1.0e-5 : f64}
        : (!x, tensor<8xf32>) -> !x
    %a = betz.matmul %n, %w : (!x, !w) -> !x
    %b = betz.matmul %n, %w : (!x, !w) -> !x
    %s = betz.add %a, %a : (!x, !x) -> !x
    return %b, %s : !x, !x
  }
}

// -----

!x = tensor<?x8xf32, #betz.rows<"batch">>
!half = tensor<?x4xf32, #betz.rows<"batch">>
!w = tensor<8x8xf32>

// Views stay outside and end a chain; a kernel stands after all that it reads.
module attributes {betz.phase = "model", betz.symbols = ["batch"]} {
  func.func @prepare(%w: !w {betz.weight = "w"}) -> (!w {betz.derived = "w"}) {
    return %w : !w
  }
  // CHECK-LABEL: func @main
  // CHECK-SAME: %[[X:[^ :]+]]: {{[^{]+}} {betz.input = "x"}
  // CHECK-NEXT: %[[M:.+]] = betz.kernel matmul "matmul"(
  // CHECK: %[[V:.+]] = betz.slice %[[M]] {offset = 4 : i64}
  // CHECK-NEXT: %[[E:.+]] = betz.kernel elementwise "gelu"(%[[V]])
  // CHECK: %[[L:.+]] = betz.kernel elementwise "gelu_2"(%[[X]])
  // CHECK: %[[Y:.+]] = betz.kernel matmul "matmul_add_mul"(%[[X]], %{{.+}}, %[[L]])
  // CHECK-NEXT: ^bb0
  // CHECK-NEXT: betz.matmul
  // CHECK-NEXT: betz.add
  // CHECK-NEXT: betz.mul
  // CHECK: return %[[E]], %[[Y]]
  func.func @main(%w: !w {betz.derived = "w"}, %x: !x {betz.input = "x"})
      -> (!half {betz.output = "e"}, !x {betz.output = "y"}) {
    %m = betz.matmul %x, %w : (!x, !w) -> !x
    %v = betz.slice %m {offset = 4 : i64} : (!x) -> !half
    %e = betz.gelu %v : (!half) -> !half
    %k = betz.matmul %x, %w : (!x, !w) -> !x
    %l = betz.gelu %x : (!x) -> !x
    %a = betz.add %k, %l : (!x, !x) -> !x
    %y = betz.mul %a, %x : (!x, !x) -> !x
    return %e, %y : !half, !x
  }
}

// -----

!i = tensor<?xi32, #betz.rows<"events">>
!x = tensor<?x8xf32, #betz.rows<"events">>
!y = tensor<?x6x8xf32, #betz.rows<"batch">>
!s = tensor<?xi32, #betz.rows<"batch" + 1>>

// Gathers and attention lead kernels too. A norm is no step of an epilogue, nor
// is an add whose result is larger than what it is added to.
module attributes {betz.phase = "model", betz.symbols = ["batch", "events"]} {
  func.func @prepare(%t: tensor<9x8xf32> {betz.weight = "t"},
                     %g: tensor<8xf32> {betz.weight = "g"},
                     %q: tensor<6x8xf32> {betz.weight = "q"})
      -> (tensor<9x8xf32> {betz.derived = "t"},
          tensor<8xf32> {betz.derived = "g"},
          tensor<6x8xf32> {betz.derived = "q"}) {
    return %t, %g, %q : tensor<9x8xf32>, tensor<8xf32>, tensor<6x8xf32>
  }
  // CHECK-LABEL: func @main
  // CHECK: %[[D:.+]] = betz.kernel elementwise "segment_sub"(
  // CHECK: %[[T:.+]] = betz.kernel gather "gather_sum_gelu"(%[[D]],
  // CHECK: %[[K:.+]] = betz.kernel row "norm"(%[[T]],
  // CHECK: %[[R:.+]] = betz.kernel elementwise "rotary"(%[[K]])
  // CHECK: %[[E:.+]] = betz.kernel elementwise "gelu"(%
  // CHECK: %[[A:.+]] = betz.kernel attention "attention_add"(%{{.+}}, %[[K]], %[[R]], %{{.+}}, %[[E]])
  // CHECK: return %[[A]]
  func.func @main(%t: tensor<9x8xf32> {betz.derived = "t"},
                  %g: tensor<8xf32> {betz.derived = "g"},
                  %q: tensor<6x8xf32> {betz.derived = "q"},
                  %i: !i {betz.input = "i"}, %s: !s {betz.input = "s"},
                  %b: tensor<?xi32, #betz.rows<"batch">> {betz.input = "b"})
      -> (!y {betz.output = "out"}) {
    %d = betz.segment_sub %i, %b, %s
        : (!i, tensor<?xi32, #betz.rows<"batch">>, !s) -> !i
    %x = betz.gather_sum (%d) in (%t) : (!i, tensor<9x8xf32>) -> !x
    %e = betz.gelu %x : (!x) -> !x
    %k = betz.norm layer %e, %g {eps = 1.0e-5 : f64}
        : (!x, tensor<8xf32>) -> !x
    %v = betz.rotary %k {heads = 1 : i64, offset = 0.0 : f64, step = 1.0 : f64,
                         period_min = 1.0 : f64, period_max = 9.0 : f64}
        : (!x) -> !x
    %u = betz.gelu %q : (tensor<6x8xf32>) -> tensor<6x8xf32>
    %a = betz.attention %q, %k, %v splits %s
        {heads = 1 : i64, kv_heads = 1 : i64, scale = 1.0 : f64}
        : (tensor<6x8xf32>, !x, !x, !s) -> !y
    %r = betz.add %a, %u : (!y, tensor<6x8xf32>) -> !y
    return %r : !y
  }
}
