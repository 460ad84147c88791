// RUN: betz-opt %s -betz-hoist -split-input-file | FileCheck %s

!latents = tensor<24x64xf32>
!states = tensor<?x5x64xf32, #betz.rows<"batch">>
!result = tensor<?x24x64xf32, #betz.rows<"batch">>

// The norm and the projection of the latents move, what reads an input stays.
// Of the weights only those that @main still reads are handed on, in the order
// in which it reads them.
module attributes {betz.phase = "model", betz.symbols = ["batch"]} {
  // CHECK-LABEL: func @prepare
  // CHECK-SAME: (%[[LATENTS:[^ :]+]]: tensor<24x64xf32> {betz.weight = "latents"}, %[[G:[^ :]+]]: tensor<64xf32> {betz.weight = "g"}, %[[W:[^ :]+]]: tensor<64x64xf32> {betz.weight = "w"})
  // CHECK-SAME: -> (tensor<24x64xf32> {betz.derived = "cross_attn.matmul"}, tensor<24x64xf32> {betz.derived = "latents"})
  // CHECK: %[[N:.+]] = betz.norm rms %[[LATENTS]], %[[G]]
  // CHECK: %[[Q:.+]] = betz.matmul %[[N]], %[[W]]
  // CHECK: return %[[Q]], %[[LATENTS]]
  func.func @prepare(%latents: !latents {betz.weight = "latents"},
                     %g: tensor<64xf32> {betz.weight = "g"},
                     %w: tensor<64x64xf32> {betz.weight = "w"})
      -> (!latents {betz.derived = "latents"},
          tensor<64xf32> {betz.derived = "g"},
          tensor<64x64xf32> {betz.derived = "w"}) {
    return %latents, %g, %w : !latents, tensor<64xf32>, tensor<64x64xf32>
  }
  // CHECK-LABEL: func @main
  // CHECK-SAME: (%[[Q:[^ :]+]]: tensor<24x64xf32> {betz.derived = "cross_attn.matmul"}, %[[LATENTS:[^ :]+]]: tensor<24x64xf32> {betz.derived = "latents"}, %[[K:[^ :]+]]: tensor<?x5x64xf32, #betz.rows<"batch">> {betz.input = "k"})
  // CHECK-NEXT: %[[A:.+]] = betz.attention %[[Q]], %[[K]], %[[K]]
  // CHECK-NEXT: %[[R:.+]] = betz.add %[[A]], %[[LATENTS]]
  // CHECK-NEXT: return %[[R]]
  func.func @main(%latents: !latents {betz.derived = "latents"},
                  %g: tensor<64xf32> {betz.derived = "g"},
                  %w: tensor<64x64xf32> {betz.derived = "w"},
                  %k: !states {betz.input = "k"})
      -> (!result {betz.output = "out"}) {
    %n = betz.norm rms %latents, %g {betz.section = "cross_attn",
                                     eps = 1.0e-5 : f64}
        : (!latents, tensor<64xf32>) -> !latents
    %q = betz.matmul %n, %w {betz.section = "cross_attn"}
        : (!latents, tensor<64x64xf32>) -> !latents
    %a = betz.attention %q, %k, %k
        {heads = 4 : i64, kv_heads = 4 : i64, scale = 0.25 : f64}
        : (!latents, !states, !states) -> !result
    %r = betz.add %a, %latents : (!result, !latents) -> !result
    return %r : !result
  }
}

// -----

!rows = tensor<?x8xf32, #betz.rows<"batch">>

