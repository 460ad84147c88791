// RUN: betz-opt %s -betz-verify-model -verify-diagnostics -split-input-file

!x = tensor<?x4xf32, #betz.rows<"batch">>

// A legal model: nothing is said.
module attributes {betz.phase = "model", betz.symbols = ["batch"],
                   betz.metadata = {bin = "20"}} {
  func.func @prepare(%w: tensor<4xf32> {betz.weight = "w"})
      -> (tensor<4xf32> {betz.derived = "w"}) {
    return %w : tensor<4xf32>
  }
  func.func @main(%w: tensor<4xf32> {betz.derived = "w"},
                  %x: !x {betz.input = "x"}) -> (!x {betz.output = "out"}) {
    %y = betz.mul %x, %w : (!x, tensor<4xf32>) -> !x
    return %y : !x
  }
}

// -----

// expected-error @+1 {{betz.phase must be "model"}}
module attributes {betz.symbols = []} {}

// -----

// expected-error @+1 {{betz.phase must be "model"}}
module attributes {betz.phase = "kernels", betz.symbols = []} {}

// -----

// expected-error @+1 {{betz.symbols must list the symbols of dynamic dimensions}}
module attributes {betz.phase = "model"} {}

// -----

// expected-error @+1 {{betz.metadata must map names to JSON text}}
module attributes {betz.phase = "model", betz.symbols = [],
                   betz.metadata = "bin"} {}

// -----

// expected-error @+1 {{betz.metadata must map names to JSON text}}
module attributes {betz.phase = "model", betz.symbols = [],
                   betz.metadata = {bin = 20 : i64}} {}

// -----

// expected-error @+1 {{the module needs a function @prepare}}
module attributes {betz.phase = "model", betz.symbols = []} {}

// -----

// expected-error @+1 {{the module needs a function @main}}
module attributes {betz.phase = "model", betz.symbols = []} {
  func.func @prepare() {
    return
  }
}

// -----

// expected-error @+1 {{the module needs a function @main}}
module attributes {betz.phase = "model", betz.symbols = []} {
  func.func @prepare() {
    return
  }
  func.func private @main()
}

// -----

// expected-error @+1 {{only @prepare and @main may stand in a module}}
module attributes {betz.phase = "model", betz.symbols = []} {
  func.func @prepare() {
    return
  }
  func.func @main() {
    return
  }
  func.func @third() {
    return
  }
}

// -----

module attributes {betz.phase = "model", betz.symbols = []} {
  // expected-error @+1 {{only @prepare and @main may stand in a module}}
  module {
  }
}

// -----

module attributes {betz.phase = "model", betz.symbols = []} {
  // expected-error @+1 {{must have one block}}
  func.func @prepare() {
    return
  ^bb1:
    return
  }
  func.func @main() {
    return
  }
}

// -----

// expected-error @+1 {{betz.symbols must be distinct names}}
module attributes {betz.phase = "model", betz.symbols = ["batch", "batch"]} {
  func.func @prepare() {
    return
  }
  func.func @main() {
    return
  }
}

// -----

// expected-error @+1 {{betz.symbols must be distinct names}}
module attributes {betz.phase = "model", betz.symbols = [1 : i64]} {
  func.func @prepare() {
    return
  }
  func.func @main() {
    return
  }
}

// -----

module attributes {betz.phase = "model", betz.symbols = []} {
  func.func @prepare() {
    return
  }
  // expected-error @+1 {{only ranked tensors are supported, not 'i32'}}
  func.func @main(%x: i32 {betz.input = "x"}) {
    return
  }
}

// -----

module attributes {betz.phase = "model", betz.symbols = ["batch"]} {
  func.func @prepare() {
    return
  }
  // expected-error @+1 {{only the leading dimension may be dynamic: 'tensor<4x?xf32>'}}
  func.func @main(%x: tensor<4x?xf32> {betz.input = "x"}) {
    return
  }
}

// -----

module attributes {betz.phase = "model", betz.symbols = ["batch"]} {
  func.func @prepare() {
    return
  }
  // expected-error @+1 {{a dynamic dimension needs #betz.rows with one of betz.symbols: 'tensor<?xf32>'}}
  func.func @main(%x: tensor<?xf32> {betz.input = "x"}) {
    return
  }
}

// -----

module attributes {betz.phase = "model", betz.symbols = ["batch"]} {
  func.func @prepare() {
    return
  }
  // expected-error @+1 {{a dynamic dimension needs #betz.rows with one of betz.symbols}}
  func.func @main(%x: tensor<?xf32, #betz.rows<"events">> {betz.input = "x"}) {
    return
  }
}

// -----

module attributes {betz.phase = "model", betz.symbols = []} {
  // expected-error @+1 {{betz.weight of argument 1 must have a name of its own}}
  func.func @prepare(%a: tensor<4xf32> {betz.weight = "a"}, %b: tensor<4xf32>) {
    return
  }
  func.func @main() {
    return
  }
}

// -----

module attributes {betz.phase = "model", betz.symbols = []} {
  // expected-error @+1 {{betz.derived of result 1 must have a name of its own}}
  func.func @prepare(%a: tensor<4xf32> {betz.weight = "a"})
      -> (tensor<4xf32> {betz.derived = "a"},
          tensor<4xf32> {betz.derived = "a"}) {
    return %a, %a : tensor<4xf32>, tensor<4xf32>
  }
  func.func @main() {
    return
  }
}

