// RUN: betz-opt %s | betz-opt | FileCheck %s

// CHECK-LABEL: func @dense
// CHECK-SAME: %[[X:[^:]*]]: {{.*}}, %[[S:[^:]*]]: tensor<?x24x1xf32
func.func @dense(%x: tensor<?x24x64xf32, #betz.rows<"batch">>,
                 %s: tensor<?x24x1xf32, #betz.rows<"batch">>)
    -> tensor<?x24x64xf32, #betz.rows<"batch">> {
  // CHECK: betz.scale_rows %[[X]], %[[S]] : (tensor<?x24x64xf32, #betz.rows<"batch">>, tensor<?x24x1xf32, #betz.rows<"batch">>) -> tensor<?x24x64xf32, #betz.rows<"batch">>
  %y = betz.scale_rows %x, %s
      : (tensor<?x24x64xf32, #betz.rows<"batch">>,
         tensor<?x24x1xf32, #betz.rows<"batch">>)
      -> tensor<?x24x64xf32, #betz.rows<"batch">>
  return %y : tensor<?x24x64xf32, #betz.rows<"batch">>
}

// CHECK-LABEL: func @constant
func.func @constant(%x: tensor<3x5xbf16>, %s: tensor<3x1xbf16>)
    -> tensor<3x5xbf16> {
  // CHECK: betz.scale_rows %{{.*}}, %{{.*}} : (tensor<3x5xbf16>, tensor<3x1xbf16>) -> tensor<3x5xbf16>
  %y = betz.scale_rows %x, %s
      : (tensor<3x5xbf16>, tensor<3x1xbf16>) -> tensor<3x5xbf16>
  return %y : tensor<3x5xbf16>
}
