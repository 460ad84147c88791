// RUN: betz-opt %s -verify-diagnostics -split-input-file

func.func @c1_rows(%a: tensor<?x192xf32, #betz.rows<"events">>,
                   %b: tensor<?x64xf32, #betz.rows<"batch">>) {
  // expected-error @+1 {{(C1) a and b must be of rank two or more and differ in their last dimension only}}
  %y = betz.contract_rows %a, %b
      : (tensor<?x192xf32, #betz.rows<"events">>,
         tensor<?x64xf32, #betz.rows<"batch">>)
      -> tensor<192x64xf32>
  return
}

// -----

func.func @c1_rank(%a: tensor<3xf32>,
                   %b: tensor<4xf32>) {
  // expected-error @+1 {{(C1) a and b must be of rank two or more and differ in their last dimension only}}
  %y = betz.contract_rows %a, %b
      : (tensor<3xf32>,
         tensor<4xf32>)
      -> tensor<3x4xf32>
  return
}

// -----

func.func @c1_element(%a: tensor<5x3xf32>,
                      %b: tensor<5x4xbf16>) {
  // expected-error @+1 {{(C1) a and b must be of rank two or more and differ in their last dimension only}}
  %y = betz.contract_rows %a, %b
      : (tensor<5x3xf32>,
         tensor<5x4xbf16>)
      -> tensor<3x4xf32>
  return
}

// -----

func.func @c2_shape(%a: tensor<?x192xf32, #betz.rows<"events">>,
                    %b: tensor<?x64xf32, #betz.rows<"events">>) {
  // expected-error @+1 {{(C2) the result must be 'tensor<192x64xf32>' or f32}}
  %y = betz.contract_rows %a, %b
      : (tensor<?x192xf32, #betz.rows<"events">>,
         tensor<?x64xf32, #betz.rows<"events">>)
      -> tensor<64x192xf32>
  return
}

// -----

func.func @c2_element(%a: tensor<?x192xf32, #betz.rows<"events">>,
                      %b: tensor<?x64xf32, #betz.rows<"events">>) {
  // expected-error @+1 {{(C2) the result must be 'tensor<192x64xf32>' or f32}}
  %y = betz.contract_rows %a, %b
      : (tensor<?x192xf32, #betz.rows<"events">>,
         tensor<?x64xf32, #betz.rows<"events">>)
      -> tensor<192x64xbf16>
  return
}
