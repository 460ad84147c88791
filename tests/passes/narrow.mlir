// RUN: betz-opt %s -betz-narrow -betz-verify-model -split-input-file | FileCheck %s
// Narrowing again changes nothing.
// RUN: betz-opt %s -betz-narrow -split-input-file -o %t.once
// RUN: betz-opt %t.once -betz-narrow -split-input-file -o %t.twice
// RUN: cmp %t.once %t.twice

!x = tensor<?x8xf32, #betz.rows<"events">>
!s = tensor<?x1xf32, #betz.rows<"events">>
!i = tensor<?xi32, #betz.rows<"events">>

// Derived values are cast where @prepare ends, once each; results stay f32
// through a cast behind the op that computes them, and so do factors of rows.
// CHECK-LABEL: module
module attributes {betz.phase = "model", betz.symbols = ["events"]} {
  // CHECK: func @prepare(%[[T:[^ :]+]]: tensor<5x8xf32> {betz.weight = "t"}, %[[W:[^ :]+]]: tensor<8x8xf32> {betz.weight = "w"})
  // CHECK-SAME: -> (tensor<5x8xbf16> {{[^,]+}}, tensor<8x8xbf16> {{[^,]+}})
  // CHECK-DAG: %[[TN:.+]] = betz.cast %[[T]]
  // CHECK-DAG: %[[WN:.+]] = betz.cast %[[W]]
  // CHECK: return %[[TN]], %[[WN]]
  func.func @prepare(%t: tensor<5x8xf32> {betz.weight = "t"},
                     %w: tensor<8x8xf32> {betz.weight = "w"})
      -> (tensor<5x8xf32> {betz.derived = "t"},
          tensor<8x8xf32> {betz.derived = "w"}) {
    return %t, %w : tensor<5x8xf32>, tensor<8x8xf32>
  }
  // CHECK: func @main(%[[T:[^ :]+]]: tensor<5x8xbf16> {{.*}}, %[[W:[^ :]+]]: tensor<8x8xbf16> {{.*}}, %[[I:[^ :]+]]: tensor<?xi32, #betz.rows<"events">> {betz.input = "i"})
  // CHECK-NEXT: %[[X:.+]] = betz.gather_sum(%[[I]]) in(%[[T]]) {{.*}} -> tensor<?x8xbf16
  // CHECK-NEXT: %[[S:.+]] = betz.norm_scale rms %[[X]] {{.*}} -> tensor<?x1xf32
  // CHECK-NEXT: %[[M:.+]] = betz.matmul %[[X]], %[[W]] {{.*}} -> tensor<?x8xbf16
  // CHECK-NEXT: %[[Y:.+]] = betz.scale_rows %[[M]], %[[S]] {{.*}} -> tensor<?x8xbf16
  // CHECK-NEXT: %[[Z:.+]] = betz.matmul %[[Y]], %[[W]]
  // CHECK-NEXT: %[[O:.+]] = betz.cast %[[Z]] {betz.section = "head"} : {{.*}} -> tensor<?x8xf32
  // CHECK-NEXT: return %[[O]], %[[S]]
  func.func @main(%t: tensor<5x8xf32> {betz.derived = "t"},
                  %w: tensor<8x8xf32> {betz.derived = "w"},
                  %i: !i {betz.input = "i"})
      -> (!x {betz.output = "out"}, !s {betz.output = "scale"}) {
    %x = betz.gather_sum (%i) in (%t) : (!i, tensor<5x8xf32>) -> !x
    %s = betz.norm_scale rms %x {eps = 1.0e-5 : f64} : (!x) -> !s
    %m = betz.matmul %x, %w : (!x, tensor<8x8xf32>) -> !x
    %y = betz.scale_rows %m, %s : (!x, !s) -> !x
    %z = betz.matmul %y, %w {betz.section = "head"} : (!x, tensor<8x8xf32>) -> !x
    return %z, %s : !x, !s
  }
}

// -----

!x = tensor<?x8xf32, #betz.rows<"batch">>
!half = tensor<?x2x4xf32, #betz.rows<"batch">>

// Inputs are cast where the step begins; a result is cast before the view that
// is returned, so that the cast can join the kernel.
// CHECK-LABEL: module
module attributes {betz.phase = "model", betz.symbols = ["batch"]} {
  func.func @prepare() {
    return
  }
  // CHECK: func @main(%[[X:[^ :]+]]: tensor<?x8xf32, {{.*}}> {betz.input = "x"}, %[[S:[^ :]+]]: tensor<?x1xf32
  // CHECK-NEXT: %[[N:.+]] = betz.cast %[[X]]
  // CHECK-NEXT: %[[A:.+]] = betz.add %[[N]], %[[N]]
  // CHECK-NEXT: %[[B:.+]] = betz.scale_rows %[[A]], %[[S]] {{.*}} tensor<?x1xf32
  // CHECK-NEXT: %[[C:.+]] = betz.cast %[[B]]
  // CHECK-NEXT: %[[R:.+]] = betz.reshape %[[C]] {{.*}} -> tensor<?x2x4xf32
  // CHECK-NEXT: return %[[R]]
  func.func @main(%x: !x {betz.input = "x"},
                  %s: tensor<?x1xf32, #betz.rows<"batch">> {betz.input = "s"})
      -> (!half {betz.output = "out"}) {
    %a = betz.add %x, %x : (!x, !x) -> !x
    %b = betz.scale_rows %a, %s
        : (!x, tensor<?x1xf32, #betz.rows<"batch">>) -> !x
    %r = betz.reshape %b : (!x) -> !half
    return %r : !half
  }
}
