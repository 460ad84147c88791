// RUN: betz-opt %s -verify-diagnostics -split-input-file

!events = tensor<?xi32, #betz.rows<"events">>
!batch = tensor<?xi32, #betz.rows<"batch">>
!splits = tensor<?xi32, #betz.rows<"batch" + 1>>

func.func @c1_result(%t: !events, %b: !batch, %s: !splits) {
  // expected-error @+1 {{(C1) values must be i32[E], as the result}}
  %r = betz.segment_sub %t, %b, %s : (!events, !batch, !splits) -> !batch
  return
}

// -----

!batch = tensor<?xi32, #betz.rows<"batch">>
!splits = tensor<?xi32, #betz.rows<"batch" + 1>>

func.func @c1_rank(%t: tensor<4x2xi32>, %b: !batch, %s: !splits) {
  // expected-error @+1 {{(C1) values must be i32[E], as the result}}
  %r = betz.segment_sub %t, %b, %s
      : (tensor<4x2xi32>, !batch, !splits) -> tensor<4x2xi32>
  return
}

// -----

!events = tensor<?xi32, #betz.rows<"events">>
!batch = tensor<?xi32, #betz.rows<"batch">>

func.func @c2_not_one_more(%t: !events, %b: !batch) {
  // expected-error @+1 {{(C2) base must be i32[B] and row_splits i32[B + 1]}}
  %r = betz.segment_sub %t, %b, %b : (!events, !batch, !batch) -> !events
  return
}

// -----

!events = tensor<?xi32, #betz.rows<"events">>
!splits = tensor<?xi32, #betz.rows<"batch" + 1>>

func.func @c2_other_symbol(%t: !events, %b: !events, %s: !splits) {
  // expected-error @+1 {{(C2) base must be i32[B] and row_splits i32[B + 1]}}
  %r = betz.segment_sub %t, %b, %s : (!events, !events, !splits) -> !events
  return
}
