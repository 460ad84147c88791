// RUN: betz-opt %s -betz-pack-panels | FileCheck %s
// RUN: betz-opt %s -betz-pack-panels=panel=8 | FileCheck %s --check-prefix=EIGHT

!rows = tensor<?x20xf32, #betz.rows<"batch">>
!wide = tensor<?x33xf32, #betz.rows<"batch">>

// A weight that matmuls alone read is replaced, once for all of them; one that
// another op reads stays beside its packed form; a matrix that is an input is
// packed by the step, and one that is packed already is left alone.
module attributes {betz.phase = "model", betz.symbols = ["batch"]} {
  // CHECK-LABEL: func @prepare
  // CHECK-SAME: (%[[W:[^ :]+]]: tensor<33x20xf32> {betz.weight = "w"}, %[[BOTH:[^ :]+]]: tensor<20x20xf32> {betz.weight = "both"}, %[[PACKED:[^ :]+]]: tensor<2x20x16xf32>
  // CHECK: %[[P:.+]] = betz.pack_panels %[[W]] {betz.section = "up", panel = 16 : i64} : (tensor<33x20xf32>) -> tensor<3x20x16xf32>
  // CHECK: %[[Q:.+]] = betz.pack_panels %[[BOTH]] {panel = 16 : i64} : (tensor<20x20xf32>) -> tensor<2x20x16xf32>
  // CHECK-NOT: betz.pack_panels
  // CHECK: return %[[P]], %[[Q]], %[[PACKED]], %[[BOTH]]
  // EIGHT: betz.pack_panels %{{.+}} {betz.section = "up", panel = 8 : i64} : (tensor<33x20xf32>) -> tensor<5x20x8xf32>
  // EIGHT: betz.pack_panels %{{.+}} {panel = 8 : i64} : (tensor<20x20xf32>) -> tensor<3x20x8xf32>
  func.func @prepare(%w: tensor<33x20xf32> {betz.weight = "w"},
                     %both: tensor<20x20xf32> {betz.weight = "both"},
                     %packed: tensor<2x20x16xf32> {betz.weight = "packed"})
      -> (tensor<33x20xf32> {betz.derived = "w"},
          tensor<20x20xf32> {betz.derived = "both"},
          tensor<2x20x16xf32> {betz.derived = "packed"}) {
    return %w, %both, %packed
        : tensor<33x20xf32>, tensor<20x20xf32>, tensor<2x20x16xf32>
  }
  // CHECK-LABEL: func @main
  // CHECK-SAME: (%[[P:[^ :]+]]: tensor<3x20x16xf32> {betz.derived = "up.pack_panels"}, %[[Q:[^ :]+]]: tensor<2x20x16xf32> {betz.derived = "pack_panels"}, %[[PACKED:[^ :]+]]: tensor<2x20x16xf32> {betz.derived = "packed"}, %[[BOTH:[^ :]+]]: tensor<20x20xf32> {betz.derived = "both"}, %[[X:[^ :]+]]: {{[^{]+}} {betz.input = "x"}, %[[GIVEN:[^ :]+]]: tensor<20x20xf32> {betz.input = "given"})
  // CHECK: %[[OWN:.+]] = betz.pack_panels %[[GIVEN]] {panel = 16 : i64}
  // CHECK: betz.matmul %[[X]], %[[P]] {betz.section = "up", columns = 33 : i64} : {{.*}} -> tensor<?x33xf32
  // CHECK: %[[Y:.+]] = betz.matmul %[[X]], %[[Q]] {columns = 20 : i64}
  // CHECK: betz.matmul %[[Y]], %[[P]] {columns = 33 : i64}
  // CHECK: betz.matmul %[[Y]], %[[PACKED]] {columns = 20 : i64}
  // CHECK: betz.matmul %{{.+}}, %[[OWN]] {columns = 20 : i64}
  // CHECK: betz.add %{{.+}}, %[[BOTH]]
  func.func @main(%w: tensor<33x20xf32> {betz.derived = "w"},
                  %both: tensor<20x20xf32> {betz.derived = "both"},
                  %packed: tensor<2x20x16xf32> {betz.derived = "packed"},
                  %x: !rows {betz.input = "x"},
                  %given: tensor<20x20xf32> {betz.input = "given"})
      -> (!wide {betz.output = "a"}, !wide {betz.output = "b"},
          !rows {betz.output = "c"},
          tensor<20x20xf32> {betz.output = "d"}) {
    %a = betz.matmul %x, %w {betz.section = "up"}
        : (!rows, tensor<33x20xf32>) -> !wide
    %y = betz.matmul %x, %both : (!rows, tensor<20x20xf32>) -> !rows
    %b = betz.matmul %y, %w : (!rows, tensor<33x20xf32>) -> !wide
    %z = betz.matmul %y, %packed {columns = 20 : i64}
        : (!rows, tensor<2x20x16xf32>) -> !rows
    %c = betz.matmul %z, %given : (!rows, tensor<20x20xf32>) -> !rows
    %d = betz.add %given, %both
        : (tensor<20x20xf32>, tensor<20x20xf32>) -> tensor<20x20xf32>
    return %a, %b, %c, %d : !wide, !wide, !rows, tensor<20x20xf32>
  }
}
