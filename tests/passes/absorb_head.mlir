// RUN: betz-opt %s -betz-absorb-head -split-input-file | FileCheck %s

!x = tensor<?x9x12xf32, #betz.rows<"batch">>
!kv = tensor<?x9x32xf32, #betz.rows<"batch">>
!keys = tensor<?x9x16xf32, #betz.rows<"batch">>
!query = tensor<2x16xf32>
!read = tensor<?x2x16xf32, #betz.rows<"batch">>
!out = tensor<?x2x1xf32, #betz.rows<"batch">>
!w = tensor<32x12xf32>
!o = tensor<1x16xf32>

// One score and one value a query and head, from a matmul of 2 V H columns;
// the scale stays, the sum over heads is the last matmul. Two queries and two
// heads of sixteen columns are just few enough.
module attributes {betz.phase = "model", betz.symbols = ["batch"]} {
  // CHECK-LABEL: func @prepare
  // CHECK-SAME: (%[[Q:[^ :]+]]: {{[^{]+}} {betz.weight = "q"}, %[[W:[^ :]+]]: {{[^{]+}} {betz.weight = "w"}, %[[O:[^ :]+]]: {{[^{]+}} {betz.weight = "o"})
  // CHECK-DAG: %[[WT:.+]] = betz.transpose %[[W]] {{.*}} -> tensor<12x32xf32>
  // CHECK-DAG: %[[QH:.+]] = betz.expand_heads %[[Q]] {betz.section = "head", heads = 2 : i64} : {{.+}} -> tensor<4x16xf32>
  // CHECK-DAG: %[[OH:.+]] = betz.expand_heads %[[O]] {betz.section = "head", heads = 2 : i64} : {{.+}} -> tensor<2x16xf32>
  // CHECK-DAG: %[[WK:.+]] = betz.slice %[[WT]] {{.*}}offset = 0 : i64} : {{.+}} -> tensor<12x16xf32>
  // CHECK-DAG: %[[WV:.+]] = betz.slice %[[WT]] {{.*}}offset = 16 : i64} : {{.+}} -> tensor<12x16xf32>
  // CHECK-DAG: %[[SCORES:.+]] = betz.matmul %[[QH]], %[[WK]]
  // CHECK-DAG: %[[SHARES:.+]] = betz.matmul %[[OH]], %[[WV]]
  // CHECK-DAG: %[[FOLDED:.+]] = betz.concat %[[SCORES]], %[[SHARES]], %[[SHARES]] {{.*}} -> tensor<8x12xf32>
  // CHECK-DAG: %[[ONES:.+]] = betz.fill {{.*}}value = 1.000000e+00 : f64} : () -> tensor<1x4xf32>
  // CHECK-DAG: %[[SUM:.+]] = betz.fill {{.*}}value = 1.000000e+00 : f64} : () -> tensor<1x2xf32>
  // CHECK: return %[[FOLDED]], %[[ONES]], %[[SUM]] :
  func.func @prepare(%q: !query {betz.weight = "q"}, %w: !w {betz.weight = "w"},
                     %o: !o {betz.weight = "o"})
      -> (!query {betz.derived = "q"}, !w {betz.derived = "w"},
          !o {betz.derived = "o"}) {
    return %q, %w, %o : !query, !w, !o
  }
  // CHECK-LABEL: func @main
  // CHECK-SAME: (%[[FOLDED:[^ :]+]]: tensor<8x12xf32> {{[^,]+}}, %[[ONES:[^ :]+]]: tensor<1x4xf32> {{[^,]+}}, %[[SUM:[^ :]+]]: tensor<1x2xf32> {{[^,]+}}, %[[X:[^ :]+]]: {{[^{]+}} {betz.input = "x"})
  // CHECK-NEXT: %[[F:.+]] = betz.matmul %[[X]], %[[FOLDED]]
  // CHECK-NEXT: %[[K:.+]] = betz.slice %[[F]] {{.*}}offset = 0 : i64} : {{.+}} -> tensor<?x9x4xf32
  // CHECK-NEXT: %[[V:.+]] = betz.slice %[[F]] {{.*}}offset = 4 : i64} : {{.+}} -> tensor<?x9x4xf32
  // CHECK-NEXT: %[[A:.+]] = betz.attention %[[ONES]], %[[K]], %[[V]] {{.*}}heads = 4 : i64, kv_heads = 4 : i64, scale = 3.500000e-01 : f64}
  // CHECK-NEXT: %[[R:.+]] = betz.reshape %[[A]] {{.*}} -> tensor<?x2x2xf32
  // CHECK-NEXT: %[[Y:.+]] = betz.matmul %[[R]], %[[SUM]] {{.*}} -> tensor<?x2x1xf32
  // CHECK-NEXT: return %[[Y]]
  func.func @main(%q: !query {betz.derived = "q"}, %w: !w {betz.derived = "w"},
                  %o: !o {betz.derived = "o"}, %x: !x {betz.input = "x"})
      -> (!out {betz.output = "y"}) {
    %kv = betz.matmul %x, %w {betz.section = "head"} : (!x, !w) -> !kv
    %k = betz.slice %kv {betz.section = "head", offset = 0 : i64}
        : (!kv) -> !keys
    %v = betz.slice %kv {betz.section = "head", offset = 16 : i64}
        : (!kv) -> !keys
    %a = betz.attention %q, %k, %v
        {heads = 2 : i64, kv_heads = 2 : i64, scale = 0.35 : f64}
        : (!query, !keys, !keys) -> !read
    %y = betz.matmul %a, %o {betz.section = "head"} : (!read, !o) -> !out
    return %y : !out
  }
}

