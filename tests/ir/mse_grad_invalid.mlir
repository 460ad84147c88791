// RUN: betz-opt %s -verify-diagnostics -split-input-file

func.func @c1(%x: tensor<?x2xf32, #betz.rows<"batch">>,
              %t: tensor<?x3xf32, #betz.rows<"batch">>,
              %d: tensor<1xf32>) {
  // expected-error @+1 {{(C1) target must have the type of x}}
  %y = betz.mse_grad %x, %t, %d
      : (tensor<?x2xf32, #betz.rows<"batch">>,
         tensor<?x3xf32, #betz.rows<"batch">>,
         tensor<1xf32>)
      -> tensor<?x2xf32, #betz.rows<"batch">>
  return
}

// -----

func.func @c2(%x: tensor<?x2xf32, #betz.rows<"batch">>,
              %t: tensor<?x2xf32, #betz.rows<"batch">>,
              %d: tensor<1xf32>) {
  // expected-error @+1 {{(C2) result type 'tensor<?x3xf32, #betz.rows<"batch">>' differs from 'tensor<?x2xf32, #betz.rows<"batch">>'}}
  %y = betz.mse_grad %x, %t, %d
      : (tensor<?x2xf32, #betz.rows<"batch">>,
         tensor<?x2xf32, #betz.rows<"batch">>,
         tensor<1xf32>)
      -> tensor<?x3xf32, #betz.rows<"batch">>
  return
}

// -----

func.func @c3(%x: tensor<?x2xf32, #betz.rows<"batch">>,
              %t: tensor<?x2xf32, #betz.rows<"batch">>,
              %d: tensor<2xf32>) {
  // expected-error @+1 {{(C3) dloss must be f32[1]}}
  %y = betz.mse_grad %x, %t, %d
      : (tensor<?x2xf32, #betz.rows<"batch">>,
         tensor<?x2xf32, #betz.rows<"batch">>,
         tensor<2xf32>)
      -> tensor<?x2xf32, #betz.rows<"batch">>
  return
}
