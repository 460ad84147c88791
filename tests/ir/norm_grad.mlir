// RUN: betz-opt %s | betz-opt | FileCheck %s

// CHECK-LABEL: func @rms
func.func @rms(%x: tensor<?x64xf32, #betz.rows<"events">>,
               %g: tensor<64xf32>,
               %dy: tensor<?x64xf32, #betz.rows<"events">>) {
  // CHECK: betz.norm_grad rms %{{.*}}, %{{.*}}, %{{.*}} {eps = 2.500000e-01 : f64} : (tensor<?x64xf32, #betz.rows<"events">>, tensor<64xf32>, tensor<?x64xf32, #betz.rows<"events">>) -> tensor<?x64xf32, #betz.rows<"events">>
  %y = betz.norm_grad rms %x, %g, %dy {eps = 0.25 : f64}
      : (tensor<?x64xf32, #betz.rows<"events">>,
         tensor<64xf32>,
         tensor<?x64xf32, #betz.rows<"events">>)
      -> tensor<?x64xf32, #betz.rows<"events">>
  return
}

// CHECK-LABEL: func @layer
func.func @layer(%x: tensor<?x24x64xbf16, #betz.rows<"batch">>,
                 %g: tensor<64xbf16>,
                 %dy: tensor<?x24x64xbf16, #betz.rows<"batch">>) {
  // CHECK: betz.norm_grad layer %{{.*}}, %{{.*}}, %{{.*}} {eps = 2.500000e-01 : f64} : (tensor<?x24x64xbf16, #betz.rows<"batch">>, tensor<64xbf16>, tensor<?x24x64xbf16, #betz.rows<"batch">>) -> tensor<?x24x64xbf16, #betz.rows<"batch">>
  %y = betz.norm_grad layer %x, %g, %dy {eps = 0.25 : f64}
      : (tensor<?x24x64xbf16, #betz.rows<"batch">>,
         tensor<64xbf16>,
         tensor<?x24x64xbf16, #betz.rows<"batch">>)
      -> tensor<?x24x64xbf16, #betz.rows<"batch">>
  return
}
