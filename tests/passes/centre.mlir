// RUN: betz-opt %s -betz-centre -split-input-file | FileCheck %s

!rows = tensor<?x8xf32, #betz.rows<"batch">>
!wide = tensor<?x12xf32, #betz.rows<"batch">>

// Every writer of the stream is centred: the rows of a matmul's weight, the
// columns of an addend. The norms lose their mean and keep gain and shift. A
// weight that others read too stays beside its centred form.
module attributes {betz.phase = "model", betz.symbols = ["batch"]} {
  // CHECK-LABEL: func @prepare
  // CHECK-SAME: (%[[IN:[^ :]+]]: tensor<8x12xf32> {betz.weight = "in"}, %[[LATENTS:[^ :]+]]: tensor<8xf32> {betz.weight = "latents"}, %[[G:[^ :]+]]: {{.+}} {betz.weight = "g"}, %[[B:[^ :]+]]: {{.+}} {betz.weight = "b"})
  // CHECK-DAG: %[[INC:.+]] = betz.subtract_mean %[[IN]] {betz.section = "blocks.0", dim = 0 : i64} : (tensor<8x12xf32>)
  // CHECK-DAG: %[[LC:.+]] = betz.subtract_mean %[[LATENTS]] {dim = 0 : i64} : (tensor<8xf32>)
  // CHECK-NOT: betz.subtract_mean
  // CHECK: return
  func.func @prepare(%in: tensor<8x12xf32> {betz.weight = "in"},
                     %latents: tensor<8xf32> {betz.weight = "latents"},
                     %g: tensor<8xf32> {betz.weight = "g"},
                     %b: tensor<8xf32> {betz.weight = "b"})
      -> (tensor<8x12xf32> {betz.derived = "in"},
          tensor<8xf32> {betz.derived = "latents"},
          tensor<8xf32> {betz.derived = "g"},
          tensor<8xf32> {betz.derived = "b"}) {
    return %in, %latents, %g, %b : tensor<8x12xf32>, tensor<8xf32>,
                                   tensor<8xf32>, tensor<8xf32>
  }
  // CHECK-LABEL: func @main
  // CHECK-DAG: %[[INC:[^ :(]+]]: tensor<8x12xf32> {betz.derived = "blocks.0.subtract_mean"}
  // CHECK-DAG: %[[LC:[^ :(]+]]: tensor<8xf32> {betz.derived = "subtract_mean"}
  // CHECK-DAG: %[[INPLAIN:[^ :(]+]]: tensor<8x12xf32> {betz.derived = "in"}
  // CHECK: %[[A:.+]] = betz.matmul %[[X:[^,]+]], %[[INC]]
  // CHECK: %[[S:.+]] = betz.add %[[A]], %[[LC]]
  // CHECK: %[[N:.+]] = betz.norm rms %[[S]], %[[G:[^,]+]], %[[B:[^ ]+]] {eps = 1.000000e-05 : f64}
  // CHECK: %[[C:.+]] = betz.matmul %[[X]], %[[INC]]
  // CHECK: %[[T:.+]] = betz.add %[[S]], %[[C]]
  // CHECK: %[[M:.+]] = betz.norm rms %[[T]], %[[G]] {eps = 2.500000e-01 : f64}
  // CHECK: %[[P:.+]] = betz.matmul %[[X]], %[[INPLAIN]]
  // CHECK: return %[[N]], %[[M]], %[[P]]
  func.func @main(%in: tensor<8x12xf32> {betz.derived = "in"},
                  %latents: tensor<8xf32> {betz.derived = "latents"},
                  %g: tensor<8xf32> {betz.derived = "g"},
                  %b: tensor<8xf32> {betz.derived = "b"},
                  %x: !wide {betz.input = "x"})
      -> (!rows {betz.output = "n"}, !rows {betz.output = "m"},
          !rows {betz.output = "p"}) {
    %a = betz.matmul %x, %in {betz.section = "blocks.0"}
        : (!wide, tensor<8x12xf32>) -> !rows
    %s = betz.add %a, %latents : (!rows, tensor<8xf32>) -> !rows
    %n = betz.norm layer %s, %g, %b {eps = 1.0e-5 : f64}
        : (!rows, tensor<8xf32>, tensor<8xf32>) -> !rows
    %c = betz.matmul %x, %in : (!wide, tensor<8x12xf32>) -> !rows
    %t = betz.add %s, %c : (!rows, !rows) -> !rows
    %m = betz.norm layer %t, %g {eps = 0.25 : f64}
        : (!rows, tensor<8xf32>) -> !rows
    %p = betz.matmul %x, %in : (!wide, tensor<8x12xf32>) -> !rows
    return %n, %m, %p : !rows, !rows, !rows
  }
}

