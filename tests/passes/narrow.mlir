// RUN: betz-opt %s -betz-narrow | FileCheck %s
// RUN: betz-opt %s -betz-narrow -betz-fuse -betz-verify-kernels | FileCheck %s --check-prefix=FUSED

!rows = tensor<?x8xf32, #betz.rows<"batch">>
!index = tensor<?xi32, #betz.rows<"batch">>

// A derived value that is read twice is cast once; indices and the factors of
// rows stay as they are; results of @main stay f32.
module attributes {betz.phase = "model", betz.symbols = ["batch"]} {
  // CHECK-LABEL: func @prepare
  // CHECK-SAME: (%[[W:[^ :]+]]: tensor<8x8xf32> {betz.weight = "w"}, %[[T:[^ :]+]]: tensor<5x8xf32> {betz.weight = "t"})
  // CHECK-DAG: %[[NT:.+]] = betz.cast %[[T]] : (tensor<5x8xf32>) -> tensor<5x8xbf16>
  // CHECK-DAG: %[[NW:.+]] = betz.cast %[[W]] : (tensor<8x8xf32>) -> tensor<8x8xbf16>
  // CHECK: return %[[NT]], %[[NW]] : tensor<5x8xbf16>, tensor<8x8xbf16>
  func.func @prepare(%w: tensor<8x8xf32> {betz.weight = "w"},
                     %t: tensor<5x8xf32> {betz.weight = "t"})
      -> (tensor<8x8xf32> {betz.derived = "w"},
          tensor<5x8xf32> {betz.derived = "t"}) {
    return %w, %t : tensor<8x8xf32>, tensor<5x8xf32>
  }
  // CHECK-LABEL: func @main
  // CHECK-SAME: tensor<5x8xbf16> {betz.derived = "cast"}, %[[NW:[^ :]+]]: tensor<8x8xbf16> {betz.derived = "cast.2"}
  // CHECK-SAME: -> (tensor<?x8xf32, #betz.rows<"batch">> {betz.output = "out"})
  // CHECK: %[[X:.+]] = betz.gather_sum{{.*}} -> tensor<?x8xbf16
  // CHECK: %[[S:.+]] = betz.norm_scale rms %[[X]]{{.*}} -> tensor<?x1xf32
  // CHECK: %[[M:.+]] = betz.matmul %[[X]], %[[NW]]{{.*}} -> tensor<?x8xbf16
  // CHECK: %[[R:.+]] = betz.scale_rows %[[M]], %[[S]]{{.*}} -> tensor<?x8xbf16
  // CHECK: %[[N:.+]] = betz.matmul %[[R]], %[[NW]]
  // CHECK: %[[OUT:.+]] = betz.cast %[[N]]{{.*}} -> tensor<?x8xf32
  // CHECK: return %[[OUT]]
  // FUSED: betz.kernel matmul "norm_scale_matmul_scale_rows"
  // FUSED: %[[OUT:.+]] = betz.kernel matmul "matmul_cast"
  // FUSED: return %[[OUT]]
  func.func @main(%w: tensor<8x8xf32> {betz.derived = "w"},
                  %t: tensor<5x8xf32> {betz.derived = "t"},
                  %i: !index {betz.input = "i"})
      -> (!rows {betz.output = "out"}) {
    %x = betz.gather_sum(%i) in(%t) : (!index, tensor<5x8xf32>) -> !rows
    %s = betz.norm_scale rms %x {eps = 1.0e-5 : f64}
        : (!rows) -> tensor<?x1xf32, #betz.rows<"batch">>
    %m = betz.matmul %x, %w : (!rows, tensor<8x8xf32>) -> !rows
    %r = betz.scale_rows %m, %s
        : (!rows, tensor<?x1xf32, #betz.rows<"batch">>) -> !rows
    %n = betz.matmul %r, %w : (!rows, tensor<8x8xf32>) -> !rows
    return %n : !rows
  }
}
