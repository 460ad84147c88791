// RUN: betz-opt %s | betz-opt | FileCheck %s

// CHECK-LABEL: func @plain
func.func @plain(%x: tensor<?x24x64xf32, #betz.rows<"batch">>,
                 %w: tensor<192x64xf32>)
    -> tensor<?x24x192xf32, #betz.rows<"batch">> {
  // CHECK: betz.matmul %{{.*}}, %{{.*}} : (tensor<?x24x64xf32, #betz.rows<"batch">>, tensor<192x64xf32>) -> tensor<?x24x192xf32, #betz.rows<"batch">>
  %y = betz.matmul %x, %w
      : (tensor<?x24x64xf32, #betz.rows<"batch">>, tensor<192x64xf32>)
      -> tensor<?x24x192xf32, #betz.rows<"batch">>
  return %y : tensor<?x24x192xf32, #betz.rows<"batch">>
}

// CHECK-LABEL: func @packed
func.func @packed(%x: tensor<5x7xf32>, %w: tensor<3x7x16xf32>)
    -> tensor<5x33xf32> {
  // CHECK: betz.matmul %{{.*}}, %{{.*}} {columns = 33 : i64} : (tensor<5x7xf32>, tensor<3x7x16xf32>) -> tensor<5x33xf32>
  %y = betz.matmul %x, %w {columns = 33 : i64}
      : (tensor<5x7xf32>, tensor<3x7x16xf32>) -> tensor<5x33xf32>
  return %y : tensor<5x33xf32>
}
