// RUN: betz-opt %s -verify-diagnostics -split-input-file

func.func @c1_divides(%x: tensor<5x64xf32>) {
  // expected-error @+1 {{(C1) heads must divide the columns into even parts}}
  %y = betz.rotary %x
      {heads = 5 : i64, offset = 0.5 : f64, step = 5.0 : f64,
       period_min = 10.0 : f64, period_max = 4000.0 : f64}
      : (tensor<5x64xf32>) -> tensor<5x64xf32>
  return
}

// -----

func.func @c1_even(%x: tensor<5x12xf32>) {
  // expected-error @+1 {{(C1) heads must divide the columns into even parts}}
  %y = betz.rotary %x
      {heads = 4 : i64, offset = 0.5 : f64, step = 5.0 : f64,
       period_min = 10.0 : f64, period_max = 4000.0 : f64}
      : (tensor<5x12xf32>) -> tensor<5x12xf32>
  return
}

// -----

func.func @c1_negative(%x: tensor<5x64xf32>) {
  // expected-error @+1 {{(C1) heads must divide the columns into even parts}}
  %y = betz.rotary %x
      {heads = -4 : i64, offset = 0.5 : f64, step = 5.0 : f64,
       period_min = 10.0 : f64, period_max = 4000.0 : f64}
      : (tensor<5x64xf32>) -> tensor<5x64xf32>
  return
}

// -----

func.func @c2_rank(%x: tensor<2x5x64xf32>, %t: tensor<2xi32>) {
  // expected-error @+1 {{(C2) position must be i32[E] for x: [E, D]}}
  %y = betz.rotary %x, %t
      {heads = 4 : i64, offset = 0.5 : f64, step = 5.0 : f64,
       period_min = 10.0 : f64, period_max = 4000.0 : f64}
      : (tensor<2x5x64xf32>, tensor<2xi32>) -> tensor<2x5x64xf32>
  return
}

// -----

func.func @c2_symbol(%x: tensor<?x64xf32, #betz.rows<"events">>,
                     %t: tensor<?xi32, #betz.rows<"batch">>) {
  // expected-error @+1 {{(C2) position must be i32[E] for x: [E, D]}}
  %y = betz.rotary %x, %t
      {heads = 4 : i64, offset = 0.5 : f64, step = 5.0 : f64,
       period_min = 10.0 : f64, period_max = 4000.0 : f64}
      : (tensor<?x64xf32, #betz.rows<"events">>, tensor<?xi32, #betz.rows<"batch">>) -> tensor<?x64xf32, #betz.rows<"events">>
  return
}

// -----

func.func @c2_size(%x: tensor<5x64xf32>, %t: tensor<6xi32>) {
  // expected-error @+1 {{(C2) position must be i32[E] for x: [E, D]}}
  %y = betz.rotary %x, %t
      {heads = 4 : i64, offset = 0.5 : f64, step = 5.0 : f64,
       period_min = 10.0 : f64, period_max = 4000.0 : f64}
      : (tensor<5x64xf32>, tensor<6xi32>) -> tensor<5x64xf32>
  return
}

// -----

func.func @c3(%x: tensor<5x64xf32>) {
  // expected-error @+1 {{(C3) result type 'tensor<5x32xf32>' differs from 'tensor<5x64xf32>'}}
  %y = betz.rotary %x
      {heads = 4 : i64, offset = 0.5 : f64, step = 5.0 : f64,
       period_min = 10.0 : f64, period_max = 4000.0 : f64}
      : (tensor<5x64xf32>) -> tensor<5x32xf32>
  return
}

// -----

func.func @c4_negative(%x: tensor<5x64xf32>) {
  // expected-error @+1 {{(C4) periods must be positive and finite}}
  %y = betz.rotary %x
      {heads = 4 : i64, offset = 0.5 : f64, step = 5.0 : f64,
       period_min = -10.0 : f64, period_max = 4000.0 : f64}
      : (tensor<5x64xf32>) -> tensor<5x64xf32>
  return
}

// -----

func.func @c4_infinite(%x: tensor<5x64xf32>) {
  // expected-error @+1 {{(C4) periods must be positive and finite}}
  %y = betz.rotary %x
      {heads = 4 : i64, offset = 0.5 : f64, step = 5.0 : f64,
       period_min = 10.0 : f64, period_max = 0x7FF0000000000000 : f64}
      : (tensor<5x64xf32>) -> tensor<5x64xf32>
  return
}
