// RUN: betz-opt %s -verify-diagnostics -split-input-file

func.func @c1_end(%x: tensor<3x8xf32>) {
  // expected-error @+1 {{(C1) the range must lie inside the last dimension}}
  %y = betz.slice %x {offset = 5 : i64} : (tensor<3x8xf32>) -> tensor<3x4xf32>
  return
}

// -----

func.func @c1_negative(%x: tensor<3x8xf32>) {
  // expected-error @+1 {{(C1) the range must lie inside the last dimension}}
  %y = betz.slice %x {offset = -1 : i64} : (tensor<3x8xf32>) -> tensor<3x4xf32>
  return
}

// -----

func.func @c1_empty(%x: tensor<3x8xf32>) {
  // expected-error @+1 {{(C1) the range must lie inside the last dimension}}
  %y = betz.slice %x {offset = 8 : i64} : (tensor<3x8xf32>) -> tensor<3x0xf32>
  return
}

// -----

func.func @c2_rows(%x: tensor<3x8xf32>) {
  // expected-error @+1 {{(C2) the result may differ in its columns only}}
  %y = betz.slice %x {offset = 0 : i64} : (tensor<3x8xf32>) -> tensor<2x4xf32>
  return
}

// -----

func.func @c2_element(%x: tensor<3x8xf32>) {
  // expected-error @+1 {{(C2) the result may differ in its columns only}}
  %y = betz.slice %x {offset = 0 : i64} : (tensor<3x8xf32>) -> tensor<3x4xbf16>
  return
}
