// RUN: betz-opt %s | betz-opt | FileCheck %s

// CHECK-LABEL: func @residual
func.func @residual(%x: tensor<?x24x64xf32, #betz.rows<"batch">>,
                    %y: tensor<?x24x64xf32, #betz.rows<"batch">>)
    -> tensor<?x24x64xf32, #betz.rows<"batch">> {
  // CHECK: betz.add %{{.*}}, %{{.*}} : (tensor<?x24x64xf32, #betz.rows<"batch">>, tensor<?x24x64xf32, #betz.rows<"batch">>) -> tensor<?x24x64xf32, #betz.rows<"batch">>
  %z = betz.add %x, %y
      : (tensor<?x24x64xf32, #betz.rows<"batch">>,
         tensor<?x24x64xf32, #betz.rows<"batch">>)
      -> tensor<?x24x64xf32, #betz.rows<"batch">>
  return %z : tensor<?x24x64xf32, #betz.rows<"batch">>
}

// CHECK-LABEL: func @repeated
func.func @repeated(%x: tensor<?x24x64xf32, #betz.rows<"batch">>,
                    %y: tensor<64xf32>)
    -> tensor<?x24x64xf32, #betz.rows<"batch">> {
  // CHECK: betz.add %{{.*}}, %{{.*}} : (tensor<?x24x64xf32, #betz.rows<"batch">>, tensor<64xf32>) -> tensor<?x24x64xf32, #betz.rows<"batch">>
  %z = betz.add %x, %y
      : (tensor<?x24x64xf32, #betz.rows<"batch">>, tensor<64xf32>)
      -> tensor<?x24x64xf32, #betz.rows<"batch">>
  return %z : tensor<?x24x64xf32, #betz.rows<"batch">>
}
