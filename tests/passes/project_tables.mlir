// RUN: betz-opt %s -betz-project-tables -split-input-file | FileCheck %s

!id = tensor<?xi32, #betz.rows<"events">>
!tokens = tensor<?x64xf32, #betz.rows<"events">>
!result = tensor<?x16xf32, #betz.rows<"events">>

// Tables are projected in @prepare; @main looks up both the plain sum, for its
// factor, and the projected one. LayerNorm's mean goes into the weight, the
// shift becomes a bias.
module attributes {betz.phase = "model", betz.symbols = ["events"]} {
  // CHECK-LABEL: func @prepare
  // CHECK-SAME: (%[[T:[^ :]+]]: tensor<5x64xf32> {betz.weight = "t"}, %[[U:[^ :]+]]: tensor<3x64xf32> {betz.weight = "u"}, %[[G:[^ :]+]]: tensor<64xf32> {betz.weight = "g"}, %[[B:[^ :]+]]: tensor<64xf32> {betz.weight = "b"}, %[[W:[^ :]+]]: tensor<16x64xf32> {betz.weight = "w"})
  // CHECK: %[[WG:.+]] = betz.mul %[[W]], %[[G]]
  // CHECK: %[[WC:.+]] = betz.subtract_mean %[[WG]] {betz.section = "kv", dim = 1 : i64}
  // CHECK: %[[PT:.+]] = betz.matmul %[[T]], %[[WC]] {betz.section = "kv"} : {{.+}} -> tensor<5x16xf32>
  // CHECK: %[[PU:.+]] = betz.matmul %[[U]], %[[WC]] {betz.section = "kv"} : {{.+}} -> tensor<3x16xf32>
  // CHECK: %[[ROW:.+]] = betz.reshape %[[B]]
  // CHECK: %[[BW:.+]] = betz.matmul %[[ROW]], %[[W]]
  // CHECK: %[[BIAS:.+]] = betz.reshape %[[BW]] {{.+}} -> tensor<16xf32>
  // CHECK: return %[[T]], %[[U]], %[[PT]], %[[PU]], %[[BIAS]] :
  func.func @prepare(%t: tensor<5x64xf32> {betz.weight = "t"},
                     %u: tensor<3x64xf32> {betz.weight = "u"},
                     %g: tensor<64xf32> {betz.weight = "g"},
                     %b: tensor<64xf32> {betz.weight = "b"},
                     %w: tensor<16x64xf32> {betz.weight = "w"})
      -> (tensor<5x64xf32> {betz.derived = "t"},
          tensor<3x64xf32> {betz.derived = "u"},
          tensor<64xf32> {betz.derived = "g"},
          tensor<64xf32> {betz.derived = "b"},
          tensor<16x64xf32> {betz.derived = "w"}) {
    return %t, %u, %g, %b, %w
        : tensor<5x64xf32>, tensor<3x64xf32>, tensor<64xf32>, tensor<64xf32>,
          tensor<16x64xf32>
  }
  // CHECK-LABEL: func @main
  // CHECK-SAME: (%[[T:[^ :]+]]: tensor<5x64xf32> {betz.derived = "t"}, %[[U:[^ :]+]]: tensor<3x64xf32> {betz.derived = "u"}, %[[PT:[^ :]+]]: tensor<5x16xf32> {betz.derived = "kv.matmul"}, %[[PU:[^ :]+]]: tensor<3x16xf32> {betz.derived = "kv.matmul.2"}, %[[BIAS:[^ :]+]]: tensor<16xf32> {betz.derived = "kv.reshape"}, %[[I:[^ :]+]]: {{[^{]+}} {betz.input = "i"}, %[[J:[^ :]+]]: {{[^{]+}} {betz.input = "j"})
  // CHECK-NEXT: %[[S:.+]] = betz.gather_sum(%[[I]], %[[J]]) in(%[[T]], %[[U]])
  // CHECK-NEXT: %[[F:.+]] = betz.norm_scale layer %[[S]] {betz.section = "kv", eps = 1.000000e-05 : f64}
  // CHECK-NEXT: %[[P:.+]] = betz.gather_sum(%[[I]], %[[J]]) in(%[[PT]], %[[PU]]) {betz.section = "kv"} : {{.+}} -> tensor<?x16xf32
  // CHECK-NEXT: %[[Y:.+]] = betz.scale_rows %[[P]], %[[F]]
  // CHECK-NEXT: %[[Z:.+]] = betz.add %[[Y]], %[[BIAS]]
  // CHECK-NEXT: return %[[Z]]
  func.func @main(%t: tensor<5x64xf32> {betz.derived = "t"},
                  %u: tensor<3x64xf32> {betz.derived = "u"},
                  %g: tensor<64xf32> {betz.derived = "g"},
                  %b: tensor<64xf32> {betz.derived = "b"},
                  %w: tensor<16x64xf32> {betz.derived = "w"},
                  %i: !id {betz.input = "i"}, %j: !id {betz.input = "j"})
      -> (!result {betz.output = "y"}) {
    %s = betz.gather_sum (%i, %j) in (%t, %u)
        : (!id, !id, tensor<5x64xf32>, tensor<3x64xf32>) -> !tokens
    %n = betz.norm layer %s, %g, %b {eps = 1.0e-5 : f64}
        : (!tokens, tensor<64xf32>, tensor<64xf32>) -> !tokens
    %y = betz.matmul %n, %w {betz.section = "kv"}
        : (!tokens, tensor<16x64xf32>) -> !result
    return %y : !result
  }
}