// -----

!x = tensor<?x9x16xf32, #betz.rows<"batch">>
!kv = tensor<?x9x32xf32, #betz.rows<"batch">>
!query = tensor<3x16xf32>
!read = tensor<?x3x16xf32, #betz.rows<"batch">>
!out = tensor<?x3x1xf32, #betz.rows<"batch">>
!w = tensor<32x16xf32>
!o = tensor<1x16xf32>

// Queries and heads are more than half the columns: the matmul would not get
// narrow.
module attributes {betz.phase = "model", betz.symbols = ["batch"]} {
  // CHECK-LABEL: func @prepare
  // CHECK-NOT: betz.expand_heads
  func.func @prepare(%q: !query {betz.weight = "q"}, %w: !w {betz.weight = "w"},
                     %o: !o {betz.weight = "o"})
      -> (!query {betz.derived = "q"}, !w {betz.derived = "w"},
          !o {betz.derived = "o"}) {
    return %q, %w, %o : !query, !w, !o
  }
  // CHECK-LABEL: func @main
  // CHECK: betz.attention {{.+}}heads = 4 : i64
  func.func @main(%q: !query {betz.derived = "q"}, %w: !w {betz.derived = "w"},
                  %o: !o {betz.derived = "o"}, %x: !x {betz.input = "x"},
                  %qin: !query {betz.input = "qin"},
                  %win: !w {betz.input = "win"}, %oin: !o {betz.input = "oin"})
      -> (!out {betz.output = "y"}, !out {betz.output = "z"}) {
    %kv = betz.matmul %x, %w : (!x, !w) -> !kv
    %k = betz.slice %kv {offset = 0 : i64} : (!kv) -> tensor<?x9x16xf32, #betz.rows<"batch">>
    %v = betz.slice %kv {offset = 16 : i64} : (!kv) -> tensor<?x9x16xf32, #betz.rows<"batch">>
    %a = betz.attention %q, %k, %v
        {heads = 4 : i64, kv_heads = 4 : i64, scale = 0.35 : f64}
        : (!query, tensor<?x9x16xf32, #betz.rows<"batch">>, tensor<?x9x16xf32, #betz.rows<"batch">>) -> !read
    %y = betz.matmul %a, %o : (!read, !o) -> !out
    return %y, %y : !out, !out
  }
}

// -----

!x = tensor<?x9x16xf32, #betz.rows<"batch">>
!kv = tensor<?x9x32xf32, #betz.rows<"batch">>
!query = tensor<2x16xf32>
!read = tensor<?x2x16xf32, #betz.rows<"batch">>
!out = tensor<?x2x1xf32, #betz.rows<"batch">>
!w = tensor<32x16xf32>
!o = tensor<1x16xf32>

// A causal query sees other keys than the next.
module attributes {betz.phase = "model", betz.symbols = ["batch"]} {
  // CHECK-LABEL: func @prepare
  // CHECK-NOT: betz.expand_heads
  func.func @prepare(%q: !query {betz.weight = "q"}, %w: !w {betz.weight = "w"},
                     %o: !o {betz.weight = "o"})
      -> (!query {betz.derived = "q"}, !w {betz.derived = "w"},
          !o {betz.derived = "o"}) {
    return %q, %w, %o : !query, !w, !o
  }
  // CHECK-LABEL: func @main
  // CHECK: betz.attention {{.+}}heads = 2 : i64
  func.func @main(%q: !query {betz.derived = "q"}, %w: !w {betz.derived = "w"},
                  %o: !o {betz.derived = "o"}, %x: !x {betz.input = "x"},
                  %qin: !query {betz.input = "qin"},
                  %win: !w {betz.input = "win"}, %oin: !o {betz.input = "oin"})
      -> (!out {betz.output = "y"}, !out {betz.output = "z"}) {
    %kv = betz.matmul %x, %w : (!x, !w) -> !kv
    %k = betz.slice %kv {offset = 0 : i64} : (!kv) -> tensor<?x9x16xf32, #betz.rows<"batch">>
    %v = betz.slice %kv {offset = 16 : i64} : (!kv) -> tensor<?x9x16xf32, #betz.rows<"batch">>
    %a = betz.attention %q, %k, %v
        {heads = 2 : i64, kv_heads = 2 : i64, scale = 0.35 : f64, causal}
        : (!query, tensor<?x9x16xf32, #betz.rows<"batch">>, tensor<?x9x16xf32, #betz.rows<"batch">>) -> !read
    %y = betz.matmul %a, %o : (!read, !o) -> !out
    return %y, %y : !out, !out
  }
}

// -----

!x = tensor<?x9x16xf32, #betz.rows<"batch">>
!kv = tensor<?x9x16xf32, #betz.rows<"batch">>
!query = tensor<2x16xf32>
!read = tensor<?x2x16xf32, #betz.rows<"batch">>
!out = tensor<?x2x1xf32, #betz.rows<"batch">>
!w = tensor<16x16xf32>
!o = tensor<1x16xf32>

// Key heads are shared by query heads.
module attributes {betz.phase = "model", betz.symbols = ["batch"]} {
  // CHECK-LABEL: func @prepare
  // CHECK-NOT: betz.expand_heads
  func.func @prepare(%q: !query {betz.weight = "q"}, %w: !w {betz.weight = "w"},
                     %o: !o {betz.weight = "o"})
      -> (!query {betz.derived = "q"}, !w {betz.derived = "w"},
          !o {betz.derived = "o"}) {
    return %q, %w, %o : !query, !w, !o
  }
  // CHECK-LABEL: func @main
  // CHECK: betz.attention {{.+}}heads = 2 : i64
  func.func @main(%q: !query {betz.derived = "q"}, %w: !w {betz.derived = "w"},
                  %o: !o {betz.derived = "o"}, %x: !x {betz.input = "x"},
                  %qin: !query {betz.input = "qin"},
                  %win: !w {betz.input = "win"}, %oin: !o {betz.input = "oin"})
      -> (!out {betz.output = "y"}, !out {betz.output = "z"}) {
    %kv = betz.matmul %x, %w : (!x, !w) -> !kv
    %k = betz.slice %kv {offset = 0 : i64} : (!kv) -> tensor<?x9x8xf32, #betz.rows<"batch">>
    %v = betz.slice %kv {offset = 8 : i64} : (!kv) -> tensor<?x9x8xf32, #betz.rows<"batch">>
    %a = betz.attention %q, %k, %v
        {heads = 2 : i64, kv_heads = 1 : i64, scale = 0.35 : f64}
        : (!query, tensor<?x9x8xf32, #betz.rows<"batch">>, tensor<?x9x8xf32, #betz.rows<"batch">>) -> !read
    %y = betz.matmul %a, %o : (!read, !o) -> !out
    return %y, %y : !out, !out
  }
}

// -----

!x = tensor<?x9x16xf32, #betz.rows<"batch">>
!kv = tensor<?x9x32xf32, #betz.rows<"batch">>
!query = tensor<2x16xf32>
!read = tensor<?x2x16xf32, #betz.rows<"batch">>
!out = tensor<?x2x2xf32, #betz.rows<"batch">>
!w = tensor<32x16xf32>
!o = tensor<2x16xf32>

// The projection has two columns.
module attributes {betz.phase = "model", betz.symbols = ["batch"]} {
  // CHECK-LABEL: func @prepare
  // CHECK-NOT: betz.expand_heads
  func.func @prepare(%q: !query {betz.weight = "q"}, %w: !w {betz.weight = "w"},
                     %o: !o {betz.weight = "o"})
      -> (!query {betz.derived = "q"}, !w {betz.derived = "w"},
          !o {betz.derived = "o"}) {
    return %q, %w, %o : !query, !w, !o
  }
  // CHECK-LABEL: func @main
  // CHECK: betz.attention {{.+}}heads = 2 : i64
  func.func @main(%q: !query {betz.derived = "q"}, %w: !w {betz.derived = "w"},
                  %o: !o {betz.derived = "o"}, %x: !x {betz.input = "x"},
                  %qin: !query {betz.input = "qin"},
                  %win: !w {betz.input = "win"}, %oin: !o {betz.input = "oin"})
      -> (!out {betz.output = "y"}, !out {betz.output = "z"}) {
    %kv = betz.matmul %x, %w : (!x, !w) -> !kv
    %k = betz.slice %kv {offset = 0 : i64} : (!kv) -> tensor<?x9x16xf32, #betz.rows<"batch">>
    %v = betz.slice %kv {offset = 16 : i64} : (!kv) -> tensor<?x9x16xf32, #betz.rows<"batch">>
    %a = betz.attention %q, %k, %v
        {heads = 2 : i64, kv_heads = 2 : i64, scale = 0.35 : f64}
        : (!query, tensor<?x9x16xf32, #betz.rows<"batch">>, tensor<?x9x16xf32, #betz.rows<"batch">>) -> !read
    %y = betz.matmul %a, %o : (!read, !o) -> !out
    return %y, %y : !out, !out
  }
}

// -----

!x = tensor<?x9x16xf32, #betz.rows<"batch">>
!kv = tensor<?x9x32xf32, #betz.rows<"batch">>
!query = tensor<2x16xf32>
!read = tensor<?x2x16xf32, #betz.rows<"batch">>
!out = tensor<?x2x1xf32, #betz.rows<"batch">>
!w = tensor<32x16xf32>
!o = tensor<1x16xf32>

// The query is an input.
module attributes {betz.phase = "model", betz.symbols = ["batch"]} {
  // CHECK-LABEL: func @prepare
  // CHECK-NOT: betz.expand_heads
  func.func @prepare(%q: !query {betz.weight = "q"}, %w: !w {betz.weight = "w"},
                     %o: !o {betz.weight = "o"})
      -> (!query {betz.derived = "q"}, !w {betz.derived = "w"},
          !o {betz.derived = "o"}) {
    return %q, %w, %o : !query, !w, !o
  }
  // CHECK-LABEL: func @main
  // CHECK: betz.attention {{.+}}heads = 2 : i64
  func.func @main(%q: !query {betz.derived = "q"}, %w: !w {betz.derived = "w"},
                  %o: !o {betz.derived = "o"}, %x: !x {betz.input = "x"},
                  %qin: !query {betz.input = "qin"},
                  %win: !w {betz.input = "win"}, %oin: !o {betz.input = "oin"})
      -> (!out {betz.output = "y"}, !out {betz.output = "z"}) {
    %kv = betz.matmul %x, %w : (!x, !w) -> !kv
    %k = betz.slice %kv {offset = 0 : i64} : (!kv) -> tensor<?x9x16xf32, #betz.rows<"batch">>
    %v = betz.slice %kv {offset = 16 : i64} : (!kv) -> tensor<?x9x16xf32, #betz.rows<"batch">>
    %a = betz.attention %qin, %k, %v
        {heads = 2 : i64, kv_heads = 2 : i64, scale = 0.35 : f64}
        : (!query, tensor<?x9x16xf32, #betz.rows<"batch">>, tensor<?x9x16xf32, #betz.rows<"batch">>) -> !read
    %y = betz.matmul %a, %o : (!read, !o) -> !out
    return %y, %y : !out, !out
  }
}

// -----

!x = tensor<?x9x16xf32, #betz.rows<"batch">>
!kv = tensor<?x9x32xf32, #betz.rows<"batch">>
!query = tensor<2x16xf32>
!read = tensor<?x2x16xf32, #betz.rows<"batch">>
!out = tensor<?x2x1xf32, #betz.rows<"batch">>
!w = tensor<32x16xf32>
!o = tensor<1x16xf32>

// The key and value weight is an input.
module attributes {betz.phase = "model", betz.symbols = ["batch"]} {
  // CHECK-LABEL: func @prepare
  // CHECK-NOT: betz.expand_heads
  func.func @prepare(%q: !query {betz.weight = "q"}, %w: !w {betz.weight = "w"},
                     %o: !o {betz.weight = "o"})
      -> (!query {betz.derived = "q"}, !w {betz.derived = "w"},
          !o {betz.derived = "o"}) {
    return %q, %w, %o : !query, !w, !o
  }
  // CHECK-LABEL: func @main
  // CHECK: betz.attention {{.+}}heads = 2 : i64
  func.func @main(%q: !query {betz.derived = "q"}, %w: !w {betz.derived = "w"},
                  %o: !o {betz.derived = "o"}, %x: !x {betz.input = "x"},
                  %qin: !query {betz.input = "qin"},
                  %win: !w {betz.input = "win"}, %oin: !o {betz.input = "oin"})
      -> (!out {betz.output = "y"}, !out {betz.output = "z"}) {
    %kv = betz.matmul %x, %win : (!x, !w) -> !kv
    %k = betz.slice %kv {offset = 0 : i64} : (!kv) -> tensor<?x9x16xf32, #betz.rows<"batch">>
    %v = betz.slice %kv {offset = 16 : i64} : (!kv) -> tensor<?x9x16xf32, #betz.rows<"batch">>
    %a = betz.attention %q, %k, %v
        {heads = 2 : i64, kv_heads = 2 : i64, scale = 0.35 : f64}
        : (!query, tensor<?x9x16xf32, #betz.rows<"batch">>, tensor<?x9x16xf32, #betz.rows<"batch">>) -> !read
    %y = betz.matmul %a, %o : (!read, !o) -> !out
    return %y, %y : !out, !out
  }
}

// -----

!x = tensor<?x9x16xf32, #betz.rows<"batch">>
!kv = tensor<?x9x32xf32, #betz.rows<"batch">>
!query = tensor<2x16xf32>
!read = tensor<?x2x16xf32, #betz.rows<"batch">>
!out = tensor<?x2x1xf32, #betz.rows<"batch">>
!w = tensor<32x16xf32>
!o = tensor<1x16xf32>

// The output weight is an input.
module attributes {betz.phase = "model", betz.symbols = ["batch"]} {
  // CHECK-LABEL: func @prepare
  // CHECK-NOT: betz.expand_heads
  func.func @prepare(%q: !query {betz.weight = "q"}, %w: !w {betz.weight = "w"},
                     %o: !o {betz.weight = "o"})
      -> (!query {betz.derived = "q"}, !w {betz.derived = "w"},
          !o {betz.derived = "o"}) {
    return %q, %w, %o : !query, !w, !o
  }
  // CHECK-LABEL: func @main
  // CHECK: betz.attention {{.+}}heads = 2 : i64
  func.func @main(%q: !query {betz.derived = "q"}, %w: !w {betz.derived = "w"},
                  %o: !o {betz.derived = "o"}, %x: !x {betz.input = "x"},
                  %qin: !query {betz.input = "qin"},
                  %win: !w {betz.input = "win"}, %oin: !o {betz.input = "oin"})
      -> (!out {betz.output = "y"}, !out {betz.output = "z"}) {
    %kv = betz.matmul %x, %w : (!x, !w) -> !kv
    %k = betz.slice %kv {offset = 0 : i64} : (!kv) -> tensor<?x9x16xf32, #betz.rows<"batch">>
    %v = betz.slice %kv {offset = 16 : i64} : (!kv) -> tensor<?x9x16xf32, #betz.rows<"batch">>
    %a = betz.attention %q, %k, %v
        {heads = 2 : i64, kv_heads = 2 : i64, scale = 0.35 : f64}
        : (!query, tensor<?x9x16xf32, #betz.rows<"batch">>, tensor<?x9x16xf32, #betz.rows<"batch">>) -> !read
    %y = betz.matmul %a, %oin : (!read, !o) -> !out
    return %y, %y : !out, !out
  }
}

// -----

!x = tensor<?x9x16xf32, #betz.rows<"batch">>
!kv = tensor<?x9x32xf32, #betz.rows<"batch">>
!query = tensor<2x16xf32>
!read = tensor<?x2x16xf32, #betz.rows<"batch">>
!out = tensor<?x2x1xf32, #betz.rows<"batch">>
!w = tensor<2x16x16xf32>
!o = tensor<1x16xf32>

// The key and value weight is packed.
module attributes {betz.phase = "model", betz.symbols = ["batch"]} {
  // CHECK-LABEL: func @prepare
  // CHECK-NOT: betz.expand_heads
  func.func @prepare(%q: !query {betz.weight = "q"}, %w: !w {betz.weight = "w"},
                     %o: !o {betz.weight = "o"})
      -> (!query {betz.derived = "q"}, !w {betz.derived = "w"},
          !o {betz.derived = "o"}) {
    return %q, %w, %o : !query, !w, !o
  }
  // CHECK-LABEL: func @main
  // CHECK: betz.attention {{.+}}heads = 2 : i64
  func.func @main(%q: !query {betz.derived = "q"}, %w: !w {betz.derived = "w"},
                  %o: !o {betz.derived = "o"}, %x: !x {betz.input = "x"},
                  %qin: !query {betz.input = "qin"},
                  %win: !w {betz.input = "win"}, %oin: !o {betz.input = "oin"})
      -> (!out {betz.output = "y"}, !out {betz.output = "z"}) {
    %kv = betz.matmul %x, %w {columns = 32 : i64} : (!x, !w) -> !kv
    %k = betz.slice %kv {offset = 0 : i64} : (!kv) -> tensor<?x9x16xf32, #betz.rows<"batch">>
    %v = betz.slice %kv {offset = 16 : i64} : (!kv) -> tensor<?x9x16xf32, #betz.rows<"batch">>
    %a = betz.attention %q, %k, %v
        {heads = 2 : i64, kv_heads = 2 : i64, scale = 0.35 : f64}
        : (!query, tensor<?x9x16xf32, #betz.rows<"batch">>, tensor<?x9x16xf32, #betz.rows<"batch">>) -> !read
    %y = betz.matmul %a, %o : (!read, !o) -> !out
    return %y, %y : !out, !out
  }
}

// -----

!x = tensor<?x9x16xf32, #betz.rows<"batch">>
!kv = tensor<?x9x32xf32, #betz.rows<"batch">>
!query = tensor<2x16xf32>
!read = tensor<?x2x16xf32, #betz.rows<"batch">>
!out = tensor<?x2x1xf32, #betz.rows<"batch">>
!w = tensor<32x16xf32>
!o = tensor<1x16x16xf32>

// The output weight is packed.
module attributes {betz.phase = "model", betz.symbols = ["batch"]} {
  // CHECK-LABEL: func @prepare
  // CHECK-NOT: betz.expand_heads
  func.func @prepare(%q: !query {betz.weight = "q"}, %w: !w {betz.weight = "w"},
                     %o: !o {betz.weight = "o"})
      -> (!query {betz.derived = "q"}, !w {betz.derived = "w"},
          !o {betz.derived = "o"}) {
    return %q, %w, %o : !query, !w, !o
  }
  // CHECK-LABEL: func @main
  // CHECK: betz.attention {{.+}}heads = 2 : i64
  func.func @main(%q: !query {betz.derived = "q"}, %w: !w {betz.derived = "w"},
                  %o: !o {betz.derived = "o"}, %x: !x {betz.input = "x"},
                  %qin: !query {betz.input = "qin"},
                  %win: !w {betz.input = "win"}, %oin: !o {betz.input = "oin"})
      -> (!out {betz.output = "y"}, !out {betz.output = "z"}) {
    %kv = betz.matmul %x, %w : (!x, !w) -> !kv
    %k = betz.slice %kv {offset = 0 : i64} : (!kv) -> tensor<?x9x16xf32, #betz.rows<"batch">>
    %v = betz.slice %kv {offset = 16 : i64} : (!kv) -> tensor<?x9x16xf32, #betz.rows<"batch">>
    %a = betz.attention %q, %k, %v
        {heads = 2 : i64, kv_heads = 2 : i64, scale = 0.35 : f64}
        : (!query, tensor<?x9x16xf32, #betz.rows<"batch">>, tensor<?x9x16xf32, #betz.rows<"batch">>) -> !read
    %y = betz.matmul %a, %o {columns = 1 : i64} : (!read, !o) -> !out
    return %y, %y : !out, !out
  }
}

// -----

!x = tensor<?x9x16xf32, #betz.rows<"batch">>
!kv = tensor<?x9x32xf32, #betz.rows<"batch">>
!query = tensor<2x16xf32>
!read = tensor<?x2x16xf32, #betz.rows<"batch">>
!out = tensor<?x2x1xf32, #betz.rows<"batch">>
!w = tensor<32x16xf32>
!o = tensor<1x16xf32>

// Keys are an output.
module attributes {betz.phase = "model", betz.symbols = ["batch"]} {
  // CHECK-LABEL: func @prepare
  // CHECK-NOT: betz.expand_heads
  func.func @prepare(%q: !query {betz.weight = "q"}, %w: !w {betz.weight = "w"},
                     %o: !o {betz.weight = "o"})
      -> (!query {betz.derived = "q"}, !w {betz.derived = "w"},
          !o {betz.derived = "o"}) {
    return %q, %w, %o : !query, !w, !o
  }
  // CHECK-LABEL: func @main
  // CHECK: betz.attention {{.+}}heads = 2 : i64
  func.func @main(%q: !query {betz.derived = "q"}, %w: !w {betz.derived = "w"},
                  %o: !o {betz.derived = "o"}, %x: !x {betz.input = "x"},
                  %qin: !query {betz.input = "qin"},
                  %win: !w {betz.input = "win"}, %oin: !o {betz.input = "oin"})
      -> (!out {betz.output = "y"}, tensor<?x9x16xf32, #betz.rows<"batch">> {betz.output = "z"}) {
    %kv = betz.matmul %x, %w : (!x, !w) -> !kv
    %k = betz.slice %kv {offset = 0 : i64} : (!kv) -> tensor<?x9x16xf32, #betz.rows<"batch">>
    %v = betz.slice %kv {offset = 16 : i64} : (!kv) -> tensor<?x9x16xf32, #betz.rows<"batch">>
    %a = betz.attention %q, %k, %v
        {heads = 2 : i64, kv_heads = 2 : i64, scale = 0.35 : f64}
        : (!query, tensor<?x9x16xf32, #betz.rows<"batch">>, tensor<?x9x16xf32, #betz.rows<"batch">>) -> !read
    %y = betz.matmul %a, %o : (!read, !o) -> !out
    return %y, %k : !out, tensor<?x9x16xf32, #betz.rows<"batch">>
  }
}

// -----

!x = tensor<?x9x16xf32, #betz.rows<"batch">>
!kv = tensor<?x9x32xf32, #betz.rows<"batch">>
!query = tensor<2x16xf32>
!read = tensor<?x2x16xf32, #betz.rows<"batch">>
!out = tensor<?x2x1xf32, #betz.rows<"batch">>
!w = tensor<32x16xf32>
!o = tensor<1x16xf32>

// Values are an output.
module attributes {betz.phase = "model", betz.symbols = ["batch"]} {
  // CHECK-LABEL: func @prepare
  // CHECK-NOT: betz.expand_heads
  func.func @prepare(%q: !query {betz.weight = "q"}, %w: !w {betz.weight = "w"},
                     %o: !o {betz.weight = "o"})
      -> (!query {betz.derived = "q"}, !w {betz.derived = "w"},
          !o {betz.derived = "o"}) {
    return %q, %w, %o : !query, !w, !o
  }
  // CHECK-LABEL: func @main
  // CHECK: betz.attention {{.+}}heads = 2 : i64
  func.func @main(%q: !query {betz.derived = "q"}, %w: !w {betz.derived = "w"},
                  %o: !o {betz.derived = "o"}, %x: !x {betz.input = "x"},
                  %qin: !query {betz.input = "qin"},
                  %win: !w {betz.input = "win"}, %oin: !o {betz.input = "oin"})
      -> (!out {betz.output = "y"}, tensor<?x9x16xf32, #betz.rows<"batch">> {betz.output = "z"}) {
    %kv = betz.matmul %x, %w : (!x, !w) -> !kv
    %k = betz.slice %kv {offset = 0 : i64} : (!kv) -> tensor<?x9x16xf32, #betz.rows<"batch">>
    %v = betz.slice %kv {offset = 16 : i64} : (!kv) -> tensor<?x9x16xf32, #betz.rows<"batch">>
    %a = betz.attention %q, %k, %v
        {heads = 2 : i64, kv_heads = 2 : i64, scale = 0.35 : f64}
        : (!query, tensor<?x9x16xf32, #betz.rows<"batch">>, tensor<?x9x16xf32, #betz.rows<"batch">>) -> !read
    %y = betz.matmul %a, %o : (!read, !o) -> !out
    return %y, %v : !out, tensor<?x9x16xf32, #betz.rows<"batch">>
  }
}

// -----

!x = tensor<?x9x16xf32, #betz.rows<"batch">>
!kv = tensor<?x9x32xf32, #betz.rows<"batch">>
!query = tensor<2x16xf32>
!read = tensor<?x2x16xf32, #betz.rows<"batch">>
!out = tensor<?x2x1xf32, #betz.rows<"batch">>
!w = tensor<32x16xf32>
!o = tensor<1x16xf32>

// What attention gives is an output.
module attributes {betz.phase = "model", betz.symbols = ["batch"]} {
  // CHECK-LABEL: func @prepare
  // CHECK-NOT: betz.expand_heads
  func.func @prepare(%q: !query {betz.weight = "q"}, %w: !w {betz.weight = "w"},
                     %o: !o {betz.weight = "o"})
      -> (!query {betz.derived = "q"}, !w {betz.derived = "w"},
          !o {betz.derived = "o"}) {
    return %q, %w, %o : !query, !w, !o
  }
  // CHECK-LABEL: func @main
  // CHECK: betz.attention {{.+}}heads = 2 : i64
  func.func @main(%q: !query {betz.derived = "q"}, %w: !w {betz.derived = "w"},
                  %o: !o {betz.derived = "o"}, %x: !x {betz.input = "x"},
                  %qin: !query {betz.input = "qin"},
                  %win: !w {betz.input = "win"}, %oin: !o {betz.input = "oin"})
      -> (!out {betz.output = "y"}, !read {betz.output = "z"}) {
    %kv = betz.matmul %x, %w : (!x, !w) -> !kv
    %k = betz.slice %kv {offset = 0 : i64} : (!kv) -> tensor<?x9x16xf32, #betz.rows<"batch">>
    %v = betz.slice %kv {offset = 16 : i64} : (!kv) -> tensor<?x9x16xf32, #betz.rows<"batch">>
    %a = betz.attention %q, %k, %v
        {heads = 2 : i64, kv_heads = 2 : i64, scale = 0.35 : f64}
        : (!query, tensor<?x9x16xf32, #betz.rows<"batch">>, tensor<?x9x16xf32, #betz.rows<"batch">>) -> !read
    %y = betz.matmul %a, %o : (!read, !o) -> !out
    return %y, %a : !out, !read
  }
}

// -----

!x = tensor<?x9x16xf32, #betz.rows<"batch">>
!kv = tensor<?x9x32xf32, #betz.rows<"batch">>
!query = tensor<2x16xf32>
!read = tensor<?x2x16xf32, #betz.rows<"batch">>
!out = tensor<?x2x1xf32, #betz.rows<"batch">>
!w = tensor<32x16xf32>
!o = tensor<1x16xf32>

// The whole projection is an output.
module attributes {betz.phase = "model", betz.symbols = ["batch"]} {
  // CHECK-LABEL: func @prepare
  // CHECK-NOT: betz.expand_heads
  func.func @prepare(%q: !query {betz.weight = "q"}, %w: !w {betz.weight = "w"},
                     %o: !o {betz.weight = "o"})
      -> (!query {betz.derived = "q"}, !w {betz.derived = "w"},
          !o {betz.derived = "o"}) {
    return %q, %w, %o : !query, !w, !o
  }
  // CHECK-LABEL: func @main
  // CHECK: betz.attention {{.+}}heads = 2 : i64
  func.func @main(%q: !query {betz.derived = "q"}, %w: !w {betz.derived = "w"},
                  %o: !o {betz.derived = "o"}, %x: !x {betz.input = "x"},
                  %qin: !query {betz.input = "qin"},
                  %win: !w {betz.input = "win"}, %oin: !o {betz.input = "oin"})
      -> (!out {betz.output = "y"}, !kv {betz.output = "z"}) {
    %kv = betz.matmul %x, %w : (!x, !w) -> !kv
    %k = betz.slice %kv {offset = 0 : i64} : (!kv) -> tensor<?x9x16xf32, #betz.rows<"batch">>
    %v = betz.slice %kv {offset = 16 : i64} : (!kv) -> tensor<?x9x16xf32, #betz.rows<"batch">>
    %a = betz.attention %q, %k, %v
        {heads = 2 : i64, kv_heads = 2 : i64, scale = 0.35 : f64}
        : (!query, tensor<?x9x16xf32, #betz.rows<"batch">>, tensor<?x9x16xf32, #betz.rows<"batch">>) -> !read
    %y = betz.matmul %a, %o : (!read, !o) -> !out
    return %y, %kv : !out, !kv
  }
}

// -----

!x = tensor<?x9x16xf32, #betz.rows<"batch">>
!kv = tensor<?x9x32xf32, #betz.rows<"batch">>
!query = tensor<2x16xf32>
!read = tensor<?x2x16xf32, #betz.rows<"batch">>
!out = tensor<?x2x1xf32, #betz.rows<"batch">>
!w = tensor<32x16xf32>
!o = tensor<1x16xf32>

// Keys are the values.
module attributes {betz.phase = "model", betz.symbols = ["batch"]} {
  // CHECK-LABEL: func @prepare
  // CHECK-NOT: betz.expand_heads
  func.func @prepare(%q: !query {betz.weight = "q"}, %w: !w {betz.weight = "w"},
                     %o: !o {betz.weight = "o"})
      -> (!query {betz.derived = "q"}, !w {betz.derived = "w"},
          !o {betz.derived = "o"}) {
    return %q, %w, %o : !query, !w, !o
  }
  // CHECK-LABEL: func @main
  // CHECK: betz.attention {{.+}}heads = 2 : i64
  func.func @main(%q: !query {betz.derived = "q"}, %w: !w {betz.derived = "w"},
                  %o: !o {betz.derived = "o"}, %x: !x {betz.input = "x"},
                  %qin: !query {betz.input = "qin"},
                  %win: !w {betz.input = "win"}, %oin: !o {betz.input = "oin"})
      -> (!out {betz.output = "y"}, !out {betz.output = "z"}) {
    %kv = betz.matmul %x, %w : (!x, !w) -> !kv
    %k = betz.slice %kv {offset = 0 : i64} : (!kv) -> tensor<?x9x16xf32, #betz.rows<"batch">>
    %v = betz.slice %kv {offset = 16 : i64} : (!kv) -> tensor<?x9x16xf32, #betz.rows<"batch">>
    %a = betz.attention %q, %k, %k
        {heads = 2 : i64, kv_heads = 2 : i64, scale = 0.35 : f64}
        : (!query, tensor<?x9x16xf32, #betz.rows<"batch">>, tensor<?x9x16xf32, #betz.rows<"batch">>) -> !read
    %y = betz.matmul %a, %o : (!read, !o) -> !out
    return %y, %y : !out, !out
  }
}

// -----

!x = tensor<?x9x16xf32, #betz.rows<"batch">>
!kv = tensor<?x9x32xf32, #betz.rows<"batch">>
!query = tensor<2x16xf32>
!read = tensor<?x2x16xf32, #betz.rows<"batch">>
!out = tensor<?x2x1xf32, #betz.rows<"batch">>
!w = tensor<32x16xf32>
!o = tensor<1x16xf32>

// Something turns the keys.
module attributes {betz.phase = "model", betz.symbols = ["batch"]} {
  // CHECK-LABEL: func @prepare
  // CHECK-NOT: betz.expand_heads
  func.func @prepare(%q: !query {betz.weight = "q"}, %w: !w {betz.weight = "w"},
                     %o: !o {betz.weight = "o"})
      -> (!query {betz.derived = "q"}, !w {betz.derived = "w"},
          !o {betz.derived = "o"}) {
    return %q, %w, %o : !query, !w, !o
  }
  // CHECK-LABEL: func @main
  // CHECK: betz.attention {{.+}}heads = 2 : i64
  func.func @main(%q: !query {betz.derived = "q"}, %w: !w {betz.derived = "w"},
                  %o: !o {betz.derived = "o"}, %x: !x {betz.input = "x"},
                  %qin: !query {betz.input = "qin"},
                  %win: !w {betz.input = "win"}, %oin: !o {betz.input = "oin"})
      -> (!out {betz.output = "y"}, !out {betz.output = "z"}) {
    %kv = betz.matmul %x, %w : (!x, !w) -> !kv
    %k = betz.slice %kv {offset = 0 : i64} : (!kv) -> tensor<?x9x16xf32, #betz.rows<"batch">>
    %v = betz.slice %kv {offset = 16 : i64} : (!kv) -> tensor<?x9x16xf32, #betz.rows<"batch">>
    %t = betz.rotary %k {heads = 2 : i64, offset = 0.5 : f64, step = 1.0 : f64,
                         period_min = 1.0 : f64, period_max = 9.0 : f64}
        : (tensor<?x9x16xf32, #betz.rows<"batch">>) -> tensor<?x9x16xf32, #betz.rows<"batch">>
    %a = betz.attention %q, %t, %v
        {heads = 2 : i64, kv_heads = 2 : i64, scale = 0.35 : f64}
        : (!query, tensor<?x9x16xf32, #betz.rows<"batch">>, tensor<?x9x16xf32, #betz.rows<"batch">>) -> !read
    %y = betz.matmul %a, %o : (!read, !o) -> !out
    return %y, %y : !out, !out
  }
}

// -----

!events = tensor<?x16xf32, #betz.rows<"events">>
!kv = tensor<?x32xf32, #betz.rows<"events">>
!splits = tensor<?xi32, #betz.rows<"batch" + 1>>
!read = tensor<?x2x16xf32, #betz.rows<"batch">>
!out = tensor<?x2x1xf32, #betz.rows<"batch">>

// Ragged keys.
module attributes {betz.phase = "model", betz.symbols = ["batch", "events"]} {
  // CHECK-LABEL: func @prepare
  // CHECK-NOT: betz.expand_heads
  func.func @prepare(%q: tensor<2x16xf32> {betz.weight = "q"},
                     %w: tensor<32x16xf32> {betz.weight = "w"},
                     %o: tensor<1x16xf32> {betz.weight = "o"})
      -> (tensor<2x16xf32> {betz.derived = "q"},
          tensor<32x16xf32> {betz.derived = "w"},
          tensor<1x16xf32> {betz.derived = "o"}) {
    return %q, %w, %o
        : tensor<2x16xf32>, tensor<32x16xf32>, tensor<1x16xf32>
  }
  // CHECK-LABEL: func @main
  // CHECK: betz.attention {{.+}}heads = 2 : i64
  func.func @main(%q: tensor<2x16xf32> {betz.derived = "q"},
                  %w: tensor<32x16xf32> {betz.derived = "w"},
                  %o: tensor<1x16xf32> {betz.derived = "o"},
                  %x: !events {betz.input = "x"}, %s: !splits {betz.input = "s"})
      -> (!out {betz.output = "y"}) {
    %kv = betz.matmul %x, %w : (!events, tensor<32x16xf32>) -> !kv
    %k = betz.slice %kv {offset = 0 : i64} : (!kv) -> !events
    %v = betz.slice %kv {offset = 16 : i64} : (!kv) -> !events
    %a = betz.attention %q, %k, %v splits %s
        {heads = 2 : i64, kv_heads = 2 : i64, scale = 0.35 : f64}
        : (tensor<2x16xf32>, !events, !events, !splits) -> !read
    %y = betz.matmul %a, %o : (!read, tensor<1x16xf32>) -> !out
    return %y : !out
  }
}

// -----

!x = tensor<?x9x16xf32, #betz.rows<"batch">>
!kv = tensor<?x9x32xf32, #betz.rows<"batch">>
!read = tensor<?x2x16xf32, #betz.rows<"batch">>
!out = tensor<?x2x1xf32, #betz.rows<"batch">>

// A block map: the folded attention has one query only.
module attributes {betz.phase = "model", betz.symbols = ["batch"]} {
  // CHECK-LABEL: func @prepare
  // CHECK-NOT: betz.expand_heads
  func.func @prepare(%q: tensor<2x16xf32> {betz.weight = "q"},
                     %w: tensor<32x16xf32> {betz.weight = "w"},
                     %o: tensor<1x16xf32> {betz.weight = "o"})
      -> (tensor<2x16xf32> {betz.derived = "q"},
          tensor<32x16xf32> {betz.derived = "w"},
          tensor<1x16xf32> {betz.derived = "o"}) {
    return %q, %w, %o
        : tensor<2x16xf32>, tensor<32x16xf32>, tensor<1x16xf32>
  }
  // CHECK-LABEL: func @main
  // CHECK: betz.attention {{.+}} blocks {{.+}}heads = 2 : i64
  func.func @main(%q: tensor<2x16xf32> {betz.derived = "q"},
                  %w: tensor<32x16xf32> {betz.derived = "w"},
                  %o: tensor<1x16xf32> {betz.derived = "o"},
                  %x: !x {betz.input = "x"},
                  %m: tensor<1x1xi32> {betz.input = "m"})
      -> (!out {betz.output = "y"}) {
    %kv = betz.matmul %x, %w : (!x, tensor<32x16xf32>) -> !kv
    %k = betz.slice %kv {offset = 0 : i64} : (!kv) -> !x
    %v = betz.slice %kv {offset = 16 : i64} : (!kv) -> !x
    %a = betz.attention %q, %k, %v blocks %m
        {heads = 2 : i64, kv_heads = 2 : i64, scale = 0.35 : f64,
         map_block = 64 : i64}
        : (tensor<2x16xf32>, !x, !x, tensor<1x1xi32>) -> !read
    %y = betz.matmul %a, %o : (!read, tensor<1x16xf32>) -> !out
    return %y : !out
  }
}
