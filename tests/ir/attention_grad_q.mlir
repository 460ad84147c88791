// RUN: betz-opt %s | betz-opt | FileCheck %s

// CHECK-LABEL: func @ragged
func.func @ragged(%q: tensor<24x64xf32>,
                  %k: tensor<?x64xf32, #betz.rows<"events">>,
                  %v: tensor<?x64xf32, #betz.rows<"events">>,
                  %dout: tensor<?x24x64xf32, #betz.rows<"batch">>,
                  %lse: tensor<?x24x4xf32, #betz.rows<"batch">>,
                  %delta: tensor<?x24x4xf32, #betz.rows<"batch">>,
                  %s: tensor<?xi32, #betz.rows<"batch" + 1>>) {
  // CHECK: betz.attention_grad_q %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} splits %{{.*}} {heads = 4 : i64, kv_heads = 4 : i64, scale = 2.500000e-01 : f64} : (tensor<24x64xf32>, tensor<?x64xf32, #betz.rows<"events">>, tensor<?x64xf32, #betz.rows<"events">>, tensor<?x24x64xf32, #betz.rows<"batch">>, tensor<?x24x4xf32, #betz.rows<"batch">>, tensor<?x24x4xf32, #betz.rows<"batch">>, tensor<?xi32, #betz.rows<"batch" + 1>>) -> tensor<?x24x64xf32, #betz.rows<"batch">>
  %y = betz.attention_grad_q %q, %k, %v, %dout, %lse, %delta splits %s {heads = 4 : i64, kv_heads = 4 : i64, scale = 0.25 : f64}
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

// CHECK-LABEL: func @bounds
func.func @bounds(%q: tensor<24x64xf32>,
                  %k: tensor<?x64xf32, #betz.rows<"events">>,
                  %v: tensor<?x64xf32, #betz.rows<"events">>,
                  %dout: tensor<?x24x64xf32, #betz.rows<"batch">>,
                  %lse: tensor<?x24x4xf32, #betz.rows<"batch">>,
                  %delta: tensor<?x24x4xf32, #betz.rows<"batch">>,
                  %s: tensor<?xi32, #betz.rows<"batch" + 1>>,
                  %t: tensor<?xi32, #betz.rows<"events">>,
                  %b: tensor<24x2xi32>) {
  // CHECK: betz.attention_grad_q %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} splits %{{.*}} bounds %{{.*}}, %{{.*}} {heads = 4 : i64, kv_heads = 4 : i64, scale = 2.500000e-01 : f64} : (tensor<24x64xf32>, tensor<?x64xf32, #betz.rows<"events">>, tensor<?x64xf32, #betz.rows<"events">>, tensor<?x24x64xf32, #betz.rows<"batch">>, tensor<?x24x4xf32, #betz.rows<"batch">>, tensor<?x24x4xf32, #betz.rows<"batch">>, tensor<?xi32, #betz.rows<"batch" + 1>>, tensor<?xi32, #betz.rows<"events">>, tensor<24x2xi32>) -> tensor<?x24x64xf32, #betz.rows<"batch">>
  %y = betz.attention_grad_q %q, %k, %v, %dout, %lse, %delta splits %s bounds %t, %b {heads = 4 : i64, kv_heads = 4 : i64, scale = 0.25 : f64}
      : (tensor<24x64xf32>,
         tensor<?x64xf32, #betz.rows<"events">>,
         tensor<?x64xf32, #betz.rows<"events">>,
         tensor<?x24x64xf32, #betz.rows<"batch">>,
         tensor<?x24x4xf32, #betz.rows<"batch">>,
         tensor<?x24x4xf32, #betz.rows<"batch">>,
         tensor<?xi32, #betz.rows<"batch" + 1>>,
         tensor<?xi32, #betz.rows<"events">>,
         tensor<24x2xi32>)
      -> tensor<?x24x64xf32, #betz.rows<"batch">>
  return
}

// CHECK-LABEL: func @grouped_causal
func.func @grouped_causal(%q: tensor<?x24x64xf32, #betz.rows<"batch">>,
                          %k: tensor<?x24x32xf32, #betz.rows<"batch">>,
                          %v: tensor<?x24x32xf32, #betz.rows<"batch">>,
                          %dout: tensor<?x24x64xf32, #betz.rows<"batch">>,
                          %lse: tensor<?x24x4xf32, #betz.rows<"batch">>,
                          %delta: tensor<?x24x4xf32, #betz.rows<"batch">>) {
  // CHECK: betz.attention_grad_q %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} {causal, heads = 4 : i64, kv_heads = 2 : i64, scale = 2.500000e-01 : f64} : (tensor<?x24x64xf32, #betz.rows<"batch">>, tensor<?x24x32xf32, #betz.rows<"batch">>, tensor<?x24x32xf32, #betz.rows<"batch">>, tensor<?x24x64xf32, #betz.rows<"batch">>, tensor<?x24x4xf32, #betz.rows<"batch">>, tensor<?x24x4xf32, #betz.rows<"batch">>) -> tensor<?x24x64xf32, #betz.rows<"batch">>
  %y = betz.attention_grad_q %q, %k, %v, %dout, %lse, %delta {causal, heads = 4 : i64, kv_heads = 2 : i64, scale = 0.25 : f64}
      : (tensor<?x24x64xf32, #betz.rows<"batch">>,
         tensor<?x24x32xf32, #betz.rows<"batch">>,
         tensor<?x24x32xf32, #betz.rows<"batch">>,
         tensor<?x24x64xf32, #betz.rows<"batch">>,
         tensor<?x24x4xf32, #betz.rows<"batch">>,
         tensor<?x24x4xf32, #betz.rows<"batch">>)
      -> tensor<?x24x64xf32, #betz.rows<"batch">>
  return
}

// CHECK-LABEL: func @block_map
func.func @block_map(%q: tensor<?x24x64xf32, #betz.rows<"batch">>,
                     %k: tensor<?x200x64xf32, #betz.rows<"batch">>,
                     %v: tensor<?x200x64xf32, #betz.rows<"batch">>,
                     %dout: tensor<?x24x64xf32, #betz.rows<"batch">>,
                     %lse: tensor<?x24x4xf32, #betz.rows<"batch">>,
                     %delta: tensor<?x24x4xf32, #betz.rows<"batch">>,
                     %m: tensor<1x4xi32>) {
  // CHECK: betz.attention_grad_q %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} blocks %{{.*}} {heads = 4 : i64, kv_heads = 4 : i64, map_block = 64 : i64, scale = 2.500000e-01 : f64} : (tensor<?x24x64xf32, #betz.rows<"batch">>, tensor<?x200x64xf32, #betz.rows<"batch">>, tensor<?x200x64xf32, #betz.rows<"batch">>, tensor<?x24x64xf32, #betz.rows<"batch">>, tensor<?x24x4xf32, #betz.rows<"batch">>, tensor<?x24x4xf32, #betz.rows<"batch">>, tensor<1x4xi32>) -> tensor<?x24x64xf32, #betz.rows<"batch">>
  %y = betz.attention_grad_q %q, %k, %v, %dout, %lse, %delta blocks %m {heads = 4 : i64, kv_heads = 4 : i64, map_block = 64 : i64, scale = 0.25 : f64}
      : (tensor<?x24x64xf32, #betz.rows<"batch">>,
         tensor<?x200x64xf32, #betz.rows<"batch">>,
         tensor<?x200x64xf32, #betz.rows<"batch">>,
         tensor<?x24x64xf32, #betz.rows<"batch">>,
         tensor<?x24x4xf32, #betz.rows<"batch">>,
         tensor<?x24x4xf32, #betz.rows<"batch">>,
         tensor<1x4xi32>)
      -> tensor<?x24x64xf32, #betz.rows<"batch">>
  return
}
