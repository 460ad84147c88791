// RUN: betz-opt %s -verify-diagnostics -split-input-file

func.func @c1(%x: tensor<?x64xf32, #betz.rows<"events">>,
              %g: tensor<63xf32>,
              %dy: tensor<?x64xf32, #betz.rows<"events">>) {
  // expected-error @+1 {{(C1) gain must be [D] for x: [..., D]}}
  %y = betz.norm_grad rms %x, %g, %dy {eps = 0.25 : f64}
      : (tensor<?x64xf32, #betz.rows<"events">>,
         tensor<63xf32>,
         tensor<?x64xf32, #betz.rows<"events">>)
      -> tensor<?x64xf32, #betz.rows<"events">>
  return
}

// -----

func.func @c2_dy(%x: tensor<?x64xf32, #betz.rows<"events">>,
                 %g: tensor<64xf32>,
                 %dy: tensor<?x64xf32, #betz.rows<"batch">>) {
  // expected-error @+1 {{(C2) dy and the result must have the type of x}}
  %y = betz.norm_grad rms %x, %g, %dy {eps = 0.25 : f64}
      : (tensor<?x64xf32, #betz.rows<"events">>,
         tensor<64xf32>,
         tensor<?x64xf32, #betz.rows<"batch">>)
      -> tensor<?x64xf32, #betz.rows<"events">>
  return
}

// -----

func.func @c2_result(%x: tensor<?x64xf32, #betz.rows<"events">>,
                     %g: tensor<64xf32>,
                     %dy: tensor<?x64xf32, #betz.rows<"events">>) {
  // expected-error @+1 {{(C2) dy and the result must have the type of x}}
  %y = betz.norm_grad rms %x, %g, %dy {eps = 0.25 : f64}
      : (tensor<?x64xf32, #betz.rows<"events">>,
         tensor<64xf32>,
         tensor<?x64xf32, #betz.rows<"events">>)
      -> tensor<?x64xf32, #betz.rows<"batch">>
  return
}

// -----

func.func @c3(%x: tensor<?x64xf32, #betz.rows<"events">>,
              %g: tensor<64xf32>,
              %dy: tensor<?x64xf32, #betz.rows<"events">>) {
  // expected-error @+1 {{(C3) eps must be positive}}
  %y = betz.norm_grad rms %x, %g, %dy {eps = 0.0 : f64}
      : (tensor<?x64xf32, #betz.rows<"events">>,
         tensor<64xf32>,
         tensor<?x64xf32, #betz.rows<"events">>)
      -> tensor<?x64xf32, #betz.rows<"events">>
  return
}
