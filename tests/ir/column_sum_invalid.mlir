// RUN: betz-opt %s -verify-diagnostics -split-input-file

func.func @c1_rank(%x: tensor<64xf32>) {
  // expected-error @+1 {{(C1) x must be [..., C], the result [C] of its element type or f32}}
  %y = betz.column_sum %x
      : (tensor<64xf32>)
      -> tensor<64xf32>
  return
}

// -----

func.func @c1_columns(%x: tensor<?x64xf32, #betz.rows<"events">>) {
  // expected-error @+1 {{(C1) x must be [..., C], the result [C] of its element type or f32}}
  %y = betz.column_sum %x
      : (tensor<?x64xf32, #betz.rows<"events">>)
      -> tensor<63xf32>
  return
}

// -----

func.func @c1_element(%x: tensor<?x64xf32, #betz.rows<"events">>) {
  // expected-error @+1 {{(C1) x must be [..., C], the result [C] of its element type or f32}}
  %y = betz.column_sum %x
      : (tensor<?x64xf32, #betz.rows<"events">>)
      -> tensor<64xbf16>
  return
}