// -----

!id = tensor<?xi32, #betz.rows<"events">>
!tokens = tensor<?x60xf32, #betz.rows<"events">>
!result = tensor<?x16xf32, #betz.rows<"events">>
!t = tensor<5x60xf32>
!g = tensor<60xf32>
!w = tensor<16x60xf32>

// Three reads of four bytes a column against sixty multiply-adds: just worth it.
module attributes {betz.phase = "model", betz.symbols = ["events"]} {
  // CHECK-LABEL: func @prepare
  // CHECK: betz.matmul
  func.func @prepare(%t: !t {betz.weight = "t"}, %g: !g {betz.weight = "g"},
                     %w: !w {betz.weight = "w"})
      -> (!t {betz.derived = "t"}, !g {betz.derived = "g"},
          !w {betz.derived = "w"}) {
    return %t, %g, %w : !t, !g, !w
  }
  // CHECK-LABEL: func @main
  // CHECK: betz.gather_sum
  // CHECK: betz.norm_scale
  // CHECK-NOT: betz.matmul
  func.func @main(%t: !t {betz.derived = "t"}, %g: !g {betz.derived = "g"},
                  %w: !w {betz.derived = "w"}, %i: !id {betz.input = "i"},
                  %tin: !t {betz.input = "tin"}, %gin: !g {betz.input = "gin"},
                  %win: !w {betz.input = "win"})
      -> (!result {betz.output = "y"}, !result {betz.output = "z"}) {
    %s = betz.gather_sum (%i, %i, %i) in (%t, %t, %t)
        : (!id, !id, !id, !t, !t, !t) -> !tokens
    %n = betz.norm rms %s, %g {eps = 1.0e-5 : f64}
        : (!tokens, !g) -> !tokens
    %y = betz.matmul %n, %w : (!tokens, !w) -> !result
    return %y, %y : !result, !result
  }
}

// -----

!id = tensor<?xi32, #betz.rows<"events">>
!tokens = tensor<?x59xf32, #betz.rows<"events">>
!result = tensor<?x16xf32, #betz.rows<"events">>
!t = tensor<5x59xf32>
!g = tensor<59xf32>
!w = tensor<16x59xf32>

// Fewer columns make the matmul the cheaper one.
module attributes {betz.phase = "model", betz.symbols = ["events"]} {
  // CHECK-LABEL: func @prepare
  // CHECK-NOT: betz.{{mul|matmul}}
  func.func @prepare(%t: !t {betz.weight = "t"}, %g: !g {betz.weight = "g"},
                     %w: !w {betz.weight = "w"})
      -> (!t {betz.derived = "t"}, !g {betz.derived = "g"},
          !w {betz.derived = "w"}) {
    return %t, %g, %w : !t, !g, !w
  }
  // CHECK-LABEL: func @main
  // CHECK: betz.gather_sum
  // CHECK-NOT: betz.gather_sum
  // CHECK: betz.norm rms
  // CHECK: betz.matmul
  func.func @main(%t: !t {betz.derived = "t"}, %g: !g {betz.derived = "g"},
                  %w: !w {betz.derived = "w"}, %i: !id {betz.input = "i"},
                  %tin: !t {betz.input = "tin"}, %gin: !g {betz.input = "gin"},
                  %win: !w {betz.input = "win"})
      -> (!result {betz.output = "y"}, !result {betz.output = "z"}) {
    %s = betz.gather_sum (%i, %i, %i) in (%t, %t, %t)
        : (!id, !id, !id, !t, !t, !t) -> !tokens
    %n = betz.norm rms %s, %g {eps = 1.0e-5 : f64}
        : (!tokens, !g) -> !tokens
    %y = betz.matmul %n, %w : (!tokens, !w) -> !result
    return %y, %y : !result, !result
  }
}