// Ops without operands, views and chains move too. New names stand beside each
// other and beside a weight of that name.
module attributes {betz.phase = "model", betz.symbols = ["batch"]} {
  // CHECK-LABEL: func @prepare
  // CHECK-SAME: -> (tensor<8xf32> {betz.derived = "head.slice"}, tensor<8xf32> {betz.derived = "head.slice.2"}, tensor<8xf32> {betz.derived = "head.gelu.2"}, tensor<8xf32> {betz.derived = "head.gelu"})
  // CHECK-DAG: betz.slice %{{.+}} {{.*}}offset = 0
  // CHECK-DAG: betz.slice %{{.+}} {{.*}}offset = 8
  // CHECK-DAG: betz.gelu
  // CHECK: return
  func.func @prepare(%w: tensor<16xf32> {betz.weight = "w"},
                     %u: tensor<8xf32> {betz.weight = "head.gelu"})
      -> (tensor<16xf32> {betz.derived = "w"},
          tensor<8xf32> {betz.derived = "head.gelu"}) {
    return %w, %u : tensor<16xf32>, tensor<8xf32>
  }
  // CHECK-LABEL: func @main
  // CHECK-SAME: (%[[A:[^ :]+]]: tensor<8xf32> {betz.derived = "head.slice"}, %[[B:[^ :]+]]: tensor<8xf32> {betz.derived = "head.slice.2"}, %[[C:[^ :]+]]: tensor<8xf32> {betz.derived = "head.gelu.2"}, %[[U:[^ :]+]]: tensor<8xf32> {betz.derived = "head.gelu"}, %[[X:[^ :]+]]: tensor<?x8xf32, #betz.rows<"batch">> {betz.input = "x"})
  // CHECK-NEXT: %[[XA:.+]] = betz.add %[[X]], %[[A]]
  // CHECK-NEXT: %[[XB:.+]] = betz.add %[[XA]], %[[B]]
  // CHECK-NEXT: %[[XC:.+]] = betz.mul %[[XB]], %[[C]]
  // CHECK-NEXT: %[[XU:.+]] = betz.mul %[[XC]], %[[U]]
  // CHECK-NEXT: %[[Y:.+]] = betz.add %[[XU]], %[[A]]
  // CHECK-NEXT: return %[[Y]]
  func.func @main(%w: tensor<16xf32> {betz.derived = "w"},
                  %u: tensor<8xf32> {betz.derived = "head.gelu"},
                  %x: !rows {betz.input = "x"})
      -> (!rows {betz.output = "out"}) {
    %a = betz.slice %w {betz.section = "head", offset = 0 : i64}
        : (tensor<16xf32>) -> tensor<8xf32>
    %b = betz.slice %w {betz.section = "head", offset = 8 : i64}
        : (tensor<16xf32>) -> tensor<8xf32>
    %c = betz.gelu %b {betz.section = "head"} : (tensor<8xf32>) -> tensor<8xf32>
    %xa = betz.add %x, %a : (!rows, tensor<8xf32>) -> !rows
    %xb = betz.add %xa, %b : (!rows, tensor<8xf32>) -> !rows
    %xc = betz.mul %xb, %c : (!rows, tensor<8xf32>) -> !rows
    %xu = betz.mul %xc, %u : (!rows, tensor<8xf32>) -> !rows
    %y = betz.add %xu, %a : (!rows, tensor<8xf32>) -> !rows
    return %y : !rows
  }
}

// -----

// Bounds depend on no weight either.
module attributes {betz.phase = "model", betz.symbols = ["batch", "events"]} {
  // CHECK-LABEL: func @prepare
  // CHECK-SAME: () -> (tensor<6x2xi32> {betz.derived = "reach_bounds"})
  // CHECK: betz.reach_bounds
  func.func @prepare() {
    return
  }
  // CHECK-LABEL: func @main
  // CHECK-SAME: (%[[BOUNDS:[^ :]+]]: tensor<6x2xi32> {betz.derived = "reach_bounds"}
  // CHECK-NOT: betz.reach_bounds
  // CHECK: betz.attention {{.*}} bounds %{{.+}}, %[[BOUNDS]]
  func.func @main(%q: tensor<6x8xf32> {betz.input = "q"},
                  %k: tensor<?x8xf32, #betz.rows<"events">> {betz.input = "k"},
                  %t: tensor<?xi32, #betz.rows<"events">> {betz.input = "t"},
                  %s: tensor<?xi32, #betz.rows<"batch" + 1>> {betz.input = "s"})
      -> (tensor<?x6x8xf32, #betz.rows<"batch">> {betz.output = "out"}) {
    %b = betz.reach_bounds {span = 12.0 : f64, reach = 2.0 : f64}
        : () -> tensor<6x2xi32>
    %a = betz.attention %q, %k, %k splits %s bounds %t, %b
        {heads = 1 : i64, kv_heads = 1 : i64, scale = 1.0 : f64}
        : (tensor<6x8xf32>, tensor<?x8xf32, #betz.rows<"events">>,
           tensor<?x8xf32, #betz.rows<"events">>,
           tensor<?xi32, #betz.rows<"batch" + 1>>,
           tensor<?xi32, #betz.rows<"events">>, tensor<6x2xi32>)
        -> tensor<?x6x8xf32, #betz.rows<"batch">>
    return %a : tensor<?x6x8xf32, #betz.rows<"batch">>
  }
}
