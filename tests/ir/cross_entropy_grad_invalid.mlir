// RUN: betz-opt %s -verify-diagnostics -split-input-file

func.func @c1(%x: tensor<?x5x8xf32, #betz.rows<"batch">>,
              %l: tensor<?xi32, #betz.rows<"batch">>,
              %d: tensor<1xf32>) {
  // expected-error @+1 {{(C1) label must be i32[...] for logits: [..., C]}}
  %y = betz.cross_entropy_grad %x, %l, %d
      : (tensor<?x5x8xf32, #betz.rows<"batch">>,
         tensor<?xi32, #betz.rows<"batch">>,
         tensor<1xf32>)
      -> tensor<?x5x8xf32, #betz.rows<"batch">>
  return
}

// -----

func.func @c2(%x: tensor<?x5x8xf32, #betz.rows<"batch">>,
              %l: tensor<?x5xi32, #betz.rows<"batch">>,
              %d: tensor<1xf32>) {
  // expected-error @+1 {{(C2) result type 'tensor<?x5x7xf32, #betz.rows<"batch">>' differs from 'tensor<?x5x8xf32, #betz.rows<"batch">>'}}
  %y = betz.cross_entropy_grad %x, %l, %d
      : (tensor<?x5x8xf32, #betz.rows<"batch">>,
         tensor<?x5xi32, #betz.rows<"batch">>,
         tensor<1xf32>)
      -> tensor<?x5x7xf32, #betz.rows<"batch">>
  return
}

// -----

func.func @c3(%x: tensor<?x5x8xf32, #betz.rows<"batch">>,
              %l: tensor<?x5xi32, #betz.rows<"batch">>,
              %d: tensor<2xf32>) {
  // expected-error @+1 {{(C3) dloss must be f32[1]}}
  %y = betz.cross_entropy_grad %x, %l, %d
      : (tensor<?x5x8xf32, #betz.rows<"batch">>,
         tensor<?x5xi32, #betz.rows<"batch">>,
         tensor<2xf32>)
      -> tensor<?x5x8xf32, #betz.rows<"batch">>
  return
}
