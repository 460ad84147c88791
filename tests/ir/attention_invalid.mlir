// RUN: betz-opt %s -verify-diagnostics -split-input-file

func.func @c1_heads(%q: tensor<24x64xf32>,
                    %k: tensor<?x64xf32, #betz.rows<"events">>,
                    %v: tensor<?x64xf32, #betz.rows<"events">>,
                    %s: tensor<?xi32, #betz.rows<"batch" + 1>>) {
  // expected-error @+1 {{(C1) heads must divide q's columns and kv_heads must divide heads}}
  %o = betz.attention %q, %k, %v splits %s
      {heads = 5 : i64, kv_heads = 5 : i64, scale = 0.25 : f64}
      : (tensor<24x64xf32>,
         tensor<?x64xf32, #betz.rows<"events">>,
         tensor<?x64xf32, #betz.rows<"events">>,
         tensor<?xi32, #betz.rows<"batch" + 1>>)
      -> tensor<?x24x64xf32, #betz.rows<"batch">>
  return
}

// -----

func.func @c1_kv_heads(%q: tensor<24x64xf32>,
                       %k: tensor<?x64xf32, #betz.rows<"events">>,
                       %v: tensor<?x64xf32, #betz.rows<"events">>,
                       %s: tensor<?xi32, #betz.rows<"batch" + 1>>) {
  // expected-error @+1 {{(C1) heads must divide q's columns and kv_heads must divide heads}}
  %o = betz.attention %q, %k, %v splits %s
      {heads = 4 : i64, kv_heads = 3 : i64, scale = 0.25 : f64}
      : (tensor<24x64xf32>,
         tensor<?x64xf32, #betz.rows<"events">>,
         tensor<?x64xf32, #betz.rows<"events">>,
         tensor<?xi32, #betz.rows<"batch" + 1>>)
      -> tensor<?x24x64xf32, #betz.rows<"batch">>
  return
}

// -----

func.func @c1_negative(%q: tensor<24x64xf32>,
                       %k: tensor<?x64xf32, #betz.rows<"events">>,
                       %v: tensor<?x64xf32, #betz.rows<"events">>,
                       %s: tensor<?xi32, #betz.rows<"batch" + 1>>) {
  // expected-error @+1 {{(C1) heads must divide q's columns and kv_heads must divide heads}}
  %o = betz.attention %q, %k, %v splits %s
      {heads = -4 : i64, kv_heads = -4 : i64, scale = 0.25 : f64}
      : (tensor<24x64xf32>,
         tensor<?x64xf32, #betz.rows<"events">>,
         tensor<?x64xf32, #betz.rows<"events">>,
         tensor<?xi32, #betz.rows<"batch" + 1>>)
      -> tensor<?x24x64xf32, #betz.rows<"batch">>
  return
}

// -----

func.func @c1_rank(%q: tensor<64xf32>,
                   %k: tensor<?x64xf32, #betz.rows<"events">>,
                   %v: tensor<?x64xf32, #betz.rows<"events">>,
                   %s: tensor<?xi32, #betz.rows<"batch" + 1>>) {
  // expected-error @+1 {{(C1) heads must divide q's columns and kv_heads must divide heads}}
  %o = betz.attention %q, %k, %v splits %s
      {heads = 4 : i64, kv_heads = 4 : i64, scale = 0.25 : f64}
      : (tensor<64xf32>,
         tensor<?x64xf32, #betz.rows<"events">>,
         tensor<?x64xf32, #betz.rows<"events">>,
         tensor<?xi32, #betz.rows<"batch" + 1>>)
      -> tensor<?x24x64xf32, #betz.rows<"batch">>
  return
}

// -----

func.func @c2_columns(%q: tensor<24x64xf32>,
                      %k: tensor<?x32xf32, #betz.rows<"events">>,
                      %v: tensor<?x32xf32, #betz.rows<"events">>,
                      %s: tensor<?xi32, #betz.rows<"batch" + 1>>) {
  // expected-error @+1 {{(C2) k and v must be of one type with kv_heads * 16 columns}}
  %o = betz.attention %q, %k, %v splits %s
      {heads = 4 : i64, kv_heads = 4 : i64, scale = 0.25 : f64}
      : (tensor<24x64xf32>,
         tensor<?x32xf32, #betz.rows<"events">>,
         tensor<?x32xf32, #betz.rows<"events">>,
         tensor<?xi32, #betz.rows<"batch" + 1>>)
      -> tensor<?x24x64xf32, #betz.rows<"batch">>
  return
}

// -----

func.func @c2_v(%q: tensor<24x64xf32>,
                %k: tensor<?x64xf32, #betz.rows<"events">>,
                %v: tensor<?x64xf32, #betz.rows<"others">>,
                %s: tensor<?xi32, #betz.rows<"batch" + 1>>) {
  // expected-error @+1 {{(C2) k and v must be of one type with kv_heads * 16 columns}}
  %o = betz.attention %q, %k, %v splits %s
      {heads = 4 : i64, kv_heads = 4 : i64, scale = 0.25 : f64}
      : (tensor<24x64xf32>,
         tensor<?x64xf32, #betz.rows<"events">>,
         tensor<?x64xf32, #betz.rows<"others">>,
         tensor<?xi32, #betz.rows<"batch" + 1>>)
      -> tensor<?x24x64xf32, #betz.rows<"batch">>
  return
}

// -----

func.func @c2_element(%q: tensor<24x64xf32>,
                      %k: tensor<?x64xbf16, #betz.rows<"events">>,
                      %v: tensor<?x64xbf16, #betz.rows<"events">>,
                      %s: tensor<?xi32, #betz.rows<"batch" + 1>>) {
  // expected-error @+1 {{(C2) k and v must be of one type with kv_heads * 16 columns}}
  %o = betz.attention %q, %k, %v splits %s
      {heads = 4 : i64, kv_heads = 4 : i64, scale = 0.25 : f64}
      : (tensor<24x64xf32>,
         tensor<?x64xbf16, #betz.rows<"events">>,
         tensor<?x64xbf16, #betz.rows<"events">>,
         tensor<?xi32, #betz.rows<"batch" + 1>>)
      -> tensor<?x24x64xf32, #betz.rows<"batch">>
  return
}

// -----

func.func @c3_dense_with_splits(%q: tensor<24x64xf32>,
                                %k: tensor<?x7x64xf32, #betz.rows<"batch">>,
                                %v: tensor<?x7x64xf32, #betz.rows<"batch">>,
                                %s: tensor<?xi32, #betz.rows<"batch" + 1>>) {
  // expected-error @+1 {{(C3) ragged keys are [E, columns] with row_splits i32[B + 1], dense ones [B, N, columns] without}}
  %o = betz.attention %q, %k, %v splits %s
      {heads = 4 : i64, kv_heads = 4 : i64, scale = 0.25 : f64}
      : (tensor<24x64xf32>,
         tensor<?x7x64xf32, #betz.rows<"batch">>,
         tensor<?x7x64xf32, #betz.rows<"batch">>,
         tensor<?xi32, #betz.rows<"batch" + 1>>)
      -> tensor<?x24x64xf32, #betz.rows<"batch">>
  return
}

// -----

func.func @c3_ragged_without(%q: tensor<24x64xf32>,
                             %k: tensor<?x64xf32, #betz.rows<"events">>,
                             %v: tensor<?x64xf32, #betz.rows<"events">>) {
  // expected-error @+1 {{(C3) ragged keys are [E, columns] with row_splits i32[B + 1], dense ones [B, N, columns] without}}
  %o = betz.attention %q, %k, %v
      {heads = 4 : i64, kv_heads = 4 : i64, scale = 0.25 : f64}
      : (tensor<24x64xf32>,
         tensor<?x64xf32, #betz.rows<"events">>,
         tensor<?x64xf32, #betz.rows<"events">>)
      -> tensor<?x24x64xf32, #betz.rows<"batch">>
  return
}

// -----

func.func @c3_splits(%q: tensor<24x64xf32>,
                     %k: tensor<?x64xf32, #betz.rows<"events">>,
                     %v: tensor<?x64xf32, #betz.rows<"events">>,
                     %s: tensor<?xi32, #betz.rows<"batch">>) {
  // expected-error @+1 {{(C3) ragged keys are [E, columns] with row_splits i32[B + 1], dense ones [B, N, columns] without}}
  %o = betz.attention %q, %k, %v splits %s
      {heads = 4 : i64, kv_heads = 4 : i64, scale = 0.25 : f64}
      : (tensor<24x64xf32>,
         tensor<?x64xf32, #betz.rows<"events">>,
         tensor<?x64xf32, #betz.rows<"events">>,
         tensor<?xi32, #betz.rows<"batch">>)
      -> tensor<?x24x64xf32, #betz.rows<"batch">>
  return
}

// -----

func.func @c3_splits_rank(%q: tensor<24x64xf32>,
                          %k: tensor<?x64xf32, #betz.rows<"events">>,
                          %v: tensor<?x64xf32, #betz.rows<"events">>,
                          %s: tensor<?x1xi32, #betz.rows<"batch" + 1>>) {
  // expected-error @+1 {{(C3) ragged keys are [E, columns] with row_splits i32[B + 1], dense ones [B, N, columns] without}}
  %o = betz.attention %q, %k, %v splits %s
      {heads = 4 : i64, kv_heads = 4 : i64, scale = 0.25 : f64}
      : (tensor<24x64xf32>,
         tensor<?x64xf32, #betz.rows<"events">>,
         tensor<?x64xf32, #betz.rows<"events">>,
         tensor<?x1xi32, #betz.rows<"batch" + 1>>)
      -> tensor<?x24x64xf32, #betz.rows<"batch">>
  return
}

// -----

func.func @c3_dense_rows(%q: tensor<24x64xf32>,
                         %k: tensor<?x7x64xf32, #betz.rows<"batch" + 1>>,
                         %v: tensor<?x7x64xf32, #betz.rows<"batch" + 1>>) {
  // expected-error @+1 {{(C3) ragged keys are [E, columns] with row_splits i32[B + 1], dense ones [B, N, columns] without}}
  %o = betz.attention %q, %k, %v
      {heads = 4 : i64, kv_heads = 4 : i64, scale = 0.25 : f64}
      : (tensor<24x64xf32>,
         tensor<?x7x64xf32, #betz.rows<"batch" + 1>>,
         tensor<?x7x64xf32, #betz.rows<"batch" + 1>>)
      -> tensor<?x24x64xf32, #betz.rows<"batch">>
  return
}

// -----

func.func @c4_time(%q: tensor<24x64xf32>,
                   %k: tensor<?x64xf32, #betz.rows<"events">>,
                   %v: tensor<?x64xf32, #betz.rows<"events">>,
                   %s: tensor<?xi32, #betz.rows<"batch" + 1>>,
                   %t: tensor<?xi32, #betz.rows<"others">>,
                   %b: tensor<24x2xi32>) {
  // expected-error @+1 {{(C4) key_time must be i32[E] and bounds i32[24, 2], with ragged keys}}
  %o = betz.attention %q, %k, %v splits %s bounds %t, %b
      {heads = 4 : i64, kv_heads = 4 : i64, scale = 0.25 : f64}
      : (tensor<24x64xf32>,
         tensor<?x64xf32, #betz.rows<"events">>,
         tensor<?x64xf32, #betz.rows<"events">>,
         tensor<?xi32, #betz.rows<"batch" + 1>>,
         tensor<?xi32, #betz.rows<"others">>,
         tensor<24x2xi32>)
      -> tensor<?x24x64xf32, #betz.rows<"batch">>
  return
}

// -----

func.func @c4_time_size(%q: tensor<24x64xf32>,
                        %k: tensor<9x64xf32>,
                        %v: tensor<9x64xf32>,
                        %s: tensor<?xi32, #betz.rows<"batch" + 1>>,
                        %t: tensor<8xi32>,
                        %b: tensor<24x2xi32>) {
  // expected-error @+1 {{(C4) key_time must be i32[E] and bounds i32[24, 2], with ragged keys}}
  %o = betz.attention %q, %k, %v splits %s bounds %t, %b
      {heads = 4 : i64, kv_heads = 4 : i64, scale = 0.25 : f64}
      : (tensor<24x64xf32>,
         tensor<9x64xf32>,
         tensor<9x64xf32>,
         tensor<?xi32, #betz.rows<"batch" + 1>>,
         tensor<8xi32>,
         tensor<24x2xi32>)
      -> tensor<?x24x64xf32, #betz.rows<"batch">>
  return
}

// -----

func.func @c4_bounds(%q: tensor<24x64xf32>,
                     %k: tensor<?x64xf32, #betz.rows<"events">>,
                     %v: tensor<?x64xf32, #betz.rows<"events">>,
                     %s: tensor<?xi32, #betz.rows<"batch" + 1>>,
                     %t: tensor<?xi32, #betz.rows<"events">>,
                     %b: tensor<23x2xi32>) {
  // expected-error @+1 {{(C4) key_time must be i32[E] and bounds i32[24, 2], with ragged keys}}
  %o = betz.attention %q, %k, %v splits %s bounds %t, %b
      {heads = 4 : i64, kv_heads = 4 : i64, scale = 0.25 : f64}
      : (tensor<24x64xf32>,
         tensor<?x64xf32, #betz.rows<"events">>,
         tensor<?x64xf32, #betz.rows<"events">>,
         tensor<?xi32, #betz.rows<"batch" + 1>>,
         tensor<?xi32, #betz.rows<"events">>,
         tensor<23x2xi32>)
      -> tensor<?x24x64xf32, #betz.rows<"batch">>
  return
}

// -----

func.func @c4_dense(%q: tensor<24x64xf32>,
                    %k: tensor<?x7x64xf32, #betz.rows<"batch">>,
                    %v: tensor<?x7x64xf32, #betz.rows<"batch">>,
                    %t: tensor<?xi32, #betz.rows<"events">>,
                    %b: tensor<24x2xi32>) {
  // expected-error @+1 {{(C4) key_time must be i32[E] and bounds i32[24, 2], with ragged keys}}
  %o = betz.attention %q, %k, %v bounds %t, %b
      {heads = 4 : i64, kv_heads = 4 : i64, scale = 0.25 : f64}
      : (tensor<24x64xf32>,
         tensor<?x7x64xf32, #betz.rows<"batch">>,
         tensor<?x7x64xf32, #betz.rows<"batch">>,
         tensor<?xi32, #betz.rows<"events">>,
         tensor<24x2xi32>)
      -> tensor<?x24x64xf32, #betz.rows<"batch">>
  return
}

// -----

func.func @c4_apart(%q: tensor<24x64xf32>,
                    %k: tensor<?x64xf32, #betz.rows<"events">>,
                    %s: tensor<?xi32, #betz.rows<"batch" + 1>>,
                    %t: tensor<?xi32, #betz.rows<"events">>) {
  // expected-error @+1 {{(C4) key_time and bounds come together}}
  %o = "betz.attention"(%q, %k, %k, %s, %t)
      <{heads = 4 : i64, kv_heads = 4 : i64, scale = 0.25 : f64,
        operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 0, 0>}>
      : (tensor<24x64xf32>, tensor<?x64xf32, #betz.rows<"events">>,
         tensor<?x64xf32, #betz.rows<"events">>,
         tensor<?xi32, #betz.rows<"batch" + 1>>,
         tensor<?xi32, #betz.rows<"events">>)
      -> tensor<?x24x64xf32, #betz.rows<"batch">>
  return
}

// -----

func.func @c5_result(%q: tensor<24x64xf32>,
                     %k: tensor<?x64xf32, #betz.rows<"events">>,
                     %v: tensor<?x64xf32, #betz.rows<"events">>,
                     %s: tensor<?xi32, #betz.rows<"batch" + 1>>) {
  // expected-error @+1 {{(C5) q must be [L, D] or [B, L, D], the result [B, L, D]}}
  %o = betz.attention %q, %k, %v splits %s
      {heads = 4 : i64, kv_heads = 4 : i64, scale = 0.25 : f64}
      : (tensor<24x64xf32>,
         tensor<?x64xf32, #betz.rows<"events">>,
         tensor<?x64xf32, #betz.rows<"events">>,
         tensor<?xi32, #betz.rows<"batch" + 1>>)
      -> tensor<?x23x64xf32, #betz.rows<"batch">>
  return
}

// -----

func.func @c5_result_rows(%q: tensor<24x64xf32>,
                          %k: tensor<?x64xf32, #betz.rows<"events">>,
                          %v: tensor<?x64xf32, #betz.rows<"events">>,
                          %s: tensor<?xi32, #betz.rows<"batch" + 1>>) {
  // expected-error @+1 {{(C5) q must be [L, D] or [B, L, D], the result [B, L, D]}}
  %o = betz.attention %q, %k, %v splits %s
      {heads = 4 : i64, kv_heads = 4 : i64, scale = 0.25 : f64}
      : (tensor<24x64xf32>,
         tensor<?x64xf32, #betz.rows<"events">>,
         tensor<?x64xf32, #betz.rows<"events">>,
         tensor<?xi32, #betz.rows<"batch" + 1>>)
      -> tensor<?x24x64xf32, #betz.rows<"events">>
  return
}

// -----

func.func @c5_query(%q: tensor<?x24x64xf32, #betz.rows<"events">>,
                    %k: tensor<?x64xf32, #betz.rows<"events">>,
                    %v: tensor<?x64xf32, #betz.rows<"events">>,
                    %s: tensor<?xi32, #betz.rows<"batch" + 1>>) {
  // expected-error @+1 {{(C5) q must be [L, D] or [B, L, D], the result [B, L, D]}}
  %o = betz.attention %q, %k, %v splits %s
      {heads = 4 : i64, kv_heads = 4 : i64, scale = 0.25 : f64}
      : (tensor<?x24x64xf32, #betz.rows<"events">>,
         tensor<?x64xf32, #betz.rows<"events">>,
         tensor<?x64xf32, #betz.rows<"events">>,
         tensor<?xi32, #betz.rows<"batch" + 1>>)
      -> tensor<?x24x64xf32, #betz.rows<"batch">>
  return
}

// -----

func.func @c5_query_rows(%q: tensor<?x24x64xf32, #betz.rows<"batch" + 1>>,
                         %k: tensor<?x64xf32, #betz.rows<"events">>,
                         %v: tensor<?x64xf32, #betz.rows<"events">>,
                         %s: tensor<?xi32, #betz.rows<"batch" + 1>>) {
  // expected-error @+1 {{(C5) q must be [L, D] or [B, L, D], the result [B, L, D]}}
  %o = betz.attention %q, %k, %v splits %s
      {heads = 4 : i64, kv_heads = 4 : i64, scale = 0.25 : f64}
      : (tensor<?x24x64xf32, #betz.rows<"batch" + 1>>,
         tensor<?x64xf32, #betz.rows<"events">>,
         tensor<?x64xf32, #betz.rows<"events">>,
         tensor<?xi32, #betz.rows<"batch" + 1>>)
      -> tensor<?x24x64xf32, #betz.rows<"batch">>
  return
}

// -----

func.func @c6(%q: tensor<24x64xf32>,
              %k: tensor<?x64xf32, #betz.rows<"events">>,
              %v: tensor<?x64xf32, #betz.rows<"events">>,
              %s: tensor<?xi32, #betz.rows<"batch" + 1>>) {
  // expected-error @+1 {{(C6) causal goes with dense keys only}}
  %o = betz.attention %q, %k, %v splits %s
      {heads = 4 : i64, kv_heads = 4 : i64, scale = 0.25 : f64, causal}
      : (tensor<24x64xf32>,
         tensor<?x64xf32, #betz.rows<"events">>,
         tensor<?x64xf32, #betz.rows<"events">>,
         tensor<?xi32, #betz.rows<"batch" + 1>>)
      -> tensor<?x24x64xf32, #betz.rows<"batch">>
  return
}

// -----

func.func @c7_map_alone(%q: tensor<24x64xf32>,
                        %k: tensor<?x9x64xf32, #betz.rows<"batch">>,
                        %m: tensor<1x3xi32>) {
  // expected-error @+1 {{(C7) block_map and map_block come together}}
  %o = betz.attention %q, %k, %k blocks %m
      {heads = 4 : i64, kv_heads = 4 : i64, scale = 0.25 : f64}
      : (tensor<24x64xf32>, tensor<?x9x64xf32, #betz.rows<"batch">>,
         tensor<?x9x64xf32, #betz.rows<"batch">>, tensor<1x3xi32>)
      -> tensor<?x24x64xf32, #betz.rows<"batch">>
  return
}

// -----

func.func @c7_block_alone(%q: tensor<24x64xf32>,
                          %k: tensor<?x9x64xf32, #betz.rows<"batch">>) {
  // expected-error @+1 {{(C7) block_map and map_block come together}}
  %o = betz.attention %q, %k, %k
      {heads = 4 : i64, kv_heads = 4 : i64, scale = 0.25 : f64, map_block = 64 : i64}
      : (tensor<24x64xf32>, tensor<?x9x64xf32, #betz.rows<"batch">>,
         tensor<?x9x64xf32, #betz.rows<"batch">>)
      -> tensor<?x24x64xf32, #betz.rows<"batch">>
  return
}

// -----

func.func @c7_no_multiple(%q: tensor<24x64xf32>,
                          %k: tensor<?x9x64xf32, #betz.rows<"batch">>,
                          %m: tensor<1x3xi32>) {
  // expected-error @+1 {{(C7) block_map must be i32[ceil(L / map_block), *], map_block a multiple of 64}}
  %o = betz.attention %q, %k, %k blocks %m
      {heads = 4 : i64, kv_heads = 4 : i64, scale = 0.25 : f64, map_block = 96 : i64}
      : (tensor<24x64xf32>, tensor<?x9x64xf32, #betz.rows<"batch">>,
         tensor<?x9x64xf32, #betz.rows<"batch">>, tensor<1x3xi32>)
      -> tensor<?x24x64xf32, #betz.rows<"batch">>
  return
}

// -----

func.func @c7_zero(%q: tensor<24x64xf32>,
                   %k: tensor<?x9x64xf32, #betz.rows<"batch">>,
                   %m: tensor<1x3xi32>) {
  // expected-error @+1 {{(C7) block_map must be i32[ceil(L / map_block), *], map_block a multiple of 64}}
  %o = betz.attention %q, %k, %k blocks %m
      {heads = 4 : i64, kv_heads = 4 : i64, scale = 0.25 : f64, map_block = 0 : i64}
      : (tensor<24x64xf32>, tensor<?x9x64xf32, #betz.rows<"batch">>,
         tensor<?x9x64xf32, #betz.rows<"batch">>, tensor<1x3xi32>)
      -> tensor<?x24x64xf32, #betz.rows<"batch">>
  return
}

// -----

func.func @c7_negative(%q: tensor<24x64xf32>,
                       %k: tensor<?x9x64xf32, #betz.rows<"batch">>,
                       %m: tensor<1x3xi32>) {
  // expected-error @+1 {{(C7) block_map must be i32[ceil(L / map_block), *], map_block a multiple of 64}}
  %o = betz.attention %q, %k, %k blocks %m
      {heads = 4 : i64, kv_heads = 4 : i64, scale = 0.25 : f64, map_block = -64 : i64}
      : (tensor<24x64xf32>, tensor<?x9x64xf32, #betz.rows<"batch">>,
         tensor<?x9x64xf32, #betz.rows<"batch">>, tensor<1x3xi32>)
      -> tensor<?x24x64xf32, #betz.rows<"batch">>
  return
}

// -----

func.func @c7_rows(%q: tensor<24x64xf32>,
                   %k: tensor<?x9x64xf32, #betz.rows<"batch">>,
                   %m: tensor<2x3xi32>) {
  // expected-error @+1 {{(C7) block_map must be i32[ceil(L / map_block), *], map_block a multiple of 64}}
  %o = betz.attention %q, %k, %k blocks %m
      {heads = 4 : i64, kv_heads = 4 : i64, scale = 0.25 : f64, map_block = 64 : i64}
      : (tensor<24x64xf32>, tensor<?x9x64xf32, #betz.rows<"batch">>,
         tensor<?x9x64xf32, #betz.rows<"batch">>, tensor<2x3xi32>)
      -> tensor<?x24x64xf32, #betz.rows<"batch">>
  return
}

// -----

func.func @c7_rank(%q: tensor<24x64xf32>,
                   %k: tensor<?x9x64xf32, #betz.rows<"batch">>,
                   %m: tensor<1xi32>) {
  // expected-error @+1 {{(C7) block_map must be i32[ceil(L / map_block), *], map_block a multiple of 64}}
  %o = betz.attention %q, %k, %k blocks %m
      {heads = 4 : i64, kv_heads = 4 : i64, scale = 0.25 : f64, map_block = 64 : i64}
      : (tensor<24x64xf32>, tensor<?x9x64xf32, #betz.rows<"batch">>,
         tensor<?x9x64xf32, #betz.rows<"batch">>, tensor<1xi32>)
      -> tensor<?x24x64xf32, #betz.rows<"batch">>
  return
}

// -----

func.func @c7_dynamic(%q: tensor<24x64xf32>,
                      %k: tensor<?x9x64xf32, #betz.rows<"batch">>,
                      %m: tensor<?x3xi32, #betz.rows<"batch">>) {
  // expected-error @+1 {{(C7) block_map must be i32[ceil(L / map_block), *], map_block a multiple of 64}}
  %o = betz.attention %q, %k, %k blocks %m
      {heads = 4 : i64, kv_heads = 4 : i64, scale = 0.25 : f64, map_block = 64 : i64}
      : (tensor<24x64xf32>, tensor<?x9x64xf32, #betz.rows<"batch">>,
         tensor<?x9x64xf32, #betz.rows<"batch">>, tensor<?x3xi32, #betz.rows<"batch">>)
      -> tensor<?x24x64xf32, #betz.rows<"batch">>
  return
}
