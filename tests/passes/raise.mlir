// RUN: betz compile %s --batch 1,4 --max-events 8 -o %t.betz
// RUN: betz dump %t.betz --phase program | FileCheck %s --check-prefixes=CHECK,PROGRAM
// RUN: betz dump %t.betz --phase kernels | FileCheck %s --check-prefixes=CHECK,KERNELS
// RUN: betz dump %t.betz --phase model | FileCheck %s --check-prefixes=CHECK,MODEL
// RUN: betz dump %t.betz --phase kernels -o %t.kernels.mlir
// RUN: betz compile %t.kernels.mlir --batch 1,4 --max-events 8 -o %t.again.betz
// RUN: cmp %t.betz %t.again.betz
// RUN: betz dump %t.betz --phase model -o %t.model.mlir
// RUN: betz compile %t.model.mlir --batch 1,4 --max-events 8 -o %t.again.betz
// RUN: cmp %t.betz %t.again.betz

!x = tensor<?x8xf32, #betz.rows<"events">>

// Back in the model phase nothing is left of kernels and memory; the section
// stands on each op again, and what was packed stays packed.
// PROGRAM: module attributes {betz.buckets = {{.*}}betz.phase = "program"
// KERNELS-NOT: betz.buckets
// KERNELS: betz.phase = "kernels"
// MODEL-NOT: betz.buckets
// MODEL: betz.phase = "model"
module attributes {betz.phase = "model", betz.symbols = ["events"]} {
  // CHECK: betz.pack_panels
  func.func @prepare(%g: tensor<8xf32> {betz.weight = "g"},
                     %w: tensor<8x8xf32> {betz.weight = "w"})
      -> (tensor<8xf32> {betz.derived = "g"},
          tensor<8x8xf32> {betz.derived = "w"}) {
    return %g, %w : tensor<8xf32>, tensor<8x8xf32>
  }
  // CHECK-LABEL: func @main
  // CHECK-SAME: (%[[W:[^ :]+]]: tensor<1x8x16xf32> {{[^%]*}}, %[[X:[^ :]+]]:
  // PROGRAM-NEXT: betz.kernel matmul "mlp__norm_scale_matmul_scale_rows_gelu"{{.*}}offsets = [array<i64: 0>, array<i64: 0>]
  // KERNELS-NEXT: betz.kernel matmul "mlp__norm_scale_matmul_scale_rows_gelu"
  // KERNELS-NOT: offsets
  // MODEL-NEXT: %[[N:.+]] = betz.norm_scale layer %[[X]] {betz.section = "mlp"
  // MODEL-NEXT: %[[P:.+]] = betz.matmul %[[X]], %[[W]] {betz.section = "mlp"
  // MODEL-NEXT: %[[M:.+]] = betz.scale_rows %[[P]], %[[N]] {betz.section = "mlp"
  // MODEL-NEXT: %[[E:.+]] = betz.gelu %[[M]] {betz.section = "mlp"}
  // MODEL-NEXT: %[[S:.+]] = betz.slice %[[E]] {offset = 2 : i64}
  // MODEL-NEXT: %[[Y:.+]] = betz.gelu %[[S]]
  // MODEL-NEXT: return %[[Y]]
  func.func @main(%g: tensor<8xf32> {betz.derived = "g"},
                  %w: tensor<8x8xf32> {betz.derived = "w"},
                  %x: !x {betz.input = "x"})
      -> (tensor<?x5xf32, #betz.rows<"events">> {betz.output = "out"}) {
    %n = betz.norm layer %x, %g {betz.section = "mlp", eps = 1.0e-5 : f64}
        : (!x, tensor<8xf32>) -> !x
    %m = betz.matmul %n, %w {betz.section = "mlp"}
        : (!x, tensor<8x8xf32>) -> !x
    %e = betz.gelu %m {betz.section = "mlp"} : (!x) -> !x
    %s = betz.slice %e {offset = 2 : i64}
        : (!x) -> tensor<?x5xf32, #betz.rows<"events">>
    %y = betz.gelu %s : (tensor<?x5xf32, #betz.rows<"events">>)
        -> tensor<?x5xf32, #betz.rows<"events">>
    return %y : tensor<?x5xf32, #betz.rows<"events">>
  }
}
