// RUN: betz-opt %s -betz-fuse '-betz-plan-memory=buckets=1x64,3x192' -betz-verify-program -split-input-file | FileCheck %s
// RUN: not betz-opt %s -split-input-file -betz-fuse '-betz-plan-memory=buckets=1' 2>&1 | FileCheck %s --check-prefix=FEW
// RUN: not betz-opt %s -split-input-file -betz-fuse '-betz-plan-memory=buckets=1x0' 2>&1 | FileCheck %s --check-prefix=ZERO
// RUN: not betz-opt %s -split-input-file -betz-fuse '-betz-plan-memory=buckets=1xmany' 2>&1 | FileCheck %s --check-prefix=WORD
// RUN: not betz-opt %s -split-input-file -betz-fuse '-betz-plan-memory=buckets=1x9000000000000000000' 2>&1 | FileCheck %s --check-prefix=HUGE

// FEW: bucket "1" must have one capacity for each of the 2 symbols
// ZERO: bucket "1x0" is not a list of capacities such as 8x32768
// WORD: bucket "1xmany" is not a list of capacities such as 8x32768
// HUGE: its result is too large in bucket 1x9000000000000000000

!a = tensor<?x5xf32, #betz.rows<"events">>
!g = tensor<5xf32>
!w = tensor<5x5xf32>

// Norm to norm to norm: the first and the third share their place. One result
// of 64 events takes 64 * 5 * 4 = 1280 bytes. The output takes none.
// CHECK: module attributes {betz.buckets = [#betz.bucket<capacity = [1, 64], arena = 2560>, #betz.bucket<capacity = [3, 192], arena = 7680>], betz.phase = "program"
module attributes {betz.phase = "model", betz.symbols = ["batch", "events"]} {
  func.func @prepare(%g: !g {betz.weight = "g"}) -> (!g {betz.derived = "g"}) {
    return %g : !g
  }
  // CHECK-LABEL: func @main
  // CHECK: betz.kernel row "norm"({{.*}}) {offsets = [array<i64: [[FIRST1:[0-9]+]]>, array<i64: [[FIRST3:[0-9]+]]>]}
  // CHECK: betz.kernel row "norm_2"({{.*}}) {offsets = [array<i64: {{[0-9]+}}>, array<i64: {{[0-9]+}}>]}
  // CHECK: betz.kernel row "norm_3"({{.*}}) {offsets = [array<i64: [[FIRST1]]>, array<i64: [[FIRST3]]>]}
  // CHECK: betz.kernel row "norm_4"({{.*}}) {offsets = [array<i64: -1>, array<i64: -1>]}
  func.func @main(%g: !g {betz.derived = "g"}, %x: !a {betz.input = "x"})
      -> (!a {betz.output = "out"}) {
    %1 = betz.norm rms %x, %g {eps = 1.0e-5 : f64} : (!a, !g) -> !a
    %2 = betz.norm rms %1, %g {eps = 1.0e-5 : f64} : (!a, !g) -> !a
    %3 = betz.norm rms %2, %g {eps = 1.0e-5 : f64} : (!a, !g) -> !a
    %4 = betz.norm rms %3, %g {eps = 1.0e-5 : f64} : (!a, !g) -> !a
    return %4 : !a
  }
}

// -----

!a = tensor<?x5xf32, #betz.rows<"events">>
!b = tensor<?x5xf32, #betz.rows<"batch">>
!flat = tensor<?x5x1xf32, #betz.rows<"events">>
!two = tensor<?x2xf32, #betz.rows<"events">>
!g = tensor<5xf32>

// A result lives until the last kernel that reads it, through views too; what
// is returned through a view is an output. Sizes follow their own symbol and
// are rounded up to 64 bytes: 3 * 5 * 4 = 60 bytes take 64.
// CHECK: module attributes {betz.buckets = [#betz.bucket<capacity = [1, 64], arena = 2624>, #betz.bucket<capacity = [3, 192], arena = 7744>]
module attributes {betz.phase = "model", betz.symbols = ["batch", "events"]} {
  func.func @prepare(%g: !g {betz.weight = "g"}) -> (!g {betz.derived = "g"}) {
    return %g : !g
  }
  // CHECK-LABEL: func @main
  // CHECK: betz.kernel row "norm"({{.*}}) {offsets = [array<i64: [[A1:[0-9]+]]>, array<i64: [[A3:[0-9]+]]>]}
  // CHECK: betz.kernel row "norm_2"
  // CHECK: betz.kernel row "norm_3"({{.*}}) {offsets = [array<i64: [[C1:[0-9]+]]>, array<i64: [[C3:[0-9]+]]>]}
  // CHECK: betz.kernel row "norm_4"({{.*}}) {offsets = [array<i64: -1>, array<i64: -1>]}
  // CHECK: betz.kernel elementwise "gelu"({{.*}}) {offsets = [array<i64: -1>, array<i64: -1>]}
  // CHECK: betz.kernel row "norm_5"({{.*}}) {offsets = [array<i64: -1>, array<i64: -1>]}
  func.func @main(%g: !g {betz.derived = "g"}, %x: !a {betz.input = "x"},
                  %y: !b {betz.input = "y"})
      -> (!flat {betz.output = "c"}, !two {betz.output = "d"},
          !b {betz.output = "e"}) {
    %1 = betz.norm rms %x, %g {eps = 1.0e-5 : f64} : (!a, !g) -> !a
    %2 = betz.norm rms %y, %g {eps = 1.0e-5 : f64} : (!b, !g) -> !b
    %3 = betz.norm rms %1, %g {eps = 1.0e-5 : f64} : (!a, !g) -> !a
    %4 = betz.norm rms %3, %g {eps = 1.0e-5 : f64} : (!a, !g) -> !a
    %v = betz.slice %1 {offset = 3 : i64} : (!a) -> !two
    %5 = betz.gelu %v : (!two) -> !two
    %6 = betz.norm rms %2, %g {eps = 1.0e-5 : f64} : (!b, !g) -> !b
    %r = betz.reshape %4 : (!a) -> !flat
    return %r, %5, %6 : !flat, !two, !b
  }
}

// -----

// Nothing to place: an arena of no bytes.
// CHECK: #betz.bucket<capacity = [1, 64], arena = 0>
module attributes {betz.phase = "model", betz.symbols = ["batch", "events"]} {
  func.func @prepare() {
    return
  }
  func.func @main(%x: tensor<4xf32> {betz.input = "x"})
      -> (tensor<4xf32> {betz.output = "out"}) {
    %y = betz.gelu %x : (tensor<4xf32>) -> tensor<4xf32>
    return %y : tensor<4xf32>
  }
}
