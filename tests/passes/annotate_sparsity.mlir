// RUN: betz-opt %s -betz-annotate-sparsity | FileCheck %s

!query = tensor<24x64xf32>
!states = tensor<?x24x64xf32, #betz.rows<"batch">>
!dense = tensor<?x9x64xf32, #betz.rows<"batch">>
!events = tensor<?x64xf32, #betz.rows<"events">>
!times = tensor<?xi32, #betz.rows<"events">>
!splits = tensor<?xi32, #betz.rows<"batch" + 1>>
!bounds = tensor<24x2xi32>
!map = tensor<1x3xi32>

// The narrowest rule wins, and what an attention said before counts for
// nothing.
// CHECK-LABEL: func @main
func.func @main(%q: !query, %d: !dense, %k: !events, %s: !splits, %t: !times,
                %b: !bounds, %m: !map) {
  // CHECK: betz.attention {{.*}}sparsity = #betz.sparsity<dense>}
  %0 = betz.attention %q, %d, %d
      {heads = 4 : i64, kv_heads = 4 : i64, scale = 0.25 : f64}
      : (!query, !dense, !dense) -> !states
  // CHECK: betz.attention {{.*}}causal{{.*}}sparsity = #betz.sparsity<causal>}
  %1 = betz.attention %q, %d, %d
      {heads = 4 : i64, kv_heads = 4 : i64, scale = 0.25 : f64, causal}
      : (!query, !dense, !dense) -> !states
  // CHECK: betz.attention {{.*}}sparsity = #betz.sparsity<segments>}
  %2 = betz.attention %q, %k, %k splits %s
      {heads = 4 : i64, kv_heads = 4 : i64, scale = 0.25 : f64,
       sparsity = #betz.sparsity<dense>}
      : (!query, !events, !events, !splits) -> !states
  // CHECK: betz.attention {{.*}}sparsity = #betz.sparsity<time_bounds>}
  %3 = betz.attention %q, %k, %k splits %s bounds %t, %b
      {heads = 4 : i64, kv_heads = 4 : i64, scale = 0.25 : f64}
      : (!query, !events, !events, !splits, !times, !bounds) -> !states
  // CHECK: betz.attention {{.*}}sparsity = #betz.sparsity<block_map>}
  %4 = betz.attention %q, %k, %k splits %s bounds %t, %b blocks %m
      {heads = 4 : i64, kv_heads = 4 : i64, scale = 0.25 : f64,
       map_block = 64 : i64}
      : (!query, !events, !events, !splits, !times, !bounds, !map) -> !states
  // CHECK: betz.attention {{.*}}causal{{.*}}sparsity = #betz.sparsity<block_map>}
  %5 = betz.attention %q, %d, %d blocks %m
      {heads = 4 : i64, kv_heads = 4 : i64, scale = 0.25 : f64, causal,
       map_block = 64 : i64}
      : (!query, !dense, !dense, !map) -> !states
  return
}
