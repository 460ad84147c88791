// RUN: betz-opt %s -verify-diagnostics -split-input-file

func.func @c1_offsets(%a: tensor<?x64xf32, #betz.rows<"events">>,
                      %b: tensor<?x64xf32, #betz.rows<"events">>) {
  // expected-error @+1 {{(C1) needs at least one part and an offset for each}}
  %y = betz.join_columns %a, %b {offsets = array<i64: 0>}
      : (tensor<?x64xf32, #betz.rows<"events">>,
         tensor<?x64xf32, #betz.rows<"events">>)
      -> tensor<?x128xf32, #betz.rows<"events">>
  return
}

// -----

func.func @c1_none() {
  // expected-error @+1 {{(C1) needs at least one part and an offset for each}}
  %y = betz.join_columns {offsets = array<i64>}
      : ()
      -> tensor<4xf32>
  return
}

// -----

func.func @c2_rows(%a: tensor<?x64xf32, #betz.rows<"events">>,
                   %b: tensor<?x64xf32, #betz.rows<"batch">>) {
  // expected-error @+1 {{(C2) 'tensor<?x64xf32, #betz.rows<"batch">>' must differ from the result in its columns only}}
  %y = betz.join_columns %a, %b {offsets = array<i64: 0, 64>}
      : (tensor<?x64xf32, #betz.rows<"events">>,
         tensor<?x64xf32, #betz.rows<"batch">>)
      -> tensor<?x128xf32, #betz.rows<"events">>
  return
}

// -----

func.func @c2_element(%a: tensor<?x64xf32, #betz.rows<"events">>,
                      %b: tensor<?x64xbf16, #betz.rows<"events">>) {
  // expected-error @+1 {{(C2) 'tensor<?x64xbf16, #betz.rows<"events">>' must differ from the result in its columns only}}
  %y = betz.join_columns %a, %b {offsets = array<i64: 0, 64>}
      : (tensor<?x64xf32, #betz.rows<"events">>,
         tensor<?x64xbf16, #betz.rows<"events">>)
      -> tensor<?x128xf32, #betz.rows<"events">>
  return
}

// -----

func.func @c3_overlap(%a: tensor<?x64xf32, #betz.rows<"events">>,
                      %b: tensor<?x64xf32, #betz.rows<"events">>) {
  // expected-error @+1 {{(C3) parts must lie inside the result, one after the other}}
  %y = betz.join_columns %a, %b {offsets = array<i64: 0, 63>}
      : (tensor<?x64xf32, #betz.rows<"events">>,
         tensor<?x64xf32, #betz.rows<"events">>)
      -> tensor<?x128xf32, #betz.rows<"events">>
  return
}

// -----

func.func @c3_outside(%a: tensor<?x64xf32, #betz.rows<"events">>,
                      %b: tensor<?x64xf32, #betz.rows<"events">>) {
  // expected-error @+1 {{(C3) parts must lie inside the result, one after the other}}
  %y = betz.join_columns %a, %b {offsets = array<i64: 0, 65>}
      : (tensor<?x64xf32, #betz.rows<"events">>,
         tensor<?x64xf32, #betz.rows<"events">>)
      -> tensor<?x128xf32, #betz.rows<"events">>
  return
}

// -----

func.func @c3_order(%a: tensor<?x64xf32, #betz.rows<"events">>,
                    %b: tensor<?x64xf32, #betz.rows<"events">>) {
  // expected-error @+1 {{(C3) parts must lie inside the result, one after the other}}
  %y = betz.join_columns %a, %b {offsets = array<i64: 64, 0>}
      : (tensor<?x64xf32, #betz.rows<"events">>,
         tensor<?x64xf32, #betz.rows<"events">>)
      -> tensor<?x128xf32, #betz.rows<"events">>
  return
}

// -----

func.func @c3_negative(%a: tensor<?x64xf32, #betz.rows<"events">>,
                       %b: tensor<?x64xf32, #betz.rows<"events">>) {
  // expected-error @+1 {{(C3) parts must lie inside the result, one after the other}}
  %y = betz.join_columns %a, %b {offsets = array<i64: -1, 64>}
      : (tensor<?x64xf32, #betz.rows<"events">>,
         tensor<?x64xf32, #betz.rows<"events">>)
      -> tensor<?x128xf32, #betz.rows<"events">>
  return
}
