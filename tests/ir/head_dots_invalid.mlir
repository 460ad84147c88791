// RUN: betz-opt %s -verify-diagnostics -split-input-file

func.func @c1_types(%a: tensor<?x24x64xf32, #betz.rows<"batch">>,
                    %b: tensor<?x24x32xf32, #betz.rows<"batch">>) {
  // expected-error @+1 {{(C1) a and b must be of one type of rank two or more, heads divide their columns}}
  %y = betz.head_dots %a, %b {heads = 4 : i64}
      : (tensor<?x24x64xf32, #betz.rows<"batch">>,
         tensor<?x24x32xf32, #betz.rows<"batch">>)
      -> tensor<?x24x4xf32, #betz.rows<"batch">>
  return
}

// -----

func.func @c1_heads(%a: tensor<?x24x64xf32, #betz.rows<"batch">>,
                    %b: tensor<?x24x64xf32, #betz.rows<"batch">>) {
  // expected-error @+1 {{(C1) a and b must be of one type of rank two or more, heads divide their columns}}
  %y = betz.head_dots %a, %b {heads = 5 : i64}
      : (tensor<?x24x64xf32, #betz.rows<"batch">>,
         tensor<?x24x64xf32, #betz.rows<"batch">>)
      -> tensor<?x24x5xf32, #betz.rows<"batch">>
  return
}

// -----

func.func @c1_zero(%a: tensor<?x24x64xf32, #betz.rows<"batch">>,
                   %b: tensor<?x24x64xf32, #betz.rows<"batch">>) {
  // expected-error @+1 {{(C1) a and b must be of one type of rank two or more, heads divide their columns}}
  %y = betz.head_dots %a, %b {heads = 0 : i64}
      : (tensor<?x24x64xf32, #betz.rows<"batch">>,
         tensor<?x24x64xf32, #betz.rows<"batch">>)
      -> tensor<?x24x5xf32, #betz.rows<"batch">>
  return
}

// -----

func.func @c1_rank(%a: tensor<64xf32>,
                   %b: tensor<64xf32>) {
  // expected-error @+1 {{(C1) a and b must be of one type of rank two or more, heads divide their columns}}
  %y = betz.head_dots %a, %b {heads = 4 : i64}
      : (tensor<64xf32>,
         tensor<64xf32>)
      -> tensor<4xf32>
  return
}

// -----

func.func @c2(%a: tensor<?x24x64xf32, #betz.rows<"batch">>,
              %b: tensor<?x24x64xf32, #betz.rows<"batch">>) {
  // expected-error @+1 {{(C2) the result must be 'tensor<?x24x4xf32, #betz.rows<"batch">>'}}
  %y = betz.head_dots %a, %b {heads = 4 : i64}
      : (tensor<?x24x64xf32, #betz.rows<"batch">>,
         tensor<?x24x64xf32, #betz.rows<"batch">>)
      -> tensor<?x24x5xf32, #betz.rows<"batch">>
  return
}
