// RUN: betz-opt %s | betz-opt | FileCheck %s

// CHECK-LABEL: func @both_ways
func.func @both_ways(%x: tensor<?x24x64xf32, #betz.rows<"batch">>,
                     %y: tensor<bf16>)
    -> (tensor<?x24x64xbf16, #betz.rows<"batch">>, tensor<f32>) {
  // CHECK: betz.cast %{{.*}} : (tensor<?x24x64xf32, #betz.rows<"batch">>) -> tensor<?x24x64xbf16, #betz.rows<"batch">>
  %z = betz.cast %x : (tensor<?x24x64xf32, #betz.rows<"batch">>)
      -> tensor<?x24x64xbf16, #betz.rows<"batch">>
  // CHECK: betz.cast %{{.*}} : (tensor<bf16>) -> tensor<f32>
  %s = betz.cast %y : (tensor<bf16>) -> tensor<f32>
  return %z, %s : tensor<?x24x64xbf16, #betz.rows<"batch">>, tensor<f32>
}

// Factors of rows may be f32 beside narrower rows.
// CHECK-LABEL: func @factors
func.func @factors(%x: tensor<?x8xbf16, #betz.rows<"batch">>)
    -> tensor<?x8xbf16, #betz.rows<"batch">> {
  // CHECK: betz.norm_scale rms %{{.*}} -> tensor<?x1xf32, #betz.rows<"batch">>
  %s = betz.norm_scale rms %x {eps = 1.0e-5 : f64}
      : (tensor<?x8xbf16, #betz.rows<"batch">>)
      -> tensor<?x1xf32, #betz.rows<"batch">>
  // CHECK: betz.scale_rows
  %y = betz.scale_rows %x, %s
      : (tensor<?x8xbf16, #betz.rows<"batch">>,
         tensor<?x1xf32, #betz.rows<"batch">>)
      -> tensor<?x8xbf16, #betz.rows<"batch">>
  return %y : tensor<?x8xbf16, #betz.rows<"batch">>
}
