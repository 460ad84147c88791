// RUN: betz-opt %s -betz-absorb-norm -split-input-file | FileCheck %s

!x = tensor<?x5x8xf32, #betz.rows<"batch">>
!y = tensor<?x5x12xf32, #betz.rows<"batch">>
!g = tensor<8xf32>
!w = tensor<12x8xf32>

// The gain goes into the weight, the factor of a row to the product.
module attributes {betz.phase = "model", betz.symbols = ["batch"]} {
  // CHECK-LABEL: func @prepare
  // CHECK-SAME: (%[[G:[^ :]+]]: {{[^{]+}} {betz.weight = "g"}, %[[W:[^ :]+]]: {{[^{]+}} {betz.weight = "w"})
  // CHECK-NEXT: %[[WG:.+]] = betz.mul %[[W]], %[[G]] {betz.section = "mlp"}
  // CHECK-NEXT: return %[[WG]] :
  func.func @prepare(%g: !g {betz.weight = "g"}, %w: !w {betz.weight = "w"})
      -> (!g {betz.derived = "g"}, !w {betz.derived = "w"}) {
    return %g, %w : !g, !w
  }
  // CHECK-LABEL: func @main
  // CHECK-SAME: (%[[WG:[^ :]+]]: tensor<12x8xf32> {betz.derived = "mlp.mul"}, %[[X:[^ :]+]]: {{[^{]+}} {betz.input = "x"})
  // CHECK-DAG: %[[M:.+]] = betz.matmul %[[X]], %[[WG]] {betz.section = "mlp"}
  // CHECK-DAG: %[[S:.+]] = betz.norm_scale rms %[[X]] {betz.section = "mlp", eps = 1.000000e-05 : f64}
  // CHECK: %[[Y:.+]] = betz.scale_rows %[[M]], %[[S]]
  // CHECK-NEXT: return %[[Y]]
  func.func @main(%g: !g {betz.derived = "g"}, %w: !w {betz.derived = "w"},
                  %x: !x {betz.input = "x"}) -> (!y {betz.output = "y"}) {
    %n = betz.norm rms %x, %g {eps = 1.0e-5 : f64} : (!x, !g) -> !x
    %y = betz.matmul %n, %w {betz.section = "mlp"} : (!x, !w) -> !y
    return %y : !y
  }
}

// -----

!x = tensor<?x8xf32, #betz.rows<"batch">>
!y = tensor<?x12xf32, #betz.rows<"batch">>
!g = tensor<8xf32>
!w = tensor<12x8xf32>

// LayerNorm takes the mean of the weight's rows away; the shift is a bias.
module attributes {betz.phase = "model", betz.symbols = ["batch"]} {
  // CHECK-LABEL: func @prepare
  // CHECK-SAME: (%[[G:[^ :]+]]: {{[^{]+}} {betz.weight = "g"}, %[[B:[^ :]+]]: {{[^{]+}} {betz.weight = "b"}, %[[W:[^ :]+]]: {{[^{]+}} {betz.weight = "w"})
  // CHECK: %[[WG:.+]] = betz.mul %[[W]], %[[G]]
  // CHECK: %[[WC:.+]] = betz.subtract_mean %[[WG]] {dim = 1 : i64}
  // CHECK: %[[ROW:.+]] = betz.reshape %[[B]] : (tensor<8xf32>) -> tensor<1x8xf32>
  // CHECK: %[[BW:.+]] = betz.matmul %[[ROW]], %[[W]]
  // CHECK: %[[BIAS:.+]] = betz.reshape %[[BW]] : (tensor<1x12xf32>) -> tensor<12xf32>
  // CHECK: return %[[WC]], %[[BIAS]] :
  func.func @prepare(%g: !g {betz.weight = "g"}, %b: !g {betz.weight = "b"},
                     %w: !w {betz.weight = "w"})
      -> (!g {betz.derived = "g"}, !g {betz.derived = "b"},
          !w {betz.derived = "w"}) {
    return %g, %b, %w : !g, !g, !w
  }
  // CHECK-LABEL: func @main
  // CHECK-SAME: (%[[WC:[^ :]+]]: tensor<12x8xf32> {{[^,]+}}, %[[BIAS:[^ :]+]]: tensor<12xf32> {{[^,]+}}, %[[X:[^ :]+]]:
  // CHECK-DAG: %[[M:.+]] = betz.matmul %[[X]], %[[WC]]
  // CHECK-DAG: %[[S:.+]] = betz.norm_scale layer %[[X]]
  // CHECK: %[[Z:.+]] = betz.scale_rows %[[M]], %[[S]]
  // CHECK-NEXT: %[[Y:.+]] = betz.add %[[Z]], %[[BIAS]]
  // CHECK-NEXT: return %[[Y]]
  func.func @main(%g: !g {betz.derived = "g"}, %b: !g {betz.derived = "b"},
                  %w: !w {betz.derived = "w"}, %x: !x {betz.input = "x"})
      -> (!y {betz.output = "y"}) {
    %n = betz.norm layer %x, %g, %b {eps = 1.0e-5 : f64} : (!x, !g, !g) -> !x
    %y = betz.matmul %n, %w : (!x, !w) -> !y
    return %y : !y
  }
}

