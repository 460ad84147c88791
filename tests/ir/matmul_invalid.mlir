// RUN: betz-opt %s -verify-diagnostics -split-input-file

func.func @c1_rank(%x: tensor<5x7xf32>, %w: tensor<3x7x16xf32>) {
  // expected-error @+1 {{(C1) weight must be constant [N, K], or [ceil(N / P), K, P] with columns}}
  %y = betz.matmul %x, %w
      : (tensor<5x7xf32>, tensor<3x7x16xf32>) -> tensor<5x3xf32>
  return
}

// -----

func.func @c1_element(%x: tensor<5x7xf32>, %w: tensor<3x7xbf16>) {
  // expected-error @+1 {{(C1) weight must be constant [N, K]}}
  %y = betz.matmul %x, %w : (tensor<5x7xf32>, tensor<3x7xbf16>) -> tensor<5x3xf32>
  return
}

// -----

func.func @c1_dynamic(%x: tensor<5x7xf32>,
                      %w: tensor<?x7xf32, #betz.rows<"n">>) {
  // expected-error @+1 {{(C1) weight must be constant [N, K]}}
  %y = betz.matmul %x, %w
      : (tensor<5x7xf32>, tensor<?x7xf32, #betz.rows<"n">>) -> tensor<5x3xf32>
  return
}

// -----

func.func @c1_panels(%x: tensor<5x7xf32>, %w: tensor<3x7x16xf32>) {
  // expected-error @+1 {{(C1) weight must have ceil(columns / P) panels}}
  %y = betz.matmul %x, %w {columns = 49 : i64}
      : (tensor<5x7xf32>, tensor<3x7x16xf32>) -> tensor<5x49xf32>
  return
}

// -----

func.func @c1_negative(%x: tensor<5x7xf32>, %w: tensor<0x7x16xf32>) {
  // expected-error @+1 {{(C1) weight must have ceil(columns / P) panels}}
  %y = betz.matmul %x, %w {columns = -1 : i64}
      : (tensor<5x7xf32>, tensor<0x7x16xf32>) -> tensor<5x1xf32>
  return
}

// -----

func.func @c2_depth(%x: tensor<5x8xf32>, %w: tensor<3x7xf32>) {
  // expected-error @+1 {{(C2) x must be [..., 7], not 'tensor<5x8xf32>'}}
  %y = betz.matmul %x, %w : (tensor<5x8xf32>, tensor<3x7xf32>) -> tensor<5x3xf32>
  return
}

// -----

func.func @c2_rank(%x: tensor<7xf32>, %w: tensor<3x7xf32>) {
  // expected-error @+1 {{(C2) x must be [..., 7], not 'tensor<7xf32>'}}
  %y = betz.matmul %x, %w : (tensor<7xf32>, tensor<3x7xf32>) -> tensor<3xf32>
  return
}

// -----

func.func @c3(%x: tensor<5x7xf32>, %w: tensor<3x7xf32>) {
  // expected-error @+1 {{(C3) the result must be 'tensor<5x3xf32>'}}
  %y = betz.matmul %x, %w : (tensor<5x7xf32>, tensor<3x7xf32>) -> tensor<5x4xf32>
  return
}
