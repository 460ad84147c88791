// RUN: betz-opt %s -verify-diagnostics -split-input-file

func.func @c1(%a: tensor<?x64xf32, #betz.rows<"events">>,
              %b: tensor<63xf32>) {
  // expected-error @+1 {{(C1) the shape of rhs must be a suffix of lhs's}}
  %y = betz.gelu_grad %a, %b
      : (tensor<?x64xf32, #betz.rows<"events">>,
         tensor<63xf32>)
      -> tensor<?x64xf32, #betz.rows<"events">>
  return
}

// -----

func.func @c1_element(%a: tensor<?x64xf32, #betz.rows<"events">>,
                      %b: tensor<64xbf16>) {
  // expected-error @+1 {{(C1) the shape of rhs must be a suffix of lhs's}}
  %y = betz.gelu_grad %a, %b
      : (tensor<?x64xf32, #betz.rows<"events">>,
         tensor<64xbf16>)
      -> tensor<?x64xf32, #betz.rows<"events">>
  return
}

// -----

func.func @c2(%a: tensor<?x64xf32, #betz.rows<"events">>,
              %b: tensor<64xf32>) {
  // expected-error @+1 {{(C2) result type 'tensor<?x64xf32, #betz.rows<"batch">>' differs from 'tensor<?x64xf32, #betz.rows<"events">>'}}
  %y = betz.gelu_grad %a, %b
      : (tensor<?x64xf32, #betz.rows<"events">>,
         tensor<64xf32>)
      -> tensor<?x64xf32, #betz.rows<"batch">>
  return
}
