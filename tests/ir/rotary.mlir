// RUN: betz-opt %s | betz-opt | FileCheck %s

// CHECK-LABEL: func @by_time
func.func @by_time(%x: tensor<?x64xf32, #betz.rows<"events">>,
                   %t: tensor<?xi32, #betz.rows<"events">>)
    -> tensor<?x64xf32, #betz.rows<"events">> {
  // CHECK: betz.rotary %{{.*}}, %{{.*}} {heads = 4 : i64, offset = 5.000000e-01 : f64, period_max = 4.000000e+03 : f64, period_min = 1.000000e+01 : f64, step = 5.000000e+00 : f64} : (tensor<?x64xf32, #betz.rows<"events">>, tensor<?xi32, #betz.rows<"events">>) -> tensor<?x64xf32, #betz.rows<"events">>
  %y = betz.rotary %x, %t
      {heads = 4 : i64, offset = 0.5 : f64, step = 5.0 : f64,
       period_min = 10.0 : f64, period_max = 4000.0 : f64}
      : (tensor<?x64xf32, #betz.rows<"events">>,
         tensor<?xi32, #betz.rows<"events">>)
      -> tensor<?x64xf32, #betz.rows<"events">>
  return %y : tensor<?x64xf32, #betz.rows<"events">>
}

// CHECK-LABEL: func @by_index
func.func @by_index(%x: tensor<?x24x64xf32, #betz.rows<"batch">>)
    -> tensor<?x24x64xf32, #betz.rows<"batch">> {
  // CHECK: betz.rotary %{{[^,]*}} {
  %y = betz.rotary %x
      {heads = 4 : i64, offset = 0.5 : f64, step = 25.0 : f64,
       period_min = 10.0 : f64, period_max = 4000.0 : f64}
      : (tensor<?x24x64xf32, #betz.rows<"batch">>)
      -> tensor<?x24x64xf32, #betz.rows<"batch">>
  return %y : tensor<?x24x64xf32, #betz.rows<"batch">>
}
