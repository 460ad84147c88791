// RUN: betz-opt %s -verify-diagnostics -split-input-file

func.func @c1_shape(%x: tensor<?x5x8xf32, #betz.rows<"batch">>,
                    %l: tensor<?xi32, #betz.rows<"batch">>) {
  // expected-error @+1 {{(C1) label must be i32[...] for logits: [..., C]}}
  %y = betz.cross_entropy %x, %l
      : (tensor<?x5x8xf32, #betz.rows<"batch">>,
         tensor<?xi32, #betz.rows<"batch">>)
      -> tensor<1xf32>
  return
}

// -----

func.func @c1_rank(%x: tensor<8xf32>,
                   %l: tensor<i32>) {
  // expected-error @+1 {{(C1) label must be i32[...] for logits: [..., C]}}
  %y = betz.cross_entropy %x, %l
      : (tensor<8xf32>,
         tensor<i32>)
      -> tensor<1xf32>
  return
}

// -----

func.func @c2(%x: tensor<?x5x8xf32, #betz.rows<"batch">>,
              %l: tensor<?x5xi32, #betz.rows<"batch">>) {
  // expected-error @+1 {{(C2) the result must be f32[1]}}
  %y = betz.cross_entropy %x, %l
      : (tensor<?x5x8xf32, #betz.rows<"batch">>,
         tensor<?x5xi32, #betz.rows<"batch">>)
      -> tensor<2xf32>
  return
}