// -----

!tokens = tensor<?x8xf32, #betz.rows<"events">>
!id = tensor<?xi32, #betz.rows<"events">>

// The rows of gathered tables.
module attributes {betz.phase = "model", betz.symbols = ["events"]} {
  // CHECK-LABEL: func @prepare
  // CHECK: betz.subtract_mean %{{.+}} {dim = 1 : i64} : (tensor<5x8xf32>)
  // CHECK: betz.subtract_mean %{{.+}} {dim = 1 : i64} : (tensor<3x8xf32>)
  func.func @prepare(%t: tensor<5x8xf32> {betz.weight = "t"},
                     %u: tensor<3x8xf32> {betz.weight = "u"},
                     %g: tensor<8xf32> {betz.weight = "g"})
      -> (tensor<5x8xf32> {betz.derived = "t"},
          tensor<3x8xf32> {betz.derived = "u"},
          tensor<8xf32> {betz.derived = "g"}) {
    return %t, %u, %g : tensor<5x8xf32>, tensor<3x8xf32>, tensor<8xf32>
  }
  // CHECK-LABEL: func @main
  // CHECK-SAME: (%[[T:[^ :]+]]: tensor<5x8xf32> {betz.derived = "subtract_mean"}, %[[U:[^ :]+]]: tensor<3x8xf32> {betz.derived = "subtract_mean.2"},
  // CHECK: betz.gather_sum(%{{.+}}, %{{.+}}) in(%[[T]], %[[U]])
  // CHECK: betz.norm rms
  func.func @main(%t: tensor<5x8xf32> {betz.derived = "t"},
                  %u: tensor<3x8xf32> {betz.derived = "u"},
                  %g: tensor<8xf32> {betz.derived = "g"},
                  %i: !id {betz.input = "i"}, %j: !id {betz.input = "j"})
      -> (!tokens {betz.output = "n"}) {
    %s = betz.gather_sum (%i, %j) in (%t, %u)
        : (!id, !id, tensor<5x8xf32>, tensor<3x8xf32>) -> !tokens
    %n = betz.norm layer %s, %g {eps = 1.0e-5 : f64}
        : (!tokens, tensor<8xf32>) -> !tokens
    return %n : !tokens
  }
}

// -----

!rows = tensor<?x8xf32, #betz.rows<"batch">>

// The stream is an output too.
module attributes {betz.phase = "model", betz.symbols = ["batch"]} {
  // CHECK-LABEL: func @prepare
  // CHECK-NOT: betz.subtract_mean
  func.func @prepare(%w: tensor<8x8xf32> {betz.weight = "w"},
                     %g: tensor<8xf32> {betz.weight = "g"},
                     %one: tensor<f32> {betz.weight = "one"})
      -> (tensor<8x8xf32> {betz.derived = "w"},
          tensor<8xf32> {betz.derived = "g"},
          tensor<f32> {betz.derived = "one"}) {
    return %w, %g, %one : tensor<8x8xf32>, tensor<8xf32>, tensor<f32>
  }
  // CHECK-LABEL: func @main
  // CHECK: betz.norm layer
  func.func @main(%w: tensor<8x8xf32> {betz.derived = "w"},
                  %g: tensor<8xf32> {betz.derived = "g"},
                  %one: tensor<f32> {betz.derived = "one"},
                  %x: !rows {betz.input = "x"},
                  %v: tensor<8x8xf32> {betz.input = "v"})
      -> (!rows {betz.output = "a"}, !rows {betz.output = "b"}) {
    %s = betz.matmul %x, %w : (!rows, tensor<8x8xf32>) -> !rows
    %n = betz.norm layer %s, %g {eps = 1.0e-5 : f64}
        : (!rows, tensor<8xf32>) -> !rows
    return %n, %s : !rows, !rows
  }
}

// -----

!rows = tensor<?x8xf32, #betz.rows<"batch">>