// -----

!x = tensor<?x8xf32, #betz.rows<"batch">>
!y = tensor<?x12xf32, #betz.rows<"batch">>
!g = tensor<8xf32>
!w = tensor<12x8xf32>

// The norm is an output too.
module attributes {betz.phase = "model", betz.symbols = ["batch"]} {
  // CHECK-LABEL: func @prepare
  // CHECK-NOT: betz.mul
  func.func @prepare(%g: !g {betz.weight = "g"}, %w: !w {betz.weight = "w"})
      -> (!g {betz.derived = "g"}, !w {betz.derived = "w"}) {
    return %g, %w : !g, !w
  }
  // CHECK-LABEL: func @main
  // CHECK: betz.norm rms
  // CHECK-NOT: betz.norm_scale
  func.func @main(%g: !g {betz.derived = "g"}, %w: !w {betz.derived = "w"},
                  %x: !x {betz.input = "x"}, %gin: !g {betz.input = "gin"},
                  %win: !w {betz.input = "win"})
      -> (!y {betz.output = "y"}, !x {betz.output = "z"}) {
    %n = betz.norm rms %x, %g {eps = 1.0e-5 : f64} : (!x, !g) -> !x
    %y = betz.matmul %n, %w : (!x, !w) -> !y
    return %y, %n : !y, !x
  }
}

// -----

!x = tensor<?x8xf32, #betz.rows<"batch">>
!y = tensor<?x12xf32, #betz.rows<"batch">>
!g = tensor<8xf32>
!w = tensor<12x8xf32>

// Two matmuls read it.
module attributes {betz.phase = "model", betz.symbols = ["batch"]} {
  // CHECK-LABEL: func @prepare
  // CHECK-NOT: betz.mul
  func.func @prepare(%g: !g {betz.weight = "g"}, %w: !w {betz.weight = "w"})
      -> (!g {betz.derived = "g"}, !w {betz.derived = "w"}) {
    return %g, %w : !g, !w
  }
  // CHECK-LABEL: func @main
  // CHECK: betz.norm rms
  // CHECK-NOT: betz.norm_scale
  func.func @main(%g: !g {betz.derived = "g"}, %w: !w {betz.derived = "w"},
                  %x: !x {betz.input = "x"}, %gin: !g {betz.input = "gin"},
                  %win: !w {betz.input = "win"})
      -> (!y {betz.output = "y"}, !y {betz.output = "z"}) {
    %n = betz.norm rms %x, %g {eps = 1.0e-5 : f64} : (!x, !g) -> !x
    %y = betz.matmul %n, %w : (!x, !w) -> !y
    %z = betz.matmul %n, %w : (!x, !w) -> !y
    return %y, %z : !y, !y
  }
}

// -----

!x = tensor<?x8xf32, #betz.rows<"batch">>
!y = tensor<?x12xf32, #betz.rows<"batch">>
!g = tensor<8xf32>
!w = tensor<12x8xf32>

// The weight is an input.
module attributes {betz.phase = "model", betz.symbols = ["batch"]} {
  // CHECK-LABEL: func @prepare
  // CHECK-NOT: betz.mul
  func.func @prepare(%g: !g {betz.weight = "g"}, %w: !w {betz.weight = "w"})
      -> (!g {betz.derived = "g"}, !w {betz.derived = "w"}) {
    return %g, %w : !g, !w
  }
  // CHECK-LABEL: func @main
  // CHECK: betz.norm rms
  // CHECK-NOT: betz.norm_scale
  func.func @main(%g: !g {betz.derived = "g"}, %w: !w {betz.derived = "w"},
                  %x: !x {betz.input = "x"}, %gin: !g {betz.input = "gin"},
                  %win: !w {betz.input = "win"})
      -> (!y {betz.output = "y"}, !y {betz.output = "z"}) {
    %n = betz.norm rms %x, %g {eps = 1.0e-5 : f64} : (!x, !g) -> !x
    %y = betz.matmul %n, %win : (!x, !w) -> !y
    return %y, %y : !y, !y
  }
}

