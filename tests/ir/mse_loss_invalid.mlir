// RUN: betz-opt %s -verify-diagnostics -split-input-file

func.func @c1(%x: tensor<?x2xf32, #betz.rows<"batch">>,
              %t: tensor<?x3xf32, #betz.rows<"batch">>) {
  // expected-error @+1 {{(C1) target must have the type of x}}
  %y = betz.mse_loss %x, %t
      : (tensor<?x2xf32, #betz.rows<"batch">>,
         tensor<?x3xf32, #betz.rows<"batch">>)
      -> tensor<1xf32>
  return
}

// -----

func.func @c2(%x: tensor<?x2xf32, #betz.rows<"batch">>,
              %t: tensor<?x2xf32, #betz.rows<"batch">>) {
  // expected-error @+1 {{(C2) the result must be f32[1]}}
  %y = betz.mse_loss %x, %t
      : (tensor<?x2xf32, #betz.rows<"batch">>,
         tensor<?x2xf32, #betz.rows<"batch">>)
      -> tensor<2xf32>
  return
}
