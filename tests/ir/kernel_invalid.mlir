// RUN: betz-opt %s -verify-diagnostics -split-input-file

func.func @c1(%x: tensor<4xf32>) {
  // expected-error @+1 {{(C1) block arguments must match the operands}}
  %y = betz.kernel elementwise "k" (%x) : (tensor<4xf32>) -> tensor<5xf32> {
  ^bb0(%a: tensor<5xf32>):
    betz.yield %a : tensor<5xf32>
  }
  return
}

// -----

func.func @c2(%x: tensor<4xf32>) {
  // expected-error @+1 {{(C2) yielded values must match the results}}
  %y = betz.kernel elementwise "k" (%x) : (tensor<4xf32>) -> tensor<5xf32> {
  ^bb0(%a: tensor<4xf32>):
    betz.yield %a : tensor<4xf32>
  }
  return
}

// -----

func.func @c2_nothing(%x: tensor<4xf32>) {
  // expected-error @+1 {{(C2) yielded values must match the results}}
  %y = betz.kernel elementwise "k" (%x) : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4xf32>):
  }
  return
}

// -----

func.func @c3_no_matmul(%x: tensor<4x4xf32>) {
  // expected-error @+1 {{(C3) the body does not suit the family matmul}}
  %y = betz.kernel matmul "k" (%x) : (tensor<4x4xf32>) -> tensor<4x4xf32> {
  ^bb0(%a: tensor<4x4xf32>):
    %g = betz.gelu %a : (tensor<4x4xf32>) -> tensor<4x4xf32>
    betz.yield %g : tensor<4x4xf32>
  }
  return
}

// -----

func.func @c3_two(%x: tensor<4x4xf32>) {
  // expected-error @+1 {{(C3) the body does not suit the family matmul}}
  %y = betz.kernel matmul "k" (%x) : (tensor<4x4xf32>) -> tensor<4x4xf32> {
  ^bb0(%a: tensor<4x4xf32>):
    %m = betz.matmul %a, %a
        : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %n = betz.matmul %m, %a
        : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    betz.yield %n : tensor<4x4xf32>
  }
  return
}

// -----

func.func @c3_other_family(%x: tensor<4x4xf32>) {
  // expected-error @+1 {{(C3) the body does not suit the family attention}}
  %y = betz.kernel attention "k" (%x) : (tensor<4x4xf32>) -> tensor<4x4xf32> {
  ^bb0(%a: tensor<4x4xf32>):
    %m = betz.matmul %a, %a
        : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    betz.yield %m : tensor<4x4xf32>
  }
  return
}

// -----

func.func @c3_row_without_norm(%x: tensor<4x4xf32>) {
  // expected-error @+1 {{(C3) the body does not suit the family row}}
  %y = betz.kernel row "k" (%x) : (tensor<4x4xf32>) -> tensor<4x4xf32> {
  ^bb0(%a: tensor<4x4xf32>):
    betz.yield %a : tensor<4x4xf32>
  }
  return
}

// -----

func.func @c3_elementwise_with_norm(%x: tensor<4x4xf32>, %g: tensor<4xf32>) {
  // expected-error @+1 {{(C3) the body does not suit the family elementwise}}
  %y = betz.kernel elementwise "k" (%x, %g)
      : (tensor<4x4xf32>, tensor<4xf32>) -> tensor<4x4xf32> {
  ^bb0(%a: tensor<4x4xf32>, %b: tensor<4xf32>):
    %n = betz.norm rms %a, %b {eps = 1.0e-5 : f64}
        : (tensor<4x4xf32>, tensor<4xf32>) -> tensor<4x4xf32>
    betz.yield %n : tensor<4x4xf32>
  }
  return
}

// -----

func.func @c3_elementwise_with_norm_scale(%x: tensor<4x4xf32>) {
  // expected-error @+1 {{(C3) the body does not suit the family elementwise}}
  %y = betz.kernel elementwise "k" (%x)
      : (tensor<4x4xf32>) -> tensor<4x1xf32> {
  ^bb0(%a: tensor<4x4xf32>):
    %n = betz.norm_scale rms %a {eps = 1.0e-5 : f64}
        : (tensor<4x4xf32>) -> tensor<4x1xf32>
    betz.yield %n : tensor<4x1xf32>
  }
  return
}

// -----

func.func @c4_matmul(%x: tensor<4x4xf32>) {
  // expected-error @+1 {{(C4) betz.gelu may not stand before betz.matmul}}
  %y = betz.kernel matmul "k" (%x) : (tensor<4x4xf32>) -> tensor<4x4xf32> {
  ^bb0(%a: tensor<4x4xf32>):
    %g = betz.gelu %a : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %m = betz.matmul %g, %a
        : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    betz.yield %m : tensor<4x4xf32>
  }
  return
}

// -----

func.func @c4_row(%x: tensor<4x4xf32>, %g: tensor<4xf32>) {
  // expected-error @+1 {{(C4) betz.add may not stand before betz.norm}}
  %y = betz.kernel row "k" (%x, %g)
      : (tensor<4x4xf32>, tensor<4xf32>) -> tensor<4x4xf32> {
  ^bb0(%a: tensor<4x4xf32>, %b: tensor<4xf32>):
    %s = betz.add %a, %a
        : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %n = betz.norm rms %s, %b {eps = 1.0e-5 : f64}
        : (tensor<4x4xf32>, tensor<4xf32>) -> tensor<4x4xf32>
    betz.yield %n : tensor<4x4xf32>
  }
  return
}

// -----

func.func @isolated(%x: tensor<4xf32>, %z: tensor<4xf32>) {
  // expected-note @+1 {{required by region isolation constraints}}
  %y = betz.kernel elementwise "k" (%x) : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4xf32>):
    // expected-error @+1 {{using value defined outside the region}}
    betz.yield %z : tensor<4xf32>
  }
  return
}
