// RUN: betz-opt %s -verify-diagnostics -split-input-file

func.func @c1_counts(%i: tensor<5xi32>, %t: tensor<9x4xf32>) {
  // expected-error @+1 {{(C1) needs as many indices as tables, at least one}}
  %x = betz.gather_sum (%i, %i) in (%t)
      : (tensor<5xi32>, tensor<5xi32>, tensor<9x4xf32>) -> tensor<5x4xf32>
  return
}

// -----

func.func @c1_none() {
  // expected-error @+1 {{(C1) needs as many indices as tables, at least one}}
  %x = betz.gather_sum () in () : () -> tensor<5x4xf32>
  return
}

// -----

func.func @c2_types(%i: tensor<5xi32>, %j: tensor<6xi32>, %t: tensor<9x4xf32>) {
  // expected-error @+1 {{(C2) indices must be i32[E] or i32[B, Q] of one type}}
  %x = betz.gather_sum (%i, %j) in (%t, %t)
      : (tensor<5xi32>, tensor<6xi32>, tensor<9x4xf32>, tensor<9x4xf32>)
      -> tensor<5x4xf32>
  return
}

// -----

func.func @c2_rank(%i: tensor<5x1x1xi32>, %t: tensor<9x4xf32>) {
  // expected-error @+1 {{(C2) indices must be i32[E] or i32[B, Q] of one type}}
  %x = betz.gather_sum (%i) in (%t)
      : (tensor<5x1x1xi32>, tensor<9x4xf32>) -> tensor<5x4xf32>
  return
}

// -----

func.func @c3_columns(%i: tensor<5xi32>, %t: tensor<9x4xf32>,
                      %u: tensor<9x3xf32>) {
  // expected-error @+1 {{(C3) tables must be constant [*, D] of one D and element type}}
  %x = betz.gather_sum (%i, %i) in (%t, %u)
      : (tensor<5xi32>, tensor<5xi32>, tensor<9x4xf32>, tensor<9x3xf32>)
      -> tensor<5x4xf32>
  return
}

// -----

func.func @c3_element(%i: tensor<5xi32>, %t: tensor<9x4xf32>,
                      %u: tensor<9x4xbf16>) {
  // expected-error @+1 {{(C3) tables must be constant [*, D] of one D and element type}}
  %x = betz.gather_sum (%i, %i) in (%t, %u)
      : (tensor<5xi32>, tensor<5xi32>, tensor<9x4xf32>, tensor<9x4xbf16>)
      -> tensor<5x4xf32>
  return
}

// -----

func.func @c3_dynamic(%i: tensor<5xi32>,
                      %t: tensor<?x4xf32, #betz.rows<"rows">>) {
  // expected-error @+1 {{(C3) tables must be constant [*, D] of one D and element type}}
  %x = betz.gather_sum (%i) in (%t)
      : (tensor<5xi32>, tensor<?x4xf32, #betz.rows<"rows">>) -> tensor<5x4xf32>
  return
}

// -----

func.func @c4(%i: tensor<5xi32>, %t: tensor<9x4xf32>) {
  // expected-error @+1 {{(C4) the result must be 'tensor<5x4xf32>'}}
  %x = betz.gather_sum (%i) in (%t)
      : (tensor<5xi32>, tensor<9x4xf32>) -> tensor<4x5xf32>
  return
}