// -----

!id = tensor<?xi32, #betz.rows<"events">>
!tokens = tensor<?x64xf32, #betz.rows<"events">>
!result = tensor<?x16xf32, #betz.rows<"events">>
!t = tensor<16777217x64xf32>
!g = tensor<64xf32>
!w = tensor<16x64xf32>

// Projected tables beyond a GiB.
module attributes {betz.phase = "model", betz.symbols = ["events"]} {
  // CHECK-LABEL: func @prepare
  // CHECK-NOT: betz.{{mul|matmul}}
  func.func @prepare(%t: !t {betz.weight = "t"}, %g: !g {betz.weight = "g"},
                     %w: !w {betz.weight = "w"})
      -> (!t {betz.derived = "t"}, !g {betz.derived = "g"},
          !w {betz.derived = "w"}) {
    return %t, %g, %w : !t, !g, !w
  }
  // CHECK-LABEL: func @main
  // CHECK: betz.gather_sum
  // CHECK-NOT: betz.gather_sum
  // CHECK: betz.norm rms
  // CHECK: betz.matmul
  func.func @main(%t: !t {betz.derived = "t"}, %g: !g {betz.derived = "g"},
                  %w: !w {betz.derived = "w"}, %i: !id {betz.input = "i"},
                  %tin: !t {betz.input = "tin"}, %gin: !g {betz.input = "gin"},
                  %win: !w {betz.input = "win"})
      -> (!result {betz.output = "y"}, !result {betz.output = "z"}) {
    %s = betz.gather_sum (%i) in (%t)
        : (!id, !t) -> !tokens
    %n = betz.norm rms %s, %g {eps = 1.0e-5 : f64}
        : (!tokens, !g) -> !tokens
    %y = betz.matmul %n, %w : (!tokens, !w) -> !result
    return %y, %y : !result, !result
  }
}

// -----

!id = tensor<?xi32, #betz.rows<"events">>
!tokens = tensor<?x64xf32, #betz.rows<"events">>
!result = tensor<?x16xf32, #betz.rows<"events">>
!t = tensor<5x64xf32>
!g = tensor<64xf32>
!w = tensor<16x64xf32>

// The sum is read by something else.
module attributes {betz.phase = "model", betz.symbols = ["events"]} {
  // CHECK-LABEL: func @prepare
  // CHECK-NOT: betz.{{mul|matmul}}
  func.func @prepare(%t: !t {betz.weight = "t"}, %g: !g {betz.weight = "g"},
                     %w: !w {betz.weight = "w"})
      -> (!t {betz.derived = "t"}, !g {betz.derived = "g"},
          !w {betz.derived = "w"}) {
    return %t, %g, %w : !t, !g, !w
  }
  // CHECK-LABEL: func @main
  // CHECK: betz.gather_sum
  // CHECK-NOT: betz.gather_sum
  // CHECK: betz.norm rms
  // CHECK: betz.matmul
  func.func @main(%t: !t {betz.derived = "t"}, %g: !g {betz.derived = "g"},
                  %w: !w {betz.derived = "w"}, %i: !id {betz.input = "i"},
                  %tin: !t {betz.input = "tin"}, %gin: !g {betz.input = "gin"},
                  %win: !w {betz.input = "win"})
      -> (!result {betz.output = "y"}, !tokens {betz.output = "z"}) {
    %s = betz.gather_sum (%i) in (%t)
        : (!id, !t) -> !tokens
    %n = betz.norm rms %s, %g {eps = 1.0e-5 : f64}
        : (!tokens, !g) -> !tokens
    %y = betz.matmul %n, %w : (!tokens, !w) -> !result
    return %y, %s : !result, !tokens
  }
}

