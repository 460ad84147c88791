// RUN: betz-opt %s | betz-opt | FileCheck %s

// CHECK-LABEL: func @batched
func.func @batched(%x: tensor<?x5x8xf32, #betz.rows<"batch">>,
                   %l: tensor<?x5xi32, #betz.rows<"batch">>) {
  // CHECK: betz.cross_entropy %{{.*}}, %{{.*}} : (tensor<?x5x8xf32, #betz.rows<"batch">>, tensor<?x5xi32, #betz.rows<"batch">>) -> tensor<1xf32>
  %y = betz.cross_entropy %x, %l
      : (tensor<?x5x8xf32, #betz.rows<"batch">>,
         tensor<?x5xi32, #betz.rows<"batch">>)
      -> tensor<1xf32>
  return
}

// CHECK-LABEL: func @flat
func.func @flat(%x: tensor<9x8xbf16>,
                %l: tensor<9xi32>) {
  // CHECK: betz.cross_entropy %{{.*}}, %{{.*}} : (tensor<9x8xbf16>, tensor<9xi32>) -> tensor<1xf32>
  %y = betz.cross_entropy %x, %l
      : (tensor<9x8xbf16>,
         tensor<9xi32>)
      -> tensor<1xf32>
  return
}
