// RUN: betz-opt %s -verify-diagnostics -split-input-file

func.func @c1_rows(%i: tensor<?xi32, #betz.rows<"events">>,
                   %x: tensor<?x64xf32, #betz.rows<"batch">>) {
  // expected-error @+1 {{(C1) index must be i32[E] or i32[B, Q], x of its shape and D columns}}
  %y = betz.scatter_sum %i, %x
      : (tensor<?xi32, #betz.rows<"events">>,
         tensor<?x64xf32, #betz.rows<"batch">>)
      -> tensor<137x64xf32>
  return
}

// -----

func.func @c1_rank(%i: tensor<5x1x1xi32>,
                   %x: tensor<5x1x1x64xf32>) {
  // expected-error @+1 {{(C1) index must be i32[E] or i32[B, Q], x of its shape and D columns}}
  %y = betz.scatter_sum %i, %x
      : (tensor<5x1x1xi32>,
         tensor<5x1x1x64xf32>)
      -> tensor<137x64xf32>
  return
}

// -----

func.func @c2_columns(%i: tensor<?xi32, #betz.rows<"events">>,
                      %x: tensor<?x64xf32, #betz.rows<"events">>) {
  // expected-error @+1 {{(C2) the result must be a constant [R, 64] of x's element type or f32}}
  %y = betz.scatter_sum %i, %x
      : (tensor<?xi32, #betz.rows<"events">>,
         tensor<?x64xf32, #betz.rows<"events">>)
      -> tensor<137x63xf32>
  return
}

// -----

func.func @c2_dynamic(%i: tensor<?xi32, #betz.rows<"events">>,
                      %x: tensor<?x64xf32, #betz.rows<"events">>) {
  // expected-error @+1 {{(C2) the result must be a constant [R, 64] of x's element type or f32}}
  %y = betz.scatter_sum %i, %x
      : (tensor<?xi32, #betz.rows<"events">>,
         tensor<?x64xf32, #betz.rows<"events">>)
      -> tensor<?x64xf32, #betz.rows<"batch">>
  return
}
