// RUN: betz-opt %s -verify-diagnostics

func.func @c1() {
  // expected-error @+1 {{(C1) the result must have a constant shape}}
  %x = betz.fill {value = 1.0 : f64}
      : () -> tensor<?x8xf32, #betz.rows<"events">>
  return
}
