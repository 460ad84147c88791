// RUN: betz-opt %s | betz-opt | FileCheck %s

// CHECK-LABEL: func @token
// CHECK-SAME: %[[N:[^:]*]]: {{.*}}, %[[V:[^:]*]]: {{.*}}, %[[NT:[^:]*]]: tensor<512x64xf32>, %[[VT:[^:]*]]: tensor<8x64xf32>
func.func @token(%n: tensor<?xi32, #betz.rows<"events">>,
                 %v: tensor<?xi32, #betz.rows<"events">>,
                 %neuron: tensor<512x64xf32>, %value: tensor<8x64xf32>)
    -> tensor<?x64xf32, #betz.rows<"events">> {
  // CHECK: betz.gather_sum(%[[N]], %[[V]]) in(%[[NT]], %[[VT]]) : (tensor<?xi32, #betz.rows<"events">>, tensor<?xi32, #betz.rows<"events">>, tensor<512x64xf32>, tensor<8x64xf32>) -> tensor<?x64xf32, #betz.rows<"events">>
  %x = betz.gather_sum (%n, %v) in (%neuron, %value)
      : (tensor<?xi32, #betz.rows<"events">>,
         tensor<?xi32, #betz.rows<"events">>,
         tensor<512x64xf32>, tensor<8x64xf32>)
      -> tensor<?x64xf32, #betz.rows<"events">>
  return %x : tensor<?x64xf32, #betz.rows<"events">>
}

// CHECK-LABEL: func @constant_rows
func.func @constant_rows(%i: tensor<5xi32>, %t: tensor<9x4xbf16>)
    -> tensor<5x4xbf16> {
  // CHECK: betz.gather_sum(%{{.*}}) in(%{{.*}}) : (tensor<5xi32>, tensor<9x4xbf16>) -> tensor<5x4xbf16>
  %x = betz.gather_sum (%i) in (%t)
      : (tensor<5xi32>, tensor<9x4xbf16>) -> tensor<5x4xbf16>
  return %x : tensor<5x4xbf16>
}

// CHECK-LABEL: func @grid
func.func @grid(%i: tensor<?x5xi32, #betz.rows<"batch">>, %t: tensor<9x4xf32>)
    -> tensor<?x5x4xf32, #betz.rows<"batch">> {
  // CHECK: betz.gather_sum(%{{.*}}) in(%{{.*}}) : (tensor<?x5xi32, #betz.rows<"batch">>, tensor<9x4xf32>) -> tensor<?x5x4xf32, #betz.rows<"batch">>
  %x = betz.gather_sum (%i) in (%t)
      : (tensor<?x5xi32, #betz.rows<"batch">>, tensor<9x4xf32>)
      -> tensor<?x5x4xf32, #betz.rows<"batch">>
  return %x : tensor<?x5x4xf32, #betz.rows<"batch">>
}
