// RUN: betz-opt %s | betz-opt | FileCheck %s

// CHECK-LABEL: func @batched
func.func @batched(%x: tensor<?x2xf32, #betz.rows<"batch">>,
                   %t: tensor<?x2xf32, #betz.rows<"batch">>) {
  // CHECK: betz.mse_loss %{{.*}}, %{{.*}} : (tensor<?x2xf32, #betz.rows<"batch">>, tensor<?x2xf32, #betz.rows<"batch">>) -> tensor<1xf32>
  %y = betz.mse_loss %x, %t
      : (tensor<?x2xf32, #betz.rows<"batch">>,
         tensor<?x2xf32, #betz.rows<"batch">>)
      -> tensor<1xf32>
  return
}
