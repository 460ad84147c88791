// RUN: betz-opt %s | betz-opt | FileCheck %s

// CHECK-LABEL: func @ragged
func.func @ragged(%x: tensor<?x64xf32, #betz.rows<"events">>,
                  %s: tensor<2xi32>) {
  // CHECK: betz.dropout %{{.*}}, %{{.*}} {rate = 2.500000e-01 : f64, site = 3 : i64} : (tensor<?x64xf32, #betz.rows<"events">>, tensor<2xi32>) -> tensor<?x64xf32, #betz.rows<"events">>
  %y = betz.dropout %x, %s {rate = 0.25 : f64, site = 3 : i64}
      : (tensor<?x64xf32, #betz.rows<"events">>,
         tensor<2xi32>)
      -> tensor<?x64xf32, #betz.rows<"events">>
  return
}
