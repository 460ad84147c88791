// RUN: betz-opt %s -verify-diagnostics -split-input-file

func.func @c1_result(%w: tensor<33x7xf32>) {
  // expected-error @+1 {{(C1) x must be a constant [N, K], the result [K, N]}}
  %t = betz.transpose %w : (tensor<33x7xf32>) -> tensor<33x7xf32>
  return
}

// -----

func.func @c1_element(%w: tensor<3x7xf32>) {
  // expected-error @+1 {{(C1) x must be a constant [N, K], the result [K, N]}}
  %t = betz.transpose %w : (tensor<3x7xf32>) -> tensor<7x3xbf16>
  return
}

// -----

func.func @c1_rank(%w: tensor<7xf32>) {
  // expected-error @+1 {{(C1) x must be a constant [N, K], the result [K, N]}}
  %t = betz.transpose %w : (tensor<7xf32>) -> tensor<7xf32>
  return
}

// -----

func.func @c1_dynamic(%w: tensor<?x7xf32, #betz.rows<"events">>) {
  // expected-error @+1 {{(C1) x must be a constant [N, K], the result [K, N]}}
  %t = betz.transpose %w
      : (tensor<?x7xf32, #betz.rows<"events">>) -> tensor<7x?xf32>
  return
}