// -----

!id = tensor<?xi32, #betz.rows<"events">>
!tokens = tensor<?x64xf32, #betz.rows<"events">>
!result = tensor<?x16xf32, #betz.rows<"events">>
!t = tensor<5x64xf32>
!g = tensor<64xf32>
!w = tensor<16x64xf32>

// The norm is an output too.
module attributes {betz.phase = "model", betz.symbols = ["events"]} {
  // CHECK-LABEL: func @prepare
  // CHECK-NOT: betz.{{mul|matmul}}
  func.func @prepare(%t: !t {betz.weight = "t"}, %g: !g {betz.weight = "g"},
                     %w: !w {betz.weight = "w"})
      -> (!t {betz.derived = "t"}, !g {betz.derived = "g"},
          !w {betz.derived = "w"}) {
    return %t, %g, %w : !t, !g, !w
  }
  // CHECK-LABEL: func @main
  // CHECK: betz.gather_sum
  // CHECK-NOT: betz.gather_sum
  // CHECK: betz.norm rms
  // CHECK: betz.matmul
  func.func @main(%t: !t {betz.derived = "t"}, %g: !g {betz.derived = "g"},
                  %w: !w {betz.derived = "w"}, %i: !id {betz.input = "i"},
                  %tin: !t {betz.input = "tin"}, %gin: !g {betz.input = "gin"},
                  %win: !w {betz.input = "win"})
      -> (!result {betz.output = "y"}, !tokens {betz.output = "z"}) {
    %s = betz.gather_sum (%i) in (%t)
        : (!id, !t) -> !tokens
    %n = betz.norm rms %s, %g {eps = 1.0e-5 : f64}
        : (!tokens, !g) -> !tokens
    %y = betz.matmul %n, %w : (!tokens, !w) -> !result
    return %y, %n : !result, !tokens
  }
}

// -----

!id = tensor<?xi32, #betz.rows<"events">>
!tokens = tensor<?x64xf32, #betz.rows<"events">>
!result = tensor<?x16xf32, #betz.rows<"events">>
!t = tensor<5x64xf32>
!g = tensor<64xf32>
!w = tensor<16x64xf32>

// Two matmuls read the norm.
module attributes {betz.phase = "model", betz.symbols = ["events"]} {
  // CHECK-LABEL: func @prepare
  // CHECK-NOT: betz.{{mul|matmul}}
  func.func @prepare(%t: !t {betz.weight = "t"}, %g: !g {betz.weight = "g"},
                     %w: !w {betz.weight = "w"})
      -> (!t {betz.derived = "t"}, !g {betz.derived = "g"},
          !w {betz.derived = "w"}) {
    return %t, %g, %w : !t, !g, !w
  }
  // CHECK-LABEL: func @main
  // CHECK: betz.gather_sum
  // CHECK-NOT: betz.gather_sum
  // CHECK: betz.norm rms
  // CHECK: betz.matmul
  func.func @main(%t: !t {betz.derived = "t"}, %g: !g {betz.derived = "g"},
                  %w: !w {betz.derived = "w"}, %i: !id {betz.input = "i"},
                  %tin: !t {betz.input = "tin"}, %gin: !g {betz.input = "gin"},
                  %win: !w {betz.input = "win"})
      -> (!result {betz.output = "y"}, !result {betz.output = "z"}) {
    %s = betz.gather_sum (%i) in (%t)
        : (!id, !t) -> !tokens
    %n = betz.norm rms %s, %g {eps = 1.0e-5 : f64}
        : (!tokens, !g) -> !tokens
    %y = betz.matmul %n, %w : (!tokens, !w) -> !result
    %z = betz.matmul %n, %w : (!tokens, !w) -> !result
    return %y, %z : !result, !result
  }
}

// -----

!id = tensor<?xi32, #betz.rows<"events">>
!tokens = tensor<?x64xf32, #betz.rows<"events">>
!result = tensor<?x16xf32, #betz.rows<"events">>
!t = tensor<5x64xf32>
!g = tensor<64xf32>
!w = tensor<1x64x16xf32>

