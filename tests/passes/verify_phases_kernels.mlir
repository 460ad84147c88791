// RUN: betz-opt %s -betz-verify-kernels -verify-diagnostics -split-input-file

!x = tensor<4x6xf32>

// Legal: kernels and views.
module attributes {betz.phase = "kernels", betz.symbols = []} {
  func.func @prepare() {
    return
  }
  func.func @main(%x: !x {betz.input = "x"})
      -> (tensor<4x2xf32> {betz.output = "out"}) {
    %r = betz.reshape %x : (!x) -> tensor<2x12xf32>
    %s = betz.slice %x {offset = 1 : i64} : (!x) -> tensor<4x2xf32>
    %y = betz.kernel elementwise "k" (%s)
        : (tensor<4x2xf32>) -> tensor<4x2xf32> {
    ^bb0(%a: tensor<4x2xf32>):
      %g = betz.gelu %a : (tensor<4x2xf32>) -> tensor<4x2xf32>
      betz.yield %g : tensor<4x2xf32>
    }
    return %y : tensor<4x2xf32>
  }
}

// -----

// expected-error @+1 {{betz.phase must be "kernels"}}
module attributes {betz.phase = "model", betz.symbols = []} {}

// -----

!x = tensor<4xf32>
module attributes {betz.phase = "kernels", betz.symbols = []} {
  func.func @prepare() {
    return
  }
  func.func @main(%x: !x {betz.input = "x"}) -> (!x {betz.output = "out"}) {
    // expected-error @+1 {{may not stand in the kernels phase}}
    %y = betz.gelu %x : (!x) -> !x
    return %y : !x
  }
}

// -----

!x = tensor<4xf32>
module attributes {betz.phase = "kernels", betz.symbols = []} {
  func.func @prepare() {
    return
  }
  func.func @main(%x: !x {betz.input = "x"}) -> (!x {betz.output = "out"}) {
    %y = betz.kernel elementwise "k" (%x) : (!x) -> !x {
    ^bb0(%a: !x):
      %g = betz.gelu %a : (!x) -> !x
      betz.yield %g : !x
    }
    // expected-error @+1 {{another kernel has the name "k"}}
    %z = betz.kernel elementwise "k" (%y) : (!x) -> !x {
    ^bb0(%a: !x):
      %g = betz.gelu %a : (!x) -> !x
      betz.yield %g : !x
    }
    return %z : !x
  }
}

// -----

!x = tensor<4xf32>
module attributes {betz.phase = "kernels", betz.symbols = []} {
  func.func @prepare() {
    return
  }
  func.func @main(%x: !x {betz.input = "x"}) -> (!x {betz.output = "out"}) {
    // expected-error @+1 {{has arena offsets before the program phase}}
    %y = betz.kernel elementwise "k" (%x) {offsets = [array<i64: -1>]}
        : (!x) -> !x {
    ^bb0(%a: !x):
      %g = betz.gelu %a : (!x) -> !x
      betz.yield %g : !x
    }
    return %y : !x
  }
}
