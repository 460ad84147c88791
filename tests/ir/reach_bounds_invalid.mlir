// RUN: betz-opt %s -verify-diagnostics -split-input-file

func.func @c1_columns() {
  // expected-error @+1 {{(C1) the result must be i32[L, 2]}}
  %b = betz.reach_bounds {span = 120.0 : f64, reach = 20.0 : f64}
      : () -> tensor<24x3xi32>
  return
}

// -----

func.func @c1_rank() {
  // expected-error @+1 {{(C1) the result must be i32[L, 2]}}
  %b = betz.reach_bounds {span = 120.0 : f64, reach = 20.0 : f64}
      : () -> tensor<2xi32>
  return
}

// -----

func.func @c2_span() {
  // expected-error @+1 {{(C2) span and reach must be positive}}
  %b = betz.reach_bounds {span = 0.0 : f64, reach = 20.0 : f64}
      : () -> tensor<24x2xi32>
  return
}

// -----

func.func @c2_reach() {
  // expected-error @+1 {{(C2) span and reach must be positive}}
  %b = betz.reach_bounds {span = 120.0 : f64, reach = -1.0 : f64}
      : () -> tensor<24x2xi32>
  return
}
