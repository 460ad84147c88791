// RUN: betz-opt %s | betz-opt | FileCheck %s

// CHECK-LABEL: func @batched
func.func @batched(%x: tensor<?x2xf32, #betz.rows<"batch">>,
                   %t: tensor<?x2xf32, #betz.rows<"batch">>,
                   %d: tensor<1xf32>) {
  // CHECK: betz.mse_grad %{{.*}}, %{{.*}}, %{{.*}} : (tensor<?x2xf32, #betz.rows<"batch">>, tensor<?x2xf32, #betz.rows<"batch">>, tensor<1xf32>) -> tensor<?x2xf32, #betz.rows<"batch">>
  %y = betz.mse_grad %x, %t, %d
      : (tensor<?x2xf32, #betz.rows<"batch">>,
         tensor<?x2xf32, #betz.rows<"batch">>,
         tensor<1xf32>)
      -> tensor<?x2xf32, #betz.rows<"batch">>
  return
}