// An elementwise op reads the stream.
module attributes {betz.phase = "model", betz.symbols = ["batch"]} {
  // CHECK-LABEL: func @prepare
  // CHECK-NOT: betz.subtract_mean
  func.func @prepare(%w: tensor<8x8xf32> {betz.weight = "w"},
                     %g: tensor<8xf32> {betz.weight = "g"},
                     %one: tensor<f32> {betz.weight = "one"})
      -> (tensor<8x8xf32> {betz.derived = "w"},
          tensor<8xf32> {betz.derived = "g"},
          tensor<f32> {betz.derived = "one"}) {
    return %w, %g, %one : tensor<8x8xf32>, tensor<8xf32>, tensor<f32>
  }
  // CHECK-LABEL: func @main
  // CHECK: betz.norm layer
  func.func @main(%w: tensor<8x8xf32> {betz.derived = "w"},
                  %g: tensor<8xf32> {betz.derived = "g"},
                  %one: tensor<f32> {betz.derived = "one"},
                  %x: !rows {betz.input = "x"},
                  %v: tensor<8x8xf32> {betz.input = "v"})
      -> (!rows {betz.output = "a"}, !rows {betz.output = "b"}) {
    %s = betz.matmul %x, %w : (!rows, tensor<8x8xf32>) -> !rows
    %n = betz.norm layer %s, %g {eps = 1.0e-5 : f64}
        : (!rows, tensor<8xf32>) -> !rows
    %m = betz.gelu %s : (!rows) -> !rows
    return %n, %m : !rows, !rows
  }
}

// -----

!rows = tensor<?x8xf32, #betz.rows<"batch">>

// A matmul reads it.
module attributes {betz.phase = "model", betz.symbols = ["batch"]} {
  // CHECK-LABEL: func @prepare
  // CHECK-NOT: betz.subtract_mean
  func.func @prepare(%w: tensor<8x8xf32> {betz.weight = "w"},
                     %g: tensor<8xf32> {betz.weight = "g"},
                     %one: tensor<f32> {betz.weight = "one"})
      -> (tensor<8x8xf32> {betz.derived = "w"},
          tensor<8xf32> {betz.derived = "g"},
          tensor<f32> {betz.derived = "one"}) {
    return %w, %g, %one : tensor<8x8xf32>, tensor<8xf32>, tensor<f32>
  }
  // CHECK-LABEL: func @main
  // CHECK: betz.norm layer
  func.func @main(%w: tensor<8x8xf32> {betz.derived = "w"},
                  %g: tensor<8xf32> {betz.derived = "g"},
                  %one: tensor<f32> {betz.derived = "one"},
                  %x: !rows {betz.input = "x"},
                  %v: tensor<8x8xf32> {betz.input = "v"})
      -> (!rows {betz.output = "a"}, !rows {betz.output = "b"}) {
    %s = betz.matmul %x, %w : (!rows, tensor<8x8xf32>) -> !rows
    %n = betz.norm layer %s, %g {eps = 1.0e-5 : f64}
        : (!rows, tensor<8xf32>) -> !rows
    %m = betz.matmul %s, %w : (!rows, tensor<8x8xf32>) -> !rows
    return %n, %m : !rows, !rows
  }
}

// -----

!rows = tensor<?x8xf32, #betz.rows<"batch">>

// An rms norm reads it: its mean square would change.
module attributes {betz.phase = "model", betz.symbols = ["batch"]} {
  // CHECK-LABEL: func @prepare
  // CHECK-NOT: betz.subtract_mean
  func.func @prepare(%w: tensor<8x8xf32> {betz.weight = "w"},
                     %g: tensor<8xf32> {betz.weight = "g"},
                     %one: tensor<f32> {betz.weight = "one"})
      -> (tensor<8x8xf32> {betz.derived = "w"},
          tensor<8xf32> {betz.derived = "g"},
          tensor<f32> {betz.derived = "one"}) {
    return %w, %g, %one : tensor<8x8xf32>, tensor<8xf32>, tensor<f32>
  }
  // CHECK-LABEL: func @main
  // CHECK: betz.norm layer
  func.func @main(%w: tensor<8x8xf32> {betz.derived = "w"},
                  %g: tensor<8xf32> {betz.derived = "g"},
                  %one: tensor<f32> {betz.derived = "one"},
                  %x: !rows {betz.input = "x"},
                  %v: tensor<8x8xf32> {betz.input = "v"})
      -> (!rows {betz.output = "a"}, !rows {betz.output = "b"}) {
    %s = betz.matmul %x, %w : (!rows, tensor<8x8xf32>) -> !rows
    %n = betz.norm layer %s, %g {eps = 1.0e-5 : f64}
        : (!rows, tensor<8xf32>) -> !rows
    // CHECK: betz.norm rms
    %m = betz.norm rms %s, %g {eps = 1.0e-5 : f64}
        : (!rows, tensor<8xf32>) -> !rows
    return %n, %m : !rows, !rows
  }
}

// -----

!rows = tensor<?x8xf32, #betz.rows<"batch">>

