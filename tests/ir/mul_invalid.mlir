// RUN: betz-opt %s -verify-diagnostics -split-input-file

func.func @c1_suffix(%x: tensor<3x4xf32>, %y: tensor<3xf32>) {
  // expected-error @+1 {{(C1) the shape of rhs must be a suffix of lhs's}}
  %z = betz.mul %x, %y : (tensor<3x4xf32>, tensor<3xf32>) -> tensor<3x4xf32>
  return
}

// -----

func.func @c1_wider(%x: tensor<4xf32>, %y: tensor<3x4xf32>) {
  // expected-error @+1 {{(C1) the shape of rhs must be a suffix of lhs's}}
  %z = betz.mul %x, %y : (tensor<4xf32>, tensor<3x4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @c1_element(%x: tensor<3x4xf32>, %y: tensor<4xbf16>) {
  // expected-error @+1 {{(C1) the shape of rhs must be a suffix of lhs's}}
  %z = betz.mul %x, %y : (tensor<3x4xf32>, tensor<4xbf16>) -> tensor<3x4xf32>
  return
}

// -----

func.func @c1_symbol(%x: tensor<?x4xf32, #betz.rows<"batch">>,
                     %y: tensor<?x4xf32, #betz.rows<"events">>) {
  // expected-error @+1 {{(C1) the shape of rhs must be a suffix of lhs's}}
  %z = betz.mul %x, %y
      : (tensor<?x4xf32, #betz.rows<"batch">>,
         tensor<?x4xf32, #betz.rows<"events">>)
      -> tensor<?x4xf32, #betz.rows<"batch">>
  return
}

// -----

func.func @c2(%x: tensor<3x4xf32>, %y: tensor<4xf32>) {
  // expected-error @+1 {{(C2) result type 'tensor<4xf32>' differs from 'tensor<3x4xf32>'}}
  %z = betz.mul %x, %y : (tensor<3x4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return
}