// -----

module attributes {betz.phase = "model", betz.symbols = []} {
  func.func @prepare() {
    return
  }
  // expected-error @+1 {{betz.input or betz.derived of argument 0 must have a name of its own}}
  func.func @main(%x: tensor<4xf32>) {
    return
  }
}

// -----

// One value cannot come from both.
module attributes {betz.phase = "model", betz.symbols = []} {
  func.func @prepare(%a: tensor<4xf32> {betz.weight = "a"})
      -> (tensor<4xf32> {betz.derived = "a"}) {
    return %a : tensor<4xf32>
  }
  // expected-error @+1 {{betz.input or betz.derived of argument 0 must have a name of its own}}
  func.func @main(%x: tensor<4xf32> {betz.input = "x", betz.derived = "a"}) {
    return
  }
}

// -----

module attributes {betz.phase = "model", betz.symbols = []} {
  func.func @prepare() {
    return
  }
  // expected-error @+1 {{betz.output of result 0 must have a name of its own}}
  func.func @main(%x: tensor<4xf32> {betz.input = "x"}) -> tensor<4xf32> {
    return %x : tensor<4xf32>
  }
}

// -----

module attributes {betz.phase = "model", betz.symbols = []} {
  func.func @prepare() {
    return
  }
  // expected-error @+1 {{must give at least one output}}
  func.func @main(%x: tensor<4xf32> {betz.input = "x"}) {
    return
  }
}

// -----

!x = tensor<?x4xf32, #betz.rows<"batch">>
module attributes {betz.phase = "model", betz.symbols = ["batch"]} {
  // expected-error @+1 {{weights have constant shapes, not}}
  func.func @prepare(%w: !x {betz.weight = "w"}) {
    return
  }
  func.func @main(%x: !x {betz.input = "x"}) -> (!x {betz.output = "out"}) {
    return %x : !x
  }
}

// -----

module attributes {betz.phase = "model", betz.symbols = []} {
  func.func @prepare() {
    return
  }
  // expected-error @+1 {{argument 0 is derived value "w", which @prepare does not give in that type}}
  func.func @main(%w: tensor<4xf32> {betz.derived = "w"})
      -> (tensor<4xf32> {betz.output = "out"}) {
    return %w : tensor<4xf32>
  }
}

// -----

module attributes {betz.phase = "model", betz.symbols = []} {
  func.func @prepare(%w: tensor<5xf32> {betz.weight = "w"})
      -> (tensor<5xf32> {betz.derived = "w"}) {
    return %w : tensor<5xf32>
  }
  // expected-error @+1 {{argument 0 is derived value "w", which @prepare does not give in that type}}
  func.func @main(%w: tensor<4xf32> {betz.derived = "w"})
      -> (tensor<4xf32> {betz.output = "out"}) {
    return %w : tensor<4xf32>
  }
}

// -----

module attributes {betz.phase = "model", betz.symbols = []} {
  func.func @prepare(%w: tensor<5xf32> {betz.weight = "w"}) {
    // expected-error @+1 {{may not stand in @prepare}}
    %y = betz.kernel elementwise "k" (%w) : (tensor<5xf32>) -> tensor<5xf32> {
    ^bb0(%a: tensor<5xf32>):
      %g = betz.gelu %a : (tensor<5xf32>) -> tensor<5xf32>
      betz.yield %g : tensor<5xf32>
    }
    return
  }
  func.func @main(%x: tensor<5xf32> {betz.input = "x"})
      -> (tensor<5xf32> {betz.output = "out"}) {
    return %x : tensor<5xf32>
  }
}

// -----

module attributes {betz.phase = "model", betz.symbols = []} {
  func.func @prepare() {
    // expected-error @+1 {{only betz ops may stand in @prepare}}
    func.call @prepare() : () -> ()
    return
  }
  func.func @main(%x: tensor<5xf32> {betz.input = "x"})
      -> (tensor<5xf32> {betz.output = "out"}) {
    return %x : tensor<5xf32>
  }
}

// -----

module attributes {betz.phase = "model", betz.symbols = []} {
  func.func @prepare() {
    return
  }
  func.func @main(%x: tensor<5xf32> {betz.input = "x"})
      -> (tensor<5xf32> {betz.output = "out"}) {
    // expected-error @+1 {{only betz ops may stand in @main}}
    func.call @prepare() : () -> ()
    return %x : tensor<5xf32>
  }
}

// -----

module attributes {betz.phase = "model", betz.symbols = []} {
  func.func @prepare() {
    return
  }
  func.func @main(%x: tensor<5xf32> {betz.input = "x"})
      -> (tensor<5xf32> {betz.output = "out"}) {
    // expected-error @+1 {{may not stand in the model phase}}
    %y = betz.kernel elementwise "k" (%x) : (tensor<5xf32>) -> tensor<5xf32> {
    ^bb0(%a: tensor<5xf32>):
      %g = betz.gelu %a : (tensor<5xf32>) -> tensor<5xf32>
      betz.yield %g : tensor<5xf32>
    }
    return %y : tensor<5xf32>
  }
}
