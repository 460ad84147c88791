// RUN: betz-opt %s | betz-opt | FileCheck %s

!latents = tensor<24x64xf32>
!states = tensor<?x24x64xf32, #betz.rows<"batch">>
!events = tensor<?x64xf32, #betz.rows<"events">>
!times = tensor<?xi32, #betz.rows<"events">>
!splits = tensor<?xi32, #betz.rows<"batch" + 1>>

// CHECK-LABEL: func @ragged
// CHECK-SAME: %[[Q:[^:]*]]: tensor<24x64xf32>, %[[K:[^:]*]]: {{.*}}, %[[V:[^:]*]]: {{.*}}, %[[S:[^:]*]]: tensor<?xi32, #betz.rows<"batch" + 1>>
func.func @ragged(%q: !latents, %k: !events, %v: !events, %s: !splits)
    -> !states {
  // CHECK: betz.attention %[[Q]], %[[K]], %[[V]] splits %[[S]] {heads = 4 : i64, kv_heads = 4 : i64, scale = 2.500000e-01 : f64} : (tensor<24x64xf32>, tensor<?x64xf32, #betz.rows<"events">>, tensor<?x64xf32, #betz.rows<"events">>, tensor<?xi32, #betz.rows<"batch" + 1>>) -> tensor<?x24x64xf32, #betz.rows<"batch">>
  %o = betz.attention %q, %k, %v splits %s
      {heads = 4 : i64, kv_heads = 4 : i64, scale = 0.25 : f64}
      : (!latents, !events, !events, !splits) -> !states
  return %o : !states
}

// CHECK-LABEL: func @narrowed
// CHECK-SAME: %[[S:[^:]*]]: tensor<?xi32, #betz.rows<"batch" + 1>>, %[[T:[^:]*]]: tensor<?xi32, #betz.rows<"events">>, %[[B:[^:]*]]: tensor<24x2xi32>
func.func @narrowed(%q: !states, %k: !events, %v: !events, %s: !splits,
                    %t: !times, %b: tensor<24x2xi32>) -> !states {
  // CHECK: betz.attention %{{.*}}, %{{.*}}, %{{.*}} splits %[[S]] bounds %[[T]], %[[B]] {
  %o = betz.attention %q, %k, %v splits %s bounds %t, %b
      {heads = 4 : i64, kv_heads = 4 : i64, scale = 0.25 : f64}
      : (!states, !events, !events, !splits, !times, tensor<24x2xi32>)
      -> !states
  return %o : !states
}

// CHECK-LABEL: func @causal_grouped
func.func @causal_grouped(%q: !states,
                          %k: tensor<?x24x32xf32, #betz.rows<"batch">>)
    -> !states {
  // CHECK: betz.attention %{{[^ ]*}}, %{{[^ ]*}}, %{{[^ ]*}} {causal, heads = 4 : i64, kv_heads = 2 : i64, scale = 2.500000e-01 : f64} :
  %o = betz.attention %q, %k, %k
      {heads = 4 : i64, kv_heads = 2 : i64, scale = 0.25 : f64, causal}
      : (!states, tensor<?x24x32xf32, #betz.rows<"batch">>,
         tensor<?x24x32xf32, #betz.rows<"batch">>) -> !states
  return %o : !states
}

// CHECK-LABEL: func @blocks
// CHECK-SAME: %[[M:[^:]*]]: tensor<1x3xi32>)
func.func @blocks(%q: !states, %k: !events, %v: !events, %s: !splits,
                  %t: !times, %b: tensor<24x2xi32>, %m: tensor<1x3xi32>)
    -> !states {
  // CHECK: betz.attention %{{.*}}, %{{.*}}, %{{.*}} splits %{{.*}} bounds %{{.*}}, %{{.*}} blocks %[[M]] {heads = 4 : i64, kv_heads = 4 : i64, map_block = 64 : i64, scale = 2.500000e-01 : f64, sparsity = #betz.sparsity<block_map>} :
  %o = betz.attention %q, %k, %v splits %s bounds %t, %b blocks %m
      {heads = 4 : i64, kv_heads = 4 : i64, scale = 0.25 : f64,
       map_block = 64 : i64, sparsity = #betz.sparsity<block_map>}
      : (!states, !events, !events, !splits, !times, tensor<24x2xi32>,
         tensor<1x3xi32>) -> !states
  return %o : !states
}
