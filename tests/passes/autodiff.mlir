// RUN: betz-opt %s -betz-autodiff=loss=loss -split-input-file -verify-diagnostics | FileCheck %s

!rows = tensor<?x4xf32, #betz.rows<"batch">>
!wide = tensor<?x8xf32, #betz.rows<"batch">>
!index = tensor<?xi32, #betz.rows<"batch">>

// Backward ops follow the forward ones in reverse. What the value x is read by
// twice is added; nothing is computed for the integers.
module attributes {betz.phase = "model", betz.symbols = ["batch"]} {
  func.func @prepare(%t: tensor<9x4xf32> {betz.weight = "t"},
                     %w: tensor<4x4xf32> {betz.weight = "w"})
      -> (tensor<9x4xf32> {betz.derived = "t"},
          tensor<4x4xf32> {betz.derived = "w"}) {
    return %t, %w : tensor<9x4xf32>, tensor<4x4xf32>
  }
  // CHECK-LABEL: func @main
  // CHECK-SAME: %[[T:[^ :]+]]: tensor<9x4xf32>
  // CHECK-SAME: %[[W:[^ :]+]]: tensor<4x4xf32>
  // CHECK-SAME: %[[I:[^ :]+]]: tensor<?xi32
  // CHECK-SAME: %[[Y:[^ :]+]]: tensor<?x4xf32
  // CHECK-SAME: betz.output = "loss"
  // CHECK-SAME: betz.output = "grad.t"
  // CHECK-SAME: betz.output = "grad.w"
  // CHECK-SAME: betz.output = "grad.target"
  func.func @main(%t: tensor<9x4xf32> {betz.derived = "t"},
                  %w: tensor<4x4xf32> {betz.derived = "w"},
                  %i: !index {betz.input = "i"},
                  %target: !rows {betz.input = "target"})
      -> (tensor<1xf32> {betz.output = "loss"}) {
    // CHECK: %[[X:.+]] = betz.gather_sum
    %x = betz.gather_sum (%i) in (%t) : (!index, tensor<9x4xf32>) -> !rows
    // CHECK: %[[M:.+]] = betz.matmul
    %m = betz.matmul %x, %w {betz.section = "block"}
        : (!rows, tensor<4x4xf32>) -> !rows
    // CHECK: %[[R:.+]] = betz.add
    %r = betz.add %m, %x : (!rows, !rows) -> !rows
    // CHECK: %[[L:.+]] = betz.mse_loss
    %l = betz.mse_loss %r, %target : (!rows, !rows) -> tensor<1xf32>
    // CHECK-NEXT: %[[ONE:.+]] = betz.fill {value = 1.0
    // CHECK-NEXT: %[[DR:.+]] = betz.mse_grad %[[R]], %[[Y]], %[[ONE]]
    // CHECK-NEXT: %[[DY:.+]] = betz.mse_grad %[[Y]], %[[R]], %[[ONE]]
    // CHECK-NEXT: %[[WT:.+]] = betz.transpose %[[W]] {betz.section = "block.grad"}
    // CHECK-NEXT: %[[DXM:.+]] = betz.matmul %[[DR]], %[[WT]]
    // CHECK-NEXT: %[[DW:.+]] = betz.contract_rows %[[DR]], %[[X]]
    // CHECK-NEXT: %[[DX:.+]] = betz.add %[[DR]], %[[DXM]]
    // CHECK-NEXT: %[[DT:.+]] = betz.scatter_sum %[[I]], %[[DX]]
    // CHECK-NEXT: return %[[L]], %[[DT]], %[[DW]], %[[DY]]
    return %l : tensor<1xf32>
  }
}

// -----

!rows = tensor<?x4xf32, #betz.rows<"batch">>
!wide = tensor<?x8xf32, #betz.rows<"batch">>

// Gradients of slices lie side by side; those that overlap are added.
module attributes {betz.phase = "model", betz.symbols = ["batch"]} {
  func.func @prepare() { return }
  // CHECK-LABEL: func @main
  func.func @main(%x: !wide {betz.input = "x"})
      -> (tensor<1xf32> {betz.output = "loss"}) {
    %a = betz.slice %x {offset = 0 : i64} : (!wide) -> !rows
    %b = betz.slice %x {offset = 4 : i64} : (!wide) -> !rows
    %c = betz.slice %x {offset = 2 : i64} : (!wide) -> !rows
    %m = betz.mul %a, %b : (!rows, !rows) -> !rows
    %l = betz.mse_loss %m, %c : (!rows, !rows) -> tensor<1xf32>
    // CHECK: %[[DM:.+]] = betz.mse_grad
    // CHECK-NEXT: %[[DC:.+]] = betz.mse_grad
    // CHECK-NEXT: %[[DA:.+]] = betz.mul %[[DM]]
    // CHECK-NEXT: %[[DB:.+]] = betz.mul %[[DM]]
    // CHECK: %[[AB:.+]] = betz.join_columns %[[DA]], %[[DB]] {offsets = array<i64: 0, 4>}
    // CHECK: %[[C:.+]] = betz.join_columns %[[DC]] {offsets = array<i64: 2>}
    // CHECK: %[[DX:.+]] = betz.add %[[AB]], %[[C]]
    // CHECK: return %{{.+}}, %[[DX]]
    return %l : tensor<1xf32>
  }
}

// -----

!rows = tensor<?x4xf32, #betz.rows<"batch">>

// A gradient that does not reach an argument adds no output.
module attributes {betz.phase = "model", betz.symbols = ["batch"]} {
  func.func @prepare() { return }
  // CHECK-LABEL: func @main
  // CHECK-NOT: grad.z
  func.func @main(%x: !rows {betz.input = "x"}, %z: !rows {betz.input = "z"})
      -> (!rows {betz.output = "y"}, tensor<1xf32> {betz.output = "loss"}) {
    %y = betz.add %x, %z : (!rows, !rows) -> !rows
    %l = betz.mse_loss %x, %x : (!rows, !rows) -> tensor<1xf32>
    return %y, %l : !rows, tensor<1xf32>
  }
}

// -----

!rows = tensor<?x4xf32, #betz.rows<"batch">>

module attributes {betz.phase = "model", betz.symbols = ["batch"]} {
  func.func @prepare() { return }
  func.func @main(%x: !rows {betz.input = "x"})
      -> (tensor<1xf32> {betz.output = "loss"}) {
    // expected-error @+1 {{'betz.square_sums' op has no gradient rule}}
    %q = betz.square_sums %x {group = 1 : i64} : (!rows) -> !rows
    %l = betz.mse_loss %q, %q : (!rows, !rows) -> tensor<1xf32>
    return %l : tensor<1xf32>
  }
}

// -----

!rows = tensor<?x4xf32, #betz.rows<"batch">>

module attributes {betz.phase = "model", betz.symbols = ["batch"]} {
  func.func @prepare() { return }
  // expected-error @+1 {{output "loss" is 'tensor<?x4xf32, #betz.rows<"batch">>', not tensor<1xf32>}}
  func.func @main(%x: !rows {betz.input = "x"})
      -> (!rows {betz.output = "loss"}) {
    return %x : !rows
  }
}

// -----

!rows = tensor<?x4xf32, #betz.rows<"batch">>

module attributes {betz.phase = "model", betz.symbols = ["batch"]} {
  func.func @prepare() { return }
  // expected-error @+1 {{@main has no output "loss"}}
  func.func @main(%x: !rows {betz.input = "x"})
      -> (!rows {betz.output = "y"}) {
    return %x : !rows
  }
}