// -----

!x = tensor<?x8xf32, #betz.rows<"batch">>
!y = tensor<?x12xf32, #betz.rows<"batch">>
!g = tensor<8xf32>
!w = tensor<1x8x16xf32>

// The weight is packed.
module attributes {betz.phase = "model", betz.symbols = ["batch"]} {
  // CHECK-LABEL: func @prepare
  // CHECK-NOT: betz.mul
  func.func @prepare(%g: !g {betz.weight = "g"}, %w: !w {betz.weight = "w"})
      -> (!g {betz.derived = "g"}, !w {betz.derived = "w"}) {
    return %g, %w : !g, !w
  }
  // CHECK-LABEL: func @main
  // CHECK: betz.norm rms
  // CHECK-NOT: betz.norm_scale
  func.func @main(%g: !g {betz.derived = "g"}, %w: !w {betz.derived = "w"},
                  %x: !x {betz.input = "x"}, %gin: !g {betz.input = "gin"},
                  %win: !w {betz.input = "win"})
      -> (!y {betz.output = "y"}, !y {betz.output = "z"}) {
    %n = betz.norm rms %x, %g {eps = 1.0e-5 : f64} : (!x, !g) -> !x
    %y = betz.matmul %n, %w {columns = 12 : i64} : (!x, !w) -> !y
    return %y, %y : !y, !y
  }
}

// -----

!x = tensor<?x8xf32, #betz.rows<"batch">>
!y = tensor<?x12xf32, #betz.rows<"batch">>
!g = tensor<8xf32>
!w = tensor<12x8xf32>

// The gain is an input.
module attributes {betz.phase = "model", betz.symbols = ["batch"]} {
  // CHECK-LABEL: func @prepare
  // CHECK-NOT: betz.mul
  func.func @prepare(%g: !g {betz.weight = "g"}, %w: !w {betz.weight = "w"})
      -> (!g {betz.derived = "g"}, !w {betz.derived = "w"}) {
    return %g, %w : !g, !w
  }
  // CHECK-LABEL: func @main
  // CHECK: betz.norm rms
  // CHECK-NOT: betz.norm_scale
  func.func @main(%g: !g {betz.derived = "g"}, %w: !w {betz.derived = "w"},
                  %x: !x {betz.input = "x"}, %gin: !g {betz.input = "gin"},
                  %win: !w {betz.input = "win"})
      -> (!y {betz.output = "y"}, !y {betz.output = "z"}) {
    %n = betz.norm rms %x, %gin {eps = 1.0e-5 : f64} : (!x, !g) -> !x
    %y = betz.matmul %n, %w : (!x, !w) -> !y
    return %y, %y : !y, !y
  }
}

// -----

!x = tensor<?x8xf32, #betz.rows<"batch">>
!y = tensor<?x12xf32, #betz.rows<"batch">>
!g = tensor<8xf32>
!w = tensor<12x8xf32>

// The shift is an input.
module attributes {betz.phase = "model", betz.symbols = ["batch"]} {
  // CHECK-LABEL: func @prepare
  // CHECK-NOT: betz.mul
  func.func @prepare(%g: !g {betz.weight = "g"}, %w: !w {betz.weight = "w"})
      -> (!g {betz.derived = "g"}, !w {betz.derived = "w"}) {
    return %g, %w : !g, !w
  }
  // CHECK-LABEL: func @main
  // CHECK: betz.norm rms
  // CHECK-NOT: betz.norm_scale
  func.func @main(%g: !g {betz.derived = "g"}, %w: !w {betz.derived = "w"},
                  %x: !x {betz.input = "x"}, %gin: !g {betz.input = "gin"},
                  %win: !w {betz.input = "win"})
      -> (!y {betz.output = "y"}, !y {betz.output = "z"}) {
    %n = betz.norm rms %x, %g, %gin {eps = 1.0e-5 : f64} : (!x, !g, !g) -> !x
    %y = betz.matmul %n, %w : (!x, !w) -> !y
    return %y, %y : !y, !y
  }
}
