// RUN: betz-opt %s -verify-diagnostics -split-input-file

func.func @c1_count(%x: tensor<6x4xf32>) {
  // expected-error @+1 {{(C1) both shapes must hold the same elements}}
  %y = betz.reshape %x : (tensor<6x4xf32>) -> tensor<5x5xf32>
  return
}

// -----

func.func @c1_symbol(%x: tensor<?x4xf32, #betz.rows<"batch">>) {
  // expected-error @+1 {{(C1) both shapes must hold the same elements}}
  %y = betz.reshape %x : (tensor<?x4xf32, #betz.rows<"batch">>)
      -> tensor<?x4xf32, #betz.rows<"events">>
  return
}

// -----

func.func @c1_dynamic(%x: tensor<?x4xf32, #betz.rows<"batch">>) {
  // expected-error @+1 {{(C1) both shapes must hold the same elements}}
  %y = betz.reshape %x
      : (tensor<?x4xf32, #betz.rows<"batch">>) -> tensor<2x2xf32>
  return
}

// -----

func.func @c2(%x: tensor<6x4xf32>) {
  // expected-error @+1 {{(C2) element types must be equal}}
  %y = betz.reshape %x : (tensor<6x4xf32>) -> tensor<4x6xbf16>
  return
}
