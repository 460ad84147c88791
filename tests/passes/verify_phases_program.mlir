// RUN: betz-opt %s -betz-verify-program -verify-diagnostics -split-input-file

// Each case is this module with other buckets and offsets: %1 and %2 of 100
// bytes live at the same time, %3 is the output.

// Legal.
!x = tensor<?x25xf32, #betz.rows<"batch">>
module attributes {betz.phase = "program", betz.symbols = ["batch"],
                   betz.buckets = [#betz.bucket<capacity = [1], arena = 256>]} {
  func.func @prepare() {
    return
  }
  func.func @main(%x: !x {betz.input = "x"}) -> (!x {betz.output = "out"}) {
    %1 = betz.kernel elementwise "k1" (%x) {offsets = [array<i64: 0>]}
        : (!x) -> !x {
    ^bb0(%a0: !x):
      %r = betz.gelu %a0 : (!x) -> !x
      betz.yield %r : !x
    }
    %2 = betz.kernel elementwise "k2" (%x) {offsets = [array<i64: 128>]}
        : (!x) -> !x {
    ^bb0(%a0: !x):
      %r = betz.gelu %a0 : (!x) -> !x
      betz.yield %r : !x
    }
    %3 = betz.kernel elementwise "k3" (%1, %2) {offsets = [array<i64: -1>]}
        : (!x, !x) -> !x {
    ^bb0(%a0: !x, %a1: !x):
      %r = betz.add %a0, %a1 : (!x, !x) -> !x
      betz.yield %r : !x
    }
    return %3 : !x
  }
}

// -----

!x = tensor<?x25xf32, #betz.rows<"batch">>
// expected-error @+1 {{betz.buckets must list at least one bucket}}
module attributes {betz.phase = "program", betz.symbols = ["batch"]} {
  func.func @prepare() {
    return
  }
  func.func @main(%x: !x {betz.input = "x"}) -> (!x {betz.output = "out"}) {
    %1 = betz.kernel elementwise "k1" (%x) {offsets = [array<i64: 0>]}
        : (!x) -> !x {
    ^bb0(%a0: !x):
      %r = betz.gelu %a0 : (!x) -> !x
      betz.yield %r : !x
    }
    %2 = betz.kernel elementwise "k2" (%x) {offsets = [array<i64: 128>]}
        : (!x) -> !x {
    ^bb0(%a0: !x):
      %r = betz.gelu %a0 : (!x) -> !x
      betz.yield %r : !x
    }
    %3 = betz.kernel elementwise "k3" (%1, %2) {offsets = [array<i64: -1>]}
        : (!x, !x) -> !x {
    ^bb0(%a0: !x, %a1: !x):
      %r = betz.add %a0, %a1 : (!x, !x) -> !x
      betz.yield %r : !x
    }
    return %3 : !x
  }
}

// -----

!x = tensor<?x25xf32, #betz.rows<"batch">>
// expected-error @+1 {{betz.buckets must list at least one bucket}}
module attributes {betz.phase = "program", betz.symbols = ["batch"],
                   betz.buckets = []} {
  func.func @prepare() {
    return
  }
  func.func @main(%x: !x {betz.input = "x"}) -> (!x {betz.output = "out"}) {
    %1 = betz.kernel elementwise "k1" (%x) {offsets = [array<i64: 0>]}
        : (!x) -> !x {
    ^bb0(%a0: !x):
      %r = betz.gelu %a0 : (!x) -> !x
      betz.yield %r : !x
    }
    %2 = betz.kernel elementwise "k2" (%x) {offsets = [array<i64: 128>]}
        : (!x) -> !x {
    ^bb0(%a0: !x):
      %r = betz.gelu %a0 : (!x) -> !x
      betz.yield %r : !x
    }
    %3 = betz.kernel elementwise "k3" (%1, %2) {offsets = [array<i64: -1>]}
        : (!x, !x) -> !x {
    ^bb0(%a0: !x, %a1: !x):
      %r = betz.add %a0, %a1 : (!x, !x) -> !x
      betz.yield %r : !x
    }
    return %3 : !x
  }
}

// -----

!x = tensor<?x25xf32, #betz.rows<"batch">>
// expected-error @+1 {{betz.buckets: "small" is no bucket of this module}}
module attributes {betz.phase = "program", betz.symbols = ["batch"],
                   betz.buckets = ["small"]} {
  func.func @prepare() {
    return
  }
  func.func @main(%x: !x {betz.input = "x"}) -> (!x {betz.output = "out"}) {
    %1 = betz.kernel elementwise "k1" (%x) {offsets = [array<i64: 0>]}
        : (!x) -> !x {
    ^bb0(%a0: !x):
      %r = betz.gelu %a0 : (!x) -> !x
      betz.yield %r : !x
    }
    %2 = betz.kernel elementwise "k2" (%x) {offsets = [array<i64: 128>]}
        : (!x) -> !x {
    ^bb0(%a0: !x):
      %r = betz.gelu %a0 : (!x) -> !x
      betz.yield %r : !x
    }
    %3 = betz.kernel elementwise "k3" (%1, %2) {offsets = [array<i64: -1>]}
        : (!x, !x) -> !x {
    ^bb0(%a0: !x, %a1: !x):
      %r = betz.add %a0, %a1 : (!x, !x) -> !x
      betz.yield %r : !x
    }
    return %3 : !x
  }
}

// -----

!x = tensor<?x25xf32, #betz.rows<"batch">>
// expected-error @+1 {{is no bucket of this module}}
module attributes {betz.phase = "program", betz.symbols = ["batch"],
                   betz.buckets = [
                       #betz.bucket<capacity = [1, 2], arena = 256>]} {
  func.func @prepare() {
    return
  }
  func.func @main(%x: !x {betz.input = "x"}) -> (!x {betz.output = "out"}) {
    %1 = betz.kernel elementwise "k1" (%x) {offsets = [array<i64: 0>]}
        : (!x) -> !x {
    ^bb0(%a0: !x):
      %r = betz.gelu %a0 : (!x) -> !x
      betz.yield %r : !x
    }
    %2 = betz.kernel elementwise "k2" (%x) {offsets = [array<i64: 128>]}
        : (!x) -> !x {
    ^bb0(%a0: !x):
      %r = betz.gelu %a0 : (!x) -> !x
      betz.yield %r : !x
    }
    %3 = betz.kernel elementwise "k3" (%1, %2) {offsets = [array<i64: -1>]}
        : (!x, !x) -> !x {
    ^bb0(%a0: !x, %a1: !x):
      %r = betz.add %a0, %a1 : (!x, !x) -> !x
      betz.yield %r : !x
    }
    return %3 : !x
  }
}

// -----

!x = tensor<?x25xf32, #betz.rows<"batch">>
// expected-error @+1 {{is no bucket of this module}}
module attributes {betz.phase = "program", betz.symbols = ["batch"],
                   betz.buckets = [#betz.bucket<capacity = [0], arena = 256>]} {
  func.func @prepare() {
    return
  }
  func.func @main(%x: !x {betz.input = "x"}) -> (!x {betz.output = "out"}) {
    %1 = betz.kernel elementwise "k1" (%x) {offsets = [array<i64: 0>]}
        : (!x) -> !x {
    ^bb0(%a0: !x):
      %r = betz.gelu %a0 : (!x) -> !x
      betz.yield %r : !x
    }
    %2 = betz.kernel elementwise "k2" (%x) {offsets = [array<i64: 128>]}
        : (!x) -> !x {
    ^bb0(%a0: !x):
      %r = betz.gelu %a0 : (!x) -> !x
      betz.yield %r : !x
    }
    %3 = betz.kernel elementwise "k3" (%1, %2) {offsets = [array<i64: -1>]}
        : (!x, !x) -> !x {
    ^bb0(%a0: !x, %a1: !x):
      %r = betz.add %a0, %a1 : (!x, !x) -> !x
      betz.yield %r : !x
    }
    return %3 : !x
  }
}

// -----

!x = tensor<?x25xf32, #betz.rows<"batch">>
// expected-error @+1 {{is no bucket of this module}}
module attributes {betz.phase = "program", betz.symbols = ["batch"],
                   betz.buckets = [#betz.bucket<capacity = [1], arena = -1>]} {
  func.func @prepare() {
    return
  }
  func.func @main(%x: !x {betz.input = "x"}) -> (!x {betz.output = "out"}) {
    %1 = betz.kernel elementwise "k1" (%x) {offsets = [array<i64: 0>]}
        : (!x) -> !x {
    ^bb0(%a0: !x):
      %r = betz.gelu %a0 : (!x) -> !x
      betz.yield %r : !x
    }
    %2 = betz.kernel elementwise "k2" (%x) {offsets = [array<i64: 128>]}
        : (!x) -> !x {
    ^bb0(%a0: !x):
      %r = betz.gelu %a0 : (!x) -> !x
      betz.yield %r : !x
    }
    %3 = betz.kernel elementwise "k3" (%1, %2) {offsets = [array<i64: -1>]}
        : (!x, !x) -> !x {
    ^bb0(%a0: !x, %a1: !x):
      %r = betz.add %a0, %a1 : (!x, !x) -> !x
      betz.yield %r : !x
    }
    return %3 : !x
  }
}

// -----

!x = tensor<?x25xf32, #betz.rows<"batch">>
module attributes {betz.phase = "program", betz.symbols = ["batch"],
                   betz.buckets = [#betz.bucket<capacity = [1], arena = 256>]} {
  func.func @prepare() {
    return
  }
  func.func @main(%x: !x {betz.input = "x"}) -> (!x {betz.output = "out"}) {
    // expected-error @+1 {{needs an arena offset in bucket 0, or -1 for an output}}
    %1 = betz.kernel elementwise "k1" (%x)
        : (!x) -> !x {
    ^bb0(%a0: !x):
      %r = betz.gelu %a0 : (!x) -> !x
      betz.yield %r : !x
    }
    %2 = betz.kernel elementwise "k2" (%x) {offsets = [array<i64: 128>]}
        : (!x) -> !x {
    ^bb0(%a0: !x):
      %r = betz.gelu %a0 : (!x) -> !x
      betz.yield %r : !x
    }
    %3 = betz.kernel elementwise "k3" (%1, %2) {offsets = [array<i64: -1>]}
        : (!x, !x) -> !x {
    ^bb0(%a0: !x, %a1: !x):
      %r = betz.add %a0, %a1 : (!x, !x) -> !x
      betz.yield %r : !x
    }
    return %3 : !x
  }
}

// -----

// One row of offsets for two buckets.
!x = tensor<?x25xf32, #betz.rows<"batch">>
module attributes {betz.phase = "program", betz.symbols = ["batch"],
                   betz.buckets = [#betz.bucket<capacity = [1], arena = 256>,
                                  #betz.bucket<capacity = [2], arena = 512>]} {
  func.func @prepare() {
    return
  }
  func.func @main(%x: !x {betz.input = "x"}) -> (!x {betz.output = "out"}) {
    %1 = betz.kernel elementwise "k1" (%x)
        {offsets = [array<i64: 0>, array<i64: 0>]}
        : (!x) -> !x {
    ^bb0(%a0: !x):
      %r = betz.gelu %a0 : (!x) -> !x
      betz.yield %r : !x
    }
    // expected-error @+1 {{needs an arena offset in bucket 1, or -1 for an output}}
    %2 = betz.kernel elementwise "k2" (%x) {offsets = [array<i64: 128>]}
        : (!x) -> !x {
    ^bb0(%a0: !x):
      %r = betz.gelu %a0 : (!x) -> !x
      betz.yield %r : !x
    }
    %3 = betz.kernel elementwise "k3" (%1, %2)
        {offsets = [array<i64: -1>, array<i64: -1>]}
        : (!x, !x) -> !x {
    ^bb0(%a0: !x, %a1: !x):
      %r = betz.add %a0, %a1 : (!x, !x) -> !x
      betz.yield %r : !x
    }
    return %3 : !x
  }
}

// -----

// No output, though its offset says so; an output with an offset.
!x = tensor<?x25xf32, #betz.rows<"batch">>
module attributes {betz.phase = "program", betz.symbols = ["batch"],
                   betz.buckets = [#betz.bucket<capacity = [1], arena = 256>]} {
  func.func @prepare() {
    return
  }
  func.func @main(%x: !x {betz.input = "x"}) -> (!x {betz.output = "out"}) {
    %1 = betz.kernel elementwise "k1" (%x) {offsets = [array<i64: 0>]}
        : (!x) -> !x {
    ^bb0(%a0: !x):
      %r = betz.gelu %a0 : (!x) -> !x
      betz.yield %r : !x
    }
    // expected-error @+1 {{needs an arena offset in bucket 0, or -1 for an output}}
    %2 = betz.kernel elementwise "k2" (%x) {offsets = [array<i64: -1>]}
        : (!x) -> !x {
    ^bb0(%a0: !x):
      %r = betz.gelu %a0 : (!x) -> !x
      betz.yield %r : !x
    }
    %3 = betz.kernel elementwise "k3" (%1, %2) {offsets = [array<i64: -1>]}
        : (!x, !x) -> !x {
    ^bb0(%a0: !x, %a1: !x):
      %r = betz.add %a0, %a1 : (!x, !x) -> !x
      betz.yield %r : !x
    }
    return %3 : !x
  }
}

// -----

!x = tensor<?x25xf32, #betz.rows<"batch">>
module attributes {betz.phase = "program", betz.symbols = ["batch"],
                   betz.buckets = [#betz.bucket<capacity = [1], arena = 256>]} {
  func.func @prepare() {
    return
  }
  func.func @main(%x: !x {betz.input = "x"}) -> (!x {betz.output = "out"}) {
    %1 = betz.kernel elementwise "k1" (%x) {offsets = [array<i64: 0>]}
        : (!x) -> !x {
    ^bb0(%a0: !x):
      %r = betz.gelu %a0 : (!x) -> !x
      betz.yield %r : !x
    }
    %2 = betz.kernel elementwise "k2" (%x) {offsets = [array<i64: 128>]}
        : (!x) -> !x {
    ^bb0(%a0: !x):
      %r = betz.gelu %a0 : (!x) -> !x
      betz.yield %r : !x
    }
    // expected-error @+1 {{needs an arena offset in bucket 0, or -1 for an output}}
    %3 = betz.kernel elementwise "k3" (%1, %2) {offsets = [array<i64: 128>]}
        : (!x, !x) -> !x {
    ^bb0(%a0: !x, %a1: !x):
      %r = betz.add %a0, %a1 : (!x, !x) -> !x
      betz.yield %r : !x
    }
    return %3 : !x
  }
}

// -----

!x = tensor<?x25xf32, #betz.rows<"batch">>
module attributes {betz.phase = "program", betz.symbols = ["batch"],
                   betz.buckets = [#betz.bucket<capacity = [1], arena = 256>]} {
  func.func @prepare() {
    return
  }
  func.func @main(%x: !x {betz.input = "x"}) -> (!x {betz.output = "out"}) {
    %1 = betz.kernel elementwise "k1" (%x) {offsets = [array<i64: 0>]}
        : (!x) -> !x {
    ^bb0(%a0: !x):
      %r = betz.gelu %a0 : (!x) -> !x
      betz.yield %r : !x
    }
    // expected-error @+1 {{lies outside the arena of bucket 0 or is not aligned}}
    %2 = betz.kernel elementwise "k2" (%x) {offsets = [array<i64: 192>]}
        : (!x) -> !x {
    ^bb0(%a0: !x):
      %r = betz.gelu %a0 : (!x) -> !x
      betz.yield %r : !x
    }
    %3 = betz.kernel elementwise "k3" (%1, %2) {offsets = [array<i64: -1>]}
        : (!x, !x) -> !x {
    ^bb0(%a0: !x, %a1: !x):
      %r = betz.add %a0, %a1 : (!x, !x) -> !x
      betz.yield %r : !x
    }
    return %3 : !x
  }
}

// -----

!x = tensor<?x25xf32, #betz.rows<"batch">>
module attributes {betz.phase = "program", betz.symbols = ["batch"],
                   betz.buckets = [#betz.bucket<capacity = [1], arena = 256>]} {
  func.func @prepare() {
    return
  }
  func.func @main(%x: !x {betz.input = "x"}) -> (!x {betz.output = "out"}) {
    %1 = betz.kernel elementwise "k1" (%x) {offsets = [array<i64: 0>]}
        : (!x) -> !x {
    ^bb0(%a0: !x):
      %r = betz.gelu %a0 : (!x) -> !x
      betz.yield %r : !x
    }
    // expected-error @+1 {{lies outside the arena of bucket 0 or is not aligned}}
    %2 = betz.kernel elementwise "k2" (%x) {offsets = [array<i64: 100>]}
        : (!x) -> !x {
    ^bb0(%a0: !x):
      %r = betz.gelu %a0 : (!x) -> !x
      betz.yield %r : !x
    }
    %3 = betz.kernel elementwise "k3" (%1, %2) {offsets = [array<i64: -1>]}
        : (!x, !x) -> !x {
    ^bb0(%a0: !x, %a1: !x):
      %r = betz.add %a0, %a1 : (!x, !x) -> !x
      betz.yield %r : !x
    }
    return %3 : !x
  }
}

// -----

!x = tensor<?x25xf32, #betz.rows<"batch">>
module attributes {betz.phase = "program", betz.symbols = ["batch"],
                   betz.buckets = [#betz.bucket<capacity = [1], arena = 256>]} {
  func.func @prepare() {
    return
  }
  func.func @main(%x: !x {betz.input = "x"}) -> (!x {betz.output = "out"}) {
    // expected-error @+1 {{lies outside the arena of bucket 0 or is not aligned}}
    %1 = betz.kernel elementwise "k1" (%x) {offsets = [array<i64: -64>]}
        : (!x) -> !x {
    ^bb0(%a0: !x):
      %r = betz.gelu %a0 : (!x) -> !x
      betz.yield %r : !x
    }
    %2 = betz.kernel elementwise "k2" (%x) {offsets = [array<i64: 128>]}
        : (!x) -> !x {
    ^bb0(%a0: !x):
      %r = betz.gelu %a0 : (!x) -> !x
      betz.yield %r : !x
    }
    %3 = betz.kernel elementwise "k3" (%1, %2) {offsets = [array<i64: -1>]}
        : (!x, !x) -> !x {
    ^bb0(%a0: !x, %a1: !x):
      %r = betz.add %a0, %a1 : (!x, !x) -> !x
      betz.yield %r : !x
    }
    return %3 : !x
  }
}

// -----

// Sizes follow the capacity.
!x = tensor<?x25xf32, #betz.rows<"batch">>
module attributes {betz.phase = "program", betz.symbols = ["batch"],
                   betz.buckets = [#betz.bucket<capacity = [1], arena = 256>,
                                  #betz.bucket<capacity = [3], arena = 512>]} {
  func.func @prepare() {
    return
  }
  func.func @main(%x: !x {betz.input = "x"}) -> (!x {betz.output = "out"}) {
    %1 = betz.kernel elementwise "k1" (%x)
        {offsets = [array<i64: 0>, array<i64: 0>]}
        : (!x) -> !x {
    ^bb0(%a0: !x):
      %r = betz.gelu %a0 : (!x) -> !x
      betz.yield %r : !x
    }
    // expected-error @+1 {{overlaps "k1" in bucket 1}}
    %2 = betz.kernel elementwise "k2" (%x)
        {offsets = [array<i64: 128>, array<i64: 128>]}
        : (!x) -> !x {
    ^bb0(%a0: !x):
      %r = betz.gelu %a0 : (!x) -> !x
      betz.yield %r : !x
    }
    %3 = betz.kernel elementwise "k3" (%1, %2)
        {offsets = [array<i64: -1>, array<i64: -1>]}
        : (!x, !x) -> !x {
    ^bb0(%a0: !x, %a1: !x):
      %r = betz.add %a0, %a1 : (!x, !x) -> !x
      betz.yield %r : !x
    }
    return %3 : !x
  }
}

// -----

!x = tensor<?x25xf32, #betz.rows<"batch">>
module attributes {betz.phase = "program", betz.symbols = ["batch"],
                   betz.buckets = [#betz.bucket<capacity = [1], arena = 256>]} {
  func.func @prepare() {
    return
  }
  func.func @main(%x: !x {betz.input = "x"}) -> (!x {betz.output = "out"}) {
    %1 = betz.kernel elementwise "k1" (%x) {offsets = [array<i64: 64>]}
        : (!x) -> !x {
    ^bb0(%a0: !x):
      %r = betz.gelu %a0 : (!x) -> !x
      betz.yield %r : !x
    }
    // expected-error @+1 {{overlaps "k1" in bucket 0}}
    %2 = betz.kernel elementwise "k2" (%x) {offsets = [array<i64: 0>]}
        : (!x) -> !x {
    ^bb0(%a0: !x):
      %r = betz.gelu %a0 : (!x) -> !x
      betz.yield %r : !x
    }
    %3 = betz.kernel elementwise "k3" (%1, %2) {offsets = [array<i64: -1>]}
        : (!x, !x) -> !x {
    ^bb0(%a0: !x, %a1: !x):
      %r = betz.add %a0, %a1 : (!x, !x) -> !x
      betz.yield %r : !x
    }
    return %3 : !x
  }
}

// -----

!x = tensor<?x25xf32, #betz.rows<"batch">>
module attributes {betz.phase = "program", betz.symbols = ["batch"],
                   betz.buckets = [
                       #betz.bucket<capacity = [9000000000000000000],
                                    arena = 256>]} {
  func.func @prepare() {
    return
  }
  func.func @main(%x: !x {betz.input = "x"}) -> (!x {betz.output = "out"}) {
    // expected-error @+1 {{lies outside the arena of bucket 0 or is not aligned}}
    %1 = betz.kernel elementwise "k1" (%x) {offsets = [array<i64: 0>]}
        : (!x) -> !x {
    ^bb0(%a0: !x):
      %r = betz.gelu %a0 : (!x) -> !x
      betz.yield %r : !x
    }
    %2 = betz.kernel elementwise "k2" (%x) {offsets = [array<i64: 128>]}
        : (!x) -> !x {
    ^bb0(%a0: !x):
      %r = betz.gelu %a0 : (!x) -> !x
      betz.yield %r : !x
    }
    %3 = betz.kernel elementwise "k3" (%1, %2) {offsets = [array<i64: -1>]}
        : (!x, !x) -> !x {
    ^bb0(%a0: !x, %a1: !x):
      %r = betz.add %a0, %a1 : (!x, !x) -> !x
      betz.yield %r : !x
    }
    return %3 : !x
  }
}
