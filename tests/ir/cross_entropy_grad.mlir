// RUN: betz-opt %s | betz-opt | FileCheck %s

// CHECK-LABEL: func @batched
func.func @batched(%x: tensor<?x5x8xf32, #betz.rows<"batch">>,
                   %l: tensor<?x5xi32, #betz.rows<"batch">>,
                   %d: tensor<1xf32>) {
  // CHECK: betz.cross_entropy_grad %{{.*}}, %{{.*}}, %{{.*}} : (tensor<?x5x8xf32, #betz.rows<"batch">>, tensor<?x5xi32, #betz.rows<"batch">>, tensor<1xf32>) -> tensor<?x5x8xf32, #betz.rows<"batch">>
  %y = betz.cross_entropy_grad %x, %l, %d
      : (tensor<?x5x8xf32, #betz.rows<"batch">>,
         tensor<?x5xi32, #betz.rows<"batch">>,
         tensor<1xf32>)
      -> tensor<?x5x8xf32, #betz.rows<"batch">>
  return
}