// A sum further on is read by something else.
module attributes {betz.phase = "model", betz.symbols = ["batch"]} {
  // CHECK-LABEL: func @prepare
  // CHECK-NOT: betz.subtract_mean
  func.func @prepare(%w: tensor<8x8xf32> {betz.weight = "w"},
                     %g: tensor<8xf32> {betz.weight = "g"},
                     %one: tensor<f32> {betz.weight = "one"})
      -> (tensor<8x8xf32> {betz.derived = "w"},
          tensor<8xf32> {betz.derived = "g"},
          tensor<f32> {betz.derived = "one"}) {
    return %w, %g, %one : tensor<8x8xf32>, tensor<8xf32>, tensor<f32>
  }
  // CHECK-LABEL: func @main
  // CHECK: betz.norm layer
  func.func @main(%w: tensor<8x8xf32> {betz.derived = "w"},
                  %g: tensor<8xf32> {betz.derived = "g"},
                  %one: tensor<f32> {betz.derived = "one"},
                  %x: !rows {betz.input = "x"},
                  %v: tensor<8x8xf32> {betz.input = "v"})
      -> (!rows {betz.output = "a"}, !rows {betz.output = "b"}) {
    %s = betz.matmul %x, %w : (!rows, tensor<8x8xf32>) -> !rows
    %n = betz.norm layer %s, %g {eps = 1.0e-5 : f64}
        : (!rows, tensor<8xf32>) -> !rows
    %t = betz.add %s, %x : (!rows, !rows) -> !rows
    %m = betz.gelu %t : (!rows) -> !rows
    return %n, %m : !rows, !rows
  }
}

// -----

!rows = tensor<?x8xf32, #betz.rows<"batch">>

// An input writes it.
module attributes {betz.phase = "model", betz.symbols = ["batch"]} {
  // CHECK-LABEL: func @prepare
  // CHECK-NOT: betz.subtract_mean
  func.func @prepare(%w: tensor<8x8xf32> {betz.weight = "w"},
                     %g: tensor<8xf32> {betz.weight = "g"},
                     %one: tensor<f32> {betz.weight = "one"})
      -> (tensor<8x8xf32> {betz.derived = "w"},
          tensor<8xf32> {betz.derived = "g"},
          tensor<f32> {betz.derived = "one"}) {
    return %w, %g, %one : tensor<8x8xf32>, tensor<8xf32>, tensor<f32>
  }
  // CHECK-LABEL: func @main
  // CHECK: betz.norm layer
  func.func @main(%w: tensor<8x8xf32> {betz.derived = "w"},
                  %g: tensor<8xf32> {betz.derived = "g"},
                  %one: tensor<f32> {betz.derived = "one"},
                  %x: !rows {betz.input = "x"},
                  %v: tensor<8x8xf32> {betz.input = "v"})
      -> (!rows {betz.output = "a"}, !rows {betz.output = "b"}) {
    %s = betz.add %x, %x : (!rows, !rows) -> !rows
    %n = betz.norm layer %s, %g {eps = 1.0e-5 : f64}
        : (!rows, tensor<8xf32>) -> !rows
    return %n, %n : !rows, !rows
  }
}

// -----

!rows = tensor<?x8xf32, #betz.rows<"batch">>

// An elementwise op writes it.
module attributes {betz.phase = "model", betz.symbols = ["batch"]} {
  // CHECK-LABEL: func @prepare
  // CHECK-NOT: betz.subtract_mean
  func.func @prepare(%w: tensor<8x8xf32> {betz.weight = "w"},
                     %g: tensor<8xf32> {betz.weight = "g"},
                     %one: tensor<f32> {betz.weight = "one"})
      -> (tensor<8x8xf32> {betz.derived = "w"},
          tensor<8xf32> {betz.derived = "g"},
          tensor<f32> {betz.derived = "one"}) {
    return %w, %g, %one : tensor<8x8xf32>, tensor<8xf32>, tensor<f32>
  }
  // CHECK-LABEL: func @main
  // CHECK: betz.norm layer
  func.func @main(%w: tensor<8x8xf32> {betz.derived = "w"},
                  %g: tensor<8xf32> {betz.derived = "g"},
                  %one: tensor<f32> {betz.derived = "one"},
                  %x: !rows {betz.input = "x"},
                  %v: tensor<8x8xf32> {betz.input = "v"})
      -> (!rows {betz.output = "a"}, !rows {betz.output = "b"}) {
    %s = betz.gelu %x : (!rows) -> !rows
    %n = betz.norm layer %s, %g {eps = 1.0e-5 : f64}
        : (!rows, tensor<8xf32>) -> !rows
    return %n, %n : !rows, !rows
  }
}

// -----

!rows = tensor<?x8xf32, #betz.rows<"batch">>

