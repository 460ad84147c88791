// RUN: betz-opt %s -verify-diagnostics -split-input-file

func.func @c1_rank(%x: tensor<64xf32>) {
  // expected-error @+1 {{(C1) x must be [..., D], the result [..., 1]}}
  %s = betz.norm_scale rms %x {eps = 1.0e-5 : f64}
      : (tensor<64xf32>) -> tensor<1xf32>
  return
}

// -----

func.func @c1_result(%x: tensor<3x64xf32>) {
  // expected-error @+1 {{(C1) x must be [..., D], the result [..., 1]}}
  %s = betz.norm_scale rms %x {eps = 1.0e-5 : f64}
      : (tensor<3x64xf32>) -> tensor<3xf32>
  return
}

// -----

func.func @c1_rows(%x: tensor<?x64xf32, #betz.rows<"events">>) {
  // expected-error @+1 {{(C1) x must be [..., D], the result [..., 1]}}
  %s = betz.norm_scale rms %x {eps = 1.0e-5 : f64}
      : (tensor<?x64xf32, #betz.rows<"events">>)
      -> tensor<?x1xf32, #betz.rows<"batch">>
  return
}

// -----

func.func @c2_zero(%x: tensor<3x64xf32>) {
  // expected-error @+1 {{(C2) eps must be positive}}
  %s = betz.norm_scale layer %x {eps = 0.0 : f64}
      : (tensor<3x64xf32>) -> tensor<3x1xf32>
  return
}

// -----

func.func @c2_nan(%x: tensor<3x64xf32>) {
  // expected-error @+1 {{(C2) eps must be positive}}
  %s = betz.norm_scale layer %x {eps = 0x7FF8000000000000 : f64}
      : (tensor<3x64xf32>) -> tensor<3x1xf32>
  return
}
