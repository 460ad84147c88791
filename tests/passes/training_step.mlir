// RUN: betz-opt %s -betz-training-step="mse=y=target frozen=b" -betz-verify-model | FileCheck %s
// RUN: betz-opt %s -betz-training-step="mse=y=target gradients-only accumulate" -betz-verify-model | FileCheck %s --check-prefix=GRADIENT
// RUN: betz-opt %s -betz-training-step="mse=y=target narrow" -betz-verify-model | FileCheck %s --check-prefix=NARROW
// RUN: not betz-opt %s -betz-training-step="mse=z=target" 2>&1 | FileCheck %s --check-prefix=ERROR

!rows = tensor<?x4xf32, #betz.rows<"batch">>

// ERROR: error: a loss is of output 'z', which the model does not give
module attributes {betz.phase = "model", betz.symbols = ["batch"]} {
  // Nothing is left in @prepare: what it computes changes with the weights.
  // CHECK-LABEL: func @prepare() {
  // CHECK-NEXT: return
  func.func @prepare(%w: tensor<3x4xf32> {betz.weight = "w"},
                     %b: tensor<4xf32> {betz.weight = "b"})
      -> (tensor<4x3xf32> {betz.derived = "wt"},
          tensor<4xf32> {betz.derived = "b"}) {
    %t = betz.transpose %w : (tensor<3x4xf32>) -> tensor<4x3xf32>
    return %t, %b : tensor<4x3xf32>, tensor<4xf32>
  }

  // CHECK-LABEL: func @main
  // CHECK-SAME: (%[[W:[^ :]+]]: tensor<64xf32> {betz.input = "weights", betz.state}
  // CHECK-SAME: %[[M1:[^ :]+]]: tensor<64xf32> {betz.input = "moment1", betz.state}
  // CHECK-SAME: %[[M2:[^ :]+]]: tensor<64xf32> {betz.input = "moment2", betz.state}
  // CHECK-SAME: %[[S:[^ :]+]]: tensor<4xf32> {betz.input = "schedule"}
  // CHECK-SAME: %[[F:[^ :]+]]: tensor<64xf32> {betz.input = "frozen", betz.state}
  // CHECK-SAME: %[[X:[^ :]+]]: tensor<?x3xf32, #betz.rows<"batch">> {betz.alias = "features", betz.input = "x"}
  // CHECK-SAME: %[[Y:[^ :]+]]: tensor<?x4xf32, #betz.rows<"batch">> {betz.input = "target"}
  // CHECK-DAG: %[[VIEW:.+]] = betz.slice %[[W]] {betz.section = "weights", offset = 0 : i64} : (tensor<64xf32>) -> tensor<12xf32>
  // CHECK-DAG: %[[B:.+]] = betz.slice %[[F]] {betz.section = "weights", offset = 0 : i64} : (tensor<64xf32>) -> tensor<4xf32>
  // CHECK-DAG: %[[MATRIX:.+]] = betz.reshape %[[VIEW]]
  // CHECK: %[[T:.+]] = betz.transpose %[[MATRIX]]
  // CHECK: %[[P:.+]] = betz.matmul %[[X]], %[[T]]
  // CHECK: %[[OUT:.+]] = betz.add %[[P]], %[[B]]
  // CHECK: %[[L:.+]] = betz.mse_loss %[[OUT]], %[[Y]]
  // CHECK: %[[DT:.+]] = betz.contract_rows
  // CHECK: %[[DW:.+]] = betz.transpose %[[DT]]
  // CHECK: %[[FLAT:.+]] = betz.reshape %[[DW]]
  // CHECK: %[[G:.+]] = betz.join_columns %[[FLAT]] {{.*}}offsets = array<i64: 0>
  // CHECK: %[[Q:.+]] = betz.square_sum %[[G]]
  // CHECK: %[[W2:.+]], %[[N1:.+]], %[[N2:.+]] = betz.adamw %[[W]], %[[M1]], %[[M2]], %[[G]], %[[Q]], %[[S]]
  // CHECK: return %[[L]], %[[W2]], %[[N1]], %[[N2]], %[[Q]], %[[OUT]]

  // GRADIENT-LABEL: func @main
  // GRADIENT-SAME: %[[A:[^ :]+]]: tensor<128xf32> {betz.input = "accumulated"}
  // GRADIENT-SAME: betz.output = "gradient"
  // GRADIENT: %[[G:.+]] = betz.join_columns {{.*}}offsets = array<i64: 0, 64>
  // GRADIENT: betz.add %[[G]], %[[A]]
  // GRADIENT-NOT: betz.adamw

  // NARROW: betz.matmul {{.*}}bf16
  // NARROW: betz.mse_loss {{.*}}f32
  // NARROW: betz.contract_rows {{.*}} -> tensor<4x3xf32>
  func.func @main(%w: tensor<4x3xf32> {betz.derived = "wt"},
                  %b: tensor<4xf32> {betz.derived = "b"},
                  %x: tensor<?x3xf32, #betz.rows<"batch">>
                      {betz.input = "x", betz.alias = "features"})
      -> (!rows {betz.output = "y"}) {
    %m = betz.matmul %x, %w
        : (tensor<?x3xf32, #betz.rows<"batch">>, tensor<4x3xf32>) -> !rows
    %y = betz.add %m, %b : (!rows, tensor<4xf32>) -> !rows
    return %y : !rows
  }
}