// The weight is packed.
module attributes {betz.phase = "model", betz.symbols = ["events"]} {
  // CHECK-LABEL: func @prepare
  // CHECK-NOT: betz.{{mul|matmul}}
  func.func @prepare(%t: !t {betz.weight = "t"}, %g: !g {betz.weight = "g"},
                     %w: !w {betz.weight = "w"})
      -> (!t {betz.derived = "t"}, !g {betz.derived = "g"},
          !w {betz.derived = "w"}) {
    return %t, %g, %w : !t, !g, !w
  }
  // CHECK-LABEL: func @main
  // CHECK: betz.gather_sum
  // CHECK-NOT: betz.gather_sum
  // CHECK: betz.norm rms
  // CHECK: betz.matmul
  func.func @main(%t: !t {betz.derived = "t"}, %g: !g {betz.derived = "g"},
                  %w: !w {betz.derived = "w"}, %i: !id {betz.input = "i"},
                  %tin: !t {betz.input = "tin"}, %gin: !g {betz.input = "gin"},
                  %win: !w {betz.input = "win"})
      -> (!result {betz.output = "y"}, !result {betz.output = "z"}) {
    %s = betz.gather_sum (%i) in (%t)
        : (!id, !t) -> !tokens
    %n = betz.norm rms %s, %g {eps = 1.0e-5 : f64}
        : (!tokens, !g) -> !tokens
    %y = betz.matmul %n, %w {columns = 16 : i64} : (!tokens, !w) -> !result
    return %y, %y : !result, !result
  }
}

// -----

!id = tensor<?xi32, #betz.rows<"events">>
!tokens = tensor<?x64xf32, #betz.rows<"events">>
!result = tensor<?x16xf32, #betz.rows<"events">>
!t = tensor<5x64xf32>
!g = tensor<64xf32>
!w = tensor<16x64xf32>

// The weight is an input.
module attributes {betz.phase = "model", betz.symbols = ["events"]} {
  // CHECK-LABEL: func @prepare
  // CHECK-NOT: betz.{{mul|matmul}}
  func.func @prepare(%t: !t {betz.weight = "t"}, %g: !g {betz.weight = "g"},
                     %w: !w {betz.weight = "w"})
      -> (!t {betz.derived = "t"}, !g {betz.derived = "g"},
          !w {betz.derived = "w"}) {
    return %t, %g, %w : !t, !g, !w
  }
  // CHECK-LABEL: func @main
  // CHECK: betz.gather_sum
  // CHECK-NOT: betz.gather_sum
  // CHECK: betz.norm rms
  // CHECK: betz.matmul
  func.func @main(%t: !t {betz.derived = "t"}, %g: !g {betz.derived = "g"},
                  %w: !w {betz.derived = "w"}, %i: !id {betz.input = "i"},
                  %tin: !t {betz.input = "tin"}, %gin: !g {betz.input = "gin"},
                  %win: !w {betz.input = "win"})
      -> (!result {betz.output = "y"}, !result {betz.output = "z"}) {
    %s = betz.gather_sum (%i) in (%t)
        : (!id, !t) -> !tokens
    %n = betz.norm rms %s, %g {eps = 1.0e-5 : f64}
        : (!tokens, !g) -> !tokens
    %y = betz.matmul %n, %win : (!tokens, !w) -> !result
    return %y, %y : !result, !result
  }
}

// -----

!id = tensor<?xi32, #betz.rows<"events">>
!tokens = tensor<?x64xf32, #betz.rows<"events">>
!result = tensor<?x16xf32, #betz.rows<"events">>
!t = tensor<5x64xf32>
!g = tensor<64xf32>
!w = tensor<16x64xf32>

// A table is an input.
module attributes {betz.phase = "model", betz.symbols = ["events"]} {
  // CHECK-LABEL: func @prepare
  // CHECK-NOT: betz.{{mul|matmul}}
  func.func @prepare(%t: !t {betz.weight = "t"}, %g: !g {betz.weight = "g"},
                     %w: !w {betz.weight = "w"})
      -> (!t {betz.derived = "t"}, !g {betz.derived = "g"},
          !w {betz.derived = "w"}) {
    return %t, %g, %w : !t, !g, !w
  }
  // CHECK-LABEL: func @main
  // CHECK: betz.gather_sum
  // CHECK-NOT: betz.gather_sum
  // CHECK: betz.norm rms
  // CHECK: betz.matmul
  func.func @main(%t: !t {betz.derived = "t"}, %g: !g {betz.derived = "g"},
                  %w: !w {betz.derived = "w"}, %i: !id {betz.input = "i"},
                  %tin: !t {betz.input = "tin"}, %gin: !g {betz.input = "gin"},
                  %win: !w {betz.input = "win"})
      -> (!result {betz.output = "y"}, !result {betz.output = "z"}) {
    %s = betz.gather_sum (%i) in (%tin)
        : (!id, !t) -> !tokens
    %n = betz.norm rms %s, %g {eps = 1.0e-5 : f64}
        : (!tokens, !g) -> !tokens
    %y = betz.matmul %n, %w : (!tokens, !w) -> !result
    return %y, %y : !result, !result
  }
}