// The matmul's weight is no derived value.
module attributes {betz.phase = "model", betz.symbols = ["batch"]} {
  // CHECK-LABEL: func @prepare
  // CHECK-NOT: betz.subtract_mean
  func.func @prepare(%w: tensor<8x8xf32> {betz.weight = "w"},
                     %g: tensor<8xf32> {betz.weight = "g"},
                     %one: tensor<f32> {betz.weight = "one"})
      -> (tensor<8x8xf32> {betz.derived = "w"},
          tensor<8xf32> {betz.derived = "g"},
          tensor<f32> {betz.derived = "one"}) {
    return %w, %g, %one : tensor<8x8xf32>, tensor<8xf32>, tensor<f32>
  }
  // CHECK-LABEL: func @main
  // CHECK: betz.norm layer
  func.func @main(%w: tensor<8x8xf32> {betz.derived = "w"},
                  %g: tensor<8xf32> {betz.derived = "g"},
                  %one: tensor<f32> {betz.derived = "one"},
                  %x: !rows {betz.input = "x"},
                  %v: tensor<8x8xf32> {betz.input = "v"})
      -> (!rows {betz.output = "a"}, !rows {betz.output = "b"}) {
    %s = betz.matmul %x, %v : (!rows, tensor<8x8xf32>) -> !rows
    %n = betz.norm layer %s, %g {eps = 1.0e-5 : f64}
        : (!rows, tensor<8xf32>) -> !rows
    return %n, %n : !rows, !rows
  }
}

// -----

!rows = tensor<?x8xf32, #betz.rows<"batch">>

// The weight is packed.
module attributes {betz.phase = "model", betz.symbols = ["batch"]} {
  // CHECK-LABEL: func @prepare
  // CHECK-NOT: betz.subtract_mean
  func.func @prepare(%w: tensor<1x8x16xf32> {betz.weight = "w"},
                     %g: tensor<8xf32> {betz.weight = "g"},
                     %one: tensor<f32> {betz.weight = "one"})
      -> (tensor<1x8x16xf32> {betz.derived = "w"},
          tensor<8xf32> {betz.derived = "g"},
          tensor<f32> {betz.derived = "one"}) {
    return %w, %g, %one : tensor<1x8x16xf32>, tensor<8xf32>, tensor<f32>
  }
  // CHECK-LABEL: func @main
  // CHECK: betz.norm layer
  func.func @main(%w: tensor<1x8x16xf32> {betz.derived = "w"},
                  %g: tensor<8xf32> {betz.derived = "g"},
                  %one: tensor<f32> {betz.derived = "one"},
                  %x: !rows {betz.input = "x"},
                  %v: tensor<8x8xf32> {betz.input = "v"})
      -> (!rows {betz.output = "a"}, !rows {betz.output = "b"}) {
    %s = betz.matmul %x, %w {columns = 8 : i64}
        : (!rows, tensor<1x8x16xf32>) -> !rows
    %n = betz.norm layer %s, %g {eps = 1.0e-5 : f64}
        : (!rows, tensor<8xf32>) -> !rows
    return %n, %n : !rows, !rows
  }
}

// -----

!rows = tensor<?x8xf32, #betz.rows<"batch">>

// One number is added to all columns.
module attributes {betz.phase = "model", betz.symbols = ["batch"]} {
  // CHECK-LABEL: func @prepare
  // CHECK-NOT: betz.subtract_mean
  func.func @prepare(%w: tensor<8x8xf32> {betz.weight = "w"},
                     %g: tensor<8xf32> {betz.weight = "g"},
                     %one: tensor<f32> {betz.weight = "one"})
      -> (tensor<8x8xf32> {betz.derived = "w"},
          tensor<8xf32> {betz.derived = "g"},
          tensor<f32> {betz.derived = "one"}) {
    return %w, %g, %one : tensor<8x8xf32>, tensor<8xf32>, tensor<f32>
  }
  // CHECK-LABEL: func @main
  // CHECK: betz.norm layer
  func.func @main(%w: tensor<8x8xf32> {betz.derived = "w"},
                  %g: tensor<8xf32> {betz.derived = "g"},
                  %one: tensor<f32> {betz.derived = "one"},
                  %x: !rows {betz.input = "x"},
                  %v: tensor<8x8xf32> {betz.input = "v"})
      -> (!rows {betz.output = "a"}, !rows {betz.output = "b"}) {
    %r = betz.matmul %x, %w : (!rows, tensor<8x8xf32>) -> !rows
    %s = betz.add %r, %one : (!rows, tensor<f32>) -> !rows
    %n = betz.norm layer %s, %g {eps = 1.0e-5 : f64}
        : (!rows, tensor<8xf32>) -> !rows
    return %n, %n : !rows, !rows
  }
}
