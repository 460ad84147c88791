// RUN: betz-opt %s -verify-diagnostics -split-input-file

func.func @c1(%x: tensor<?x64xf32, #betz.rows<"events">>,
              %s: tensor<1xi32>) {
  // expected-error @+1 {{(C1) seed must be i32[2]}}
  %y = betz.dropout %x, %s {rate = 0.25 : f64, site = 3 : i64}
      : (tensor<?x64xf32, #betz.rows<"events">>,
         tensor<1xi32>)
      -> tensor<?x64xf32, #betz.rows<"events">>
  return
}

// -----

func.func @c2(%x: tensor<?x64xf32, #betz.rows<"events">>,
              %s: tensor<2xi32>) {
  // expected-error @+1 {{(C2) result type 'tensor<?x64xbf16, #betz.rows<"events">>' differs from 'tensor<?x64xf32, #betz.rows<"events">>'}}
  %y = betz.dropout %x, %s {rate = 0.25 : f64, site = 3 : i64}
      : (tensor<?x64xf32, #betz.rows<"events">>,
         tensor<2xi32>)
      -> tensor<?x64xbf16, #betz.rows<"events">>
  return
}

// -----

func.func @c3_rate(%x: tensor<?x64xf32, #betz.rows<"events">>,
                   %s: tensor<2xi32>) {
  // expected-error @+1 {{(C3) rate must be at least 0 and below 1, site not negative}}
  %y = betz.dropout %x, %s {rate = 1.0 : f64, site = 3 : i64}
      : (tensor<?x64xf32, #betz.rows<"events">>,
         tensor<2xi32>)
      -> tensor<?x64xf32, #betz.rows<"events">>
  return
}

// -----

func.func @c3_negative(%x: tensor<?x64xf32, #betz.rows<"events">>,
                       %s: tensor<2xi32>) {
  // expected-error @+1 {{(C3) rate must be at least 0 and below 1, site not negative}}
  %y = betz.dropout %x, %s {rate = -0.1 : f64, site = 3 : i64}
      : (tensor<?x64xf32, #betz.rows<"events">>,
         tensor<2xi32>)
      -> tensor<?x64xf32, #betz.rows<"events">>
  return
}

// -----

func.func @c3_site(%x: tensor<?x64xf32, #betz.rows<"events">>,
                   %s: tensor<2xi32>) {
  // expected-error @+1 {{(C3) rate must be at least 0 and below 1, site not negative}}
  %y = betz.dropout %x, %s {rate = 0.5 : f64, site = -1 : i64}
      : (tensor<?x64xf32, #betz.rows<"events">>,
         tensor<2xi32>)
      -> tensor<?x64xf32, #betz.rows<"events">>
  return
}
