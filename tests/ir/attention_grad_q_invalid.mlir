// RUN: betz-opt %s -verify-diagnostics -split-input-file

func.func @c1(%q: tensor<24x64xf32>,
              %k: tensor<?x64xf32, #betz.rows<"events">>,
              %v: tensor<?x64xf32, #betz.rows<"events">>,
              %dout: tensor<?x24x64xf32, #betz.rows<"batch">>,
              %lse: tensor<?x24x4xf32, #betz.rows<"batch">>,
              %delta: tensor<?x24x4xf32, #betz.rows<"batch">>,
              %s: tensor<?xi32, #betz.rows<"batch" + 1>>) {
  // expected-error @+1 {{(C1) heads must divide q's columns and kv_heads must divide heads}}
  %y = betz.attention_grad_q %q, %k, %v, %dout, %lse, %delta splits %s {heads = 5 : i64, kv_heads = 5 : i64, scale = 0.25 : f64}
      : (tensor<24x64xf32>,
         tensor<?x64xf32, #betz.rows<"events">>,
         tensor<?x64xf32, #betz.rows<"events">>,
         tensor<?x24x64xf32, #betz.rows<"batch">>,
         tensor<?x24x4xf32, #betz.rows<"batch">>,
         tensor<?x24x4xf32, #betz.rows<"batch">>,
         tensor<?xi32, #betz.rows<"batch" + 1>>)
      -> tensor<?x24x64xf32, #betz.rows<"batch">>
  return
}

// -----

func.func @c2(%q: tensor<24x64xf32>,
              %k: tensor<?x32xf32, #betz.rows<"events">>,
              %v: tensor<?x32xf32, #betz.rows<"events">>,
              %dout: tensor<?x24x64xf32, #betz.rows<"batch">>,
              %lse: tensor<?x24x4xf32, #betz.rows<"batch">>,
              %delta: tensor<?x24x4xf32, #betz.rows<"batch">>,
              %s: tensor<?xi32, #betz.rows<"batch" + 1>>) {
  // expected-error @+1 {{(C2) k and v must be of one type with kv_heads * 16 columns}}
  %y = betz.attention_grad_q %q, %k, %v, %dout, %lse, %delta splits %s {heads = 4 : i64, kv_heads = 4 : i64, scale = 0.25 : f64}
      : (tensor<24x64xf32>,
         tensor<?x32xf32, #betz.rows<"events">>,
         tensor<?x32xf32, #betz.rows<"events">>,
         tensor<?x24x64xf32, #betz.rows<"batch">>,
         tensor<?x24x4xf32, #betz.rows<"batch">>,
         tensor<?x24x4xf32, #betz.rows<"batch">>,
         tensor<?xi32, #betz.rows<"batch" + 1>>)
      -> tensor<?x24x64xf32, #betz.rows<"batch">>
  return
}

// -----

func.func @c3(%q: tensor<24x64xf32>,
              %k: tensor<?x64xf32, #betz.rows<"events">>,
              %v: tensor<?x64xf32, #betz.rows<"events">>,
              %dout: tensor<?x24x64xf32, #betz.rows<"batch">>,
              %lse: tensor<?x24x4xf32, #betz.rows<"batch">>,
              %delta: tensor<?x24x4xf32, #betz.rows<"batch">>) {
  // expected-error @+1 {{(C3) ragged keys are [E, columns] with row_splits i32[B + 1], dense ones [B, N, columns] without}}
  %y = betz.attention_grad_q %q, %k, %v, %dout, %lse, %delta {heads = 4 : i64, kv_heads = 4 : i64, scale = 0.25 : f64}
      : (tensor<24x64xf32>,
         tensor<?x64xf32, #betz.rows<"events">>,
         tensor<?x64xf32, #betz.rows<"events">>,
         tensor<?x24x64xf32, #betz.rows<"batch">>,
         tensor<?x24x4xf32, #betz.rows<"batch">>,
         tensor<?x24x4xf32, #betz.rows<"batch">>)
      -> tensor<?x24x64xf32, #betz.rows<"batch">>
  return
}

// -----

func.func @c4(%q: tensor<24x64xf32>,
              %k: tensor<?x64xf32, #betz.rows<"events">>,
              %v: tensor<?x64xf32, #betz.rows<"events">>,
              %dout: tensor<?x24x64xf32, #betz.rows<"batch">>,
              %lse: tensor<?x24x4xf32, #betz.rows<"batch">>,
              %delta: tensor<?x24x4xf32, #betz.rows<"batch">>,
              %s: tensor<?xi32, #betz.rows<"batch" + 1>>,
              %t: tensor<?xi32, #betz.rows<"events">>,
              %b: tensor<23x2xi32>) {
  // expected-error @+1 {{(C4) key_time must be i32[E] and bounds i32[24, 2], with ragged keys}}
  %y = betz.attention_grad_q %q, %k, %v, %dout, %lse, %delta splits %s bounds %t, %b {heads = 4 : i64, kv_heads = 4 : i64, scale = 0.25 : f64}
      : (tensor<24x64xf32>,
         tensor<?x64xf32, #betz.rows<"events">>,
         tensor<?x64xf32, #betz.rows<"events">>,
         tensor<?x24x64xf32, #betz.rows<"batch">>,
         tensor<?x24x4xf32, #betz.rows<"batch">>,
         tensor<?x24x4xf32, #betz.rows<"batch">>,
         tensor<?xi32, #betz.rows<"batch" + 1>>,
         tensor<?xi32, #betz.rows<"events">>,
         tensor<23x2xi32>)
      -> tensor<?x24x64xf32, #betz.rows<"batch">>
  return
}

// -----

func.func @c5(%q: tensor<24x64xf32>,
              %k: tensor<?x64xf32, #betz.rows<"events">>,
              %v: tensor<?x64xf32, #betz.rows<"events">>,
              %dout: tensor<?x24x64xf32, #betz.rows<"batch">>,
              %lse: tensor<?x24x4xf32, #betz.rows<"batch">>,
              %delta: tensor<?x24x4xf32, #betz.rows<"batch">>,
              %s: tensor<?xi32, #betz.rows<"batch" + 1>>) {
  // expected-error @+1 {{(C5) q must be [L, D] or [B, L, D], the result [B, L, D]}}
  %y = betz.attention_grad_q %q, %k, %v, %dout, %lse, %delta splits %s {heads = 4 : i64, kv_heads = 4 : i64, scale = 0.25 : f64}
      : (tensor<24x64xf32>,
         tensor<?x64xf32, #betz.rows<"events">>,
         tensor<?x64xf32, #betz.rows<"events">>,
         tensor<?x24x64xf32, #betz.rows<"batch">>,
         tensor<?x24x4xf32, #betz.rows<"batch">>,
         tensor<?x24x4xf32, #betz.rows<"batch">>,
         tensor<?xi32, #betz.rows<"batch" + 1>>)
      -> tensor<?x64xf32, #betz.rows<"events">>
  return
}

// -----

func.func @c6(%q: tensor<24x64xf32>,
              %k: tensor<?x64xf32, #betz.rows<"events">>,
              %v: tensor<?x64xf32, #betz.rows<"events">>,
              %dout: tensor<?x24x64xf32, #betz.rows<"batch">>,
              %lse: tensor<?x24x4xf32, #betz.rows<"batch">>,
              %delta: tensor<?x24x4xf32, #betz.rows<"batch">>,
              %s: tensor<?xi32, #betz.rows<"batch" + 1>>) {
  // expected-error @+1 {{(C6) causal goes with dense keys only}}
  %y = betz.attention_grad_q %q, %k, %v, %dout, %lse, %delta splits %s {causal, heads = 4 : i64, kv_heads = 4 : i64, scale = 0.25 : f64}
      : (tensor<24x64xf32>,
         tensor<?x64xf32, #betz.rows<"events">>,
         tensor<?x64xf32, #betz.rows<"events">>,
         tensor<?x24x64xf32, #betz.rows<"batch">>,
         tensor<?x24x4xf32, #betz.rows<"batch">>,
         tensor<?x24x4xf32, #betz.rows<"batch">>,
         tensor<?xi32, #betz.rows<"batch" + 1>>)
      -> tensor<?x24x64xf32, #betz.rows<"batch">>
  return
}

// -----

func.func @c7(%q: tensor<?x24x64xf32, #betz.rows<"batch">>,
              %k: tensor<?x200x64xf32, #betz.rows<"batch">>,
              %v: tensor<?x200x64xf32, #betz.rows<"batch">>,
              %dout: tensor<?x24x64xf32, #betz.rows<"batch">>,
              %lse: tensor<?x24x4xf32, #betz.rows<"batch">>,
              %delta: tensor<?x24x4xf32, #betz.rows<"batch">>,
              %m: tensor<2x4xi32>) {
  // expected-error @+1 {{(C7) block_map must be i32[ceil(L / map_block), *], map_block a multiple of 64}}
  %y = betz.attention_grad_q %q, %k, %v, %dout, %lse, %delta blocks %m {heads = 4 : i64, kv_heads = 4 : i64, map_block = 64 : i64, scale = 0.25 : f64}
      : (tensor<?x24x64xf32, #betz.rows<"batch">>,
         tensor<?x200x64xf32, #betz.rows<"batch">>,
         tensor<?x200x64xf32, #betz.rows<"batch">>,
         tensor<?x24x64xf32, #betz.rows<"batch">>,
         tensor<?x24x4xf32, #betz.rows<"batch">>,
         tensor<?x24x4xf32, #betz.rows<"batch">>,
         tensor<2x4xi32>)
      -> tensor<?x24x64xf32, #betz.rows<"batch">>
  return
}

// -----

func.func @c8_dout(%q: tensor<24x64xf32>,
                   %k: tensor<?x64xf32, #betz.rows<"events">>,
                   %v: tensor<?x64xf32, #betz.rows<"events">>,
                   %dout: tensor<?x64xf32, #betz.rows<"events">>,
                   %lse: tensor<?x24x4xf32, #betz.rows<"batch">>,
                   %delta: tensor<?x24x4xf32, #betz.rows<"batch">>,
                   %s: tensor<?xi32, #betz.rows<"batch" + 1>>) {
  // expected-error @+1 {{(C8) dout must be 'tensor<?x24x64xf32, #betz.rows<"batch">>', lse and delta 'tensor<?x24x4xf32, #betz.rows<"batch">>'}}
  %y = betz.attention_grad_q %q, %k, %v, %dout, %lse, %delta splits %s {heads = 4 : i64, kv_heads = 4 : i64, scale = 0.25 : f64}
      : (tensor<24x64xf32>,
         tensor<?x64xf32, #betz.rows<"events">>,
         tensor<?x64xf32, #betz.rows<"events">>,
         tensor<?x64xf32, #betz.rows<"events">>,
         tensor<?x24x4xf32, #betz.rows<"batch">>,
         tensor<?x24x4xf32, #betz.rows<"batch">>,
         tensor<?xi32, #betz.rows<"batch" + 1>>)
      -> tensor<?x24x64xf32, #betz.rows<"batch">>
  return
}

// -----

func.func @c8_lse(%q: tensor<24x64xf32>,
                  %k: tensor<?x64xf32, #betz.rows<"events">>,
                  %v: tensor<?x64xf32, #betz.rows<"events">>,
                  %dout: tensor<?x24x64xf32, #betz.rows<"batch">>,
                  %lse: tensor<?x24x5xf32, #betz.rows<"batch">>,
                  %delta: tensor<?x24x4xf32, #betz.rows<"batch">>,
                  %s: tensor<?xi32, #betz.rows<"batch" + 1>>) {
  // expected-error @+1 {{(C8) dout must be 'tensor<?x24x64xf32, #betz.rows<"batch">>', lse and delta 'tensor<?x24x4xf32, #betz.rows<"batch">>'}}
  %y = betz.attention_grad_q %q, %k, %v, %dout, %lse, %delta splits %s {heads = 4 : i64, kv_heads = 4 : i64, scale = 0.25 : f64}
      : (tensor<24x64xf32>,
         tensor<?x64xf32, #betz.rows<"events">>,
         tensor<?x64xf32, #betz.rows<"events">>,
         tensor<?x24x64xf32, #betz.rows<"batch">>,
         tensor<?x24x5xf32, #betz.rows<"batch">>,
         tensor<?x24x4xf32, #betz.rows<"batch">>,
         tensor<?xi32, #betz.rows<"batch" + 1>>)
      -> tensor<?x24x64xf32, #betz.rows<"batch">>
  return
}

// -----

func.func @c8_delta(%q: tensor<24x64xf32>,
                    %k: tensor<?x64xf32, #betz.rows<"events">>,
                    %v: tensor<?x64xf32, #betz.rows<"events">>,
                    %dout: tensor<?x24x64xf32, #betz.rows<"batch">>,
                    %lse: tensor<?x24x4xf32, #betz.rows<"batch">>,
                    %delta: tensor<?x23x4xf32, #betz.rows<"batch">>,
                    %s: tensor<?xi32, #betz.rows<"batch" + 1>>) {
  // expected-error @+1 {{(C8) dout must be 'tensor<?x24x64xf32, #betz.rows<"batch">>', lse and delta 'tensor<?x24x4xf32, #betz.rows<"batch">>'}}
  %y = betz.attention_grad_q %q, %k, %v, %dout, %lse, %delta splits %s {heads = 4 : i64, kv_heads = 4 : i64, scale = 0.25 : f64}
      : (tensor<24x64xf32>,
         tensor<?x64xf32, #betz.rows<"events">>,
         tensor<?x64xf32, #betz.rows<"events">>,
         tensor<?x24x64xf32, #betz.rows<"batch">>,
         tensor<?x24x4xf32, #betz.rows<"batch">>,
         tensor<?x23x4xf32, #betz.rows<"batch">>,
         tensor<?xi32, #betz.rows<"batch" + 1>>)
      -> tensor<?x24x64xf32, #betz.rows<"batch">>
  return
}