// -----

!id = tensor<?xi32, #betz.rows<"events">>
!tokens = tensor<?x64xf32, #betz.rows<"events">>
!result = tensor<?x16xf32, #betz.rows<"events">>
!t = tensor<5x64xf32>
!g = tensor<64xf32>
!w = tensor<16x64xf32>

// The gain is an input.
module attributes {betz.phase = "model", betz.symbols = ["events"]} {
  // CHECK-LABEL: func @prepare
  // CHECK-NOT: betz.{{mul|matmul}}
  func.func @prepare(%t: !t {betz.weight = "t"}, %g: !g {betz.weight = "g"},
                     %w: !w {betz.weight = "w"})
      -> (!t {betz.derived = "t"}, !g {betz.derived = "g"},
          !w {betz.derived = "w"}) {
    return %t, %g, %w : !t, !g, !w
  }
  // CHECK-LABEL: func @main
  // CHECK: betz.gather_sum
  // CHECK-NOT: betz.gather_sum
  // CHECK: betz.norm rms
  // CHECK: betz.matmul
  func.func @main(%t: !t {betz.derived = "t"}, %g: !g {betz.derived = "g"},
                  %w: !w {betz.derived = "w"}, %i: !id {betz.input = "i"},
                  %tin: !t {betz.input = "tin"}, %gin: !g {betz.input = "gin"},
                  %win: !w {betz.input = "win"})
      -> (!result {betz.output = "y"}, !result {betz.output = "z"}) {
    %s = betz.gather_sum (%i) in (%t)
        : (!id, !t) -> !tokens
    %n = betz.norm rms %s, %gin {eps = 1.0e-5 : f64}
        : (!tokens, !g) -> !tokens
    %y = betz.matmul %n, %w : (!tokens, !w) -> !result
    return %y, %y : !result, !result
  }
}

// -----

!id = tensor<?xi32, #betz.rows<"events">>
!tokens = tensor<?x64xf32, #betz.rows<"events">>
!result = tensor<?x16xf32, #betz.rows<"events">>
!t = tensor<5x64xf32>
!g = tensor<64xf32>
!w = tensor<16x64xf32>

// The shift is an input.
module attributes {betz.phase = "model", betz.symbols = ["events"]} {
  // CHECK-LABEL: func @prepare
  // CHECK-NOT: betz.{{mul|matmul}}
  func.func @prepare(%t: !t {betz.weight = "t"}, %g: !g {betz.weight = "g"},
                     %w: !w {betz.weight = "w"})
      -> (!t {betz.derived = "t"}, !g {betz.derived = "g"},
          !w {betz.derived = "w"}) {
    return %t, %g, %w : !t, !g, !w
  }
  // CHECK-LABEL: func @main
  // CHECK: betz.gather_sum
  // CHECK-NOT: betz.gather_sum
  // CHECK: betz.norm rms
  // CHECK: betz.matmul
  func.func @main(%t: !t {betz.derived = "t"}, %g: !g {betz.derived = "g"},
                  %w: !w {betz.derived = "w"}, %i: !id {betz.input = "i"},
                  %tin: !t {betz.input = "tin"}, %gin: !g {betz.input = "gin"},
                  %win: !w {betz.input = "win"})
      -> (!result {betz.output = "y"}, !result {betz.output = "z"}) {
    %s = betz.gather_sum (%i) in (%t)
        : (!id, !t) -> !tokens
    %n = betz.norm rms %s, %g, %gin {eps = 1.0e-5 : f64}
        : (!tokens, !g, !g) -> !tokens
    %y = betz.matmul %n, %w : (!tokens, !w) -> !result
    return %y, %y : !result, !result
  }
}
