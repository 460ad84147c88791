// RUN: betz-opt %s -verify-diagnostics -split-input-file

func.func @c1_grad(%w: tensor<640xf32>,
                   %m: tensor<640xf32>,
                   %v: tensor<640xf32>,
                   %g: tensor<639xf32>,
                   %q: tensor<1xf32>,
                   %s: tensor<4xf32>) {
  // expected-error @+1 {{(C1) weights, moments, grad and results must be of one type f32[P]}}
  %y:3 = betz.adamw %w, %m, %v, %g, %q, %s {beta1 = 0.5 : f64, beta2 = 0.75 : f64, clip = 1.0 : f64, eps = 0.125 : f64, weight_decay = 0.25 : f64}
      : (tensor<640xf32>,
         tensor<640xf32>,
         tensor<640xf32>,
         tensor<639xf32>,
         tensor<1xf32>,
         tensor<4xf32>)
      -> (tensor<640xf32>, tensor<640xf32>, tensor<640xf32>)
  return
}

// -----

func.func @c1_result(%w: tensor<640xf32>,
                     %m: tensor<640xf32>,
                     %v: tensor<640xf32>,
                     %g: tensor<640xf32>,
                     %q: tensor<1xf32>,
                     %s: tensor<4xf32>) {
  // expected-error @+1 {{(C1) weights, moments, grad and results must be of one type f32[P]}}
  %y:3 = betz.adamw %w, %m, %v, %g, %q, %s {beta1 = 0.5 : f64, beta2 = 0.75 : f64, clip = 1.0 : f64, eps = 0.125 : f64, weight_decay = 0.25 : f64}
      : (tensor<640xf32>,
         tensor<640xf32>,
         tensor<640xf32>,
         tensor<640xf32>,
         tensor<1xf32>,
         tensor<4xf32>)
      -> (tensor<640xf32>, tensor<640xf32>, tensor<639xf32>)
  return
}

// -----

func.func @c1_rank(%w: tensor<2x320xf32>,
                   %m: tensor<2x320xf32>,
                   %v: tensor<2x320xf32>,
                   %g: tensor<2x320xf32>,
                   %q: tensor<1xf32>,
                   %s: tensor<4xf32>) {
  // expected-error @+1 {{(C1) weights, moments, grad and results must be of one type f32[P]}}
  %y:3 = betz.adamw %w, %m, %v, %g, %q, %s {beta1 = 0.5 : f64, beta2 = 0.75 : f64, clip = 1.0 : f64, eps = 0.125 : f64, weight_decay = 0.25 : f64}
      : (tensor<2x320xf32>,
         tensor<2x320xf32>,
         tensor<2x320xf32>,
         tensor<2x320xf32>,
         tensor<1xf32>,
         tensor<4xf32>)
      -> (tensor<2x320xf32>, tensor<2x320xf32>, tensor<2x320xf32>)
  return
}

// -----

func.func @c2_squares(%w: tensor<640xf32>,
                      %m: tensor<640xf32>,
                      %v: tensor<640xf32>,
                      %g: tensor<640xf32>,
                      %q: tensor<2xf32>,
                      %s: tensor<4xf32>) {
  // expected-error @+1 {{(C2) grad_squares must be f32[1], schedule f32[4]}}
  %y:3 = betz.adamw %w, %m, %v, %g, %q, %s {beta1 = 0.5 : f64, beta2 = 0.75 : f64, clip = 1.0 : f64, eps = 0.125 : f64, weight_decay = 0.25 : f64}
      : (tensor<640xf32>,
         tensor<640xf32>,
         tensor<640xf32>,
         tensor<640xf32>,
         tensor<2xf32>,
         tensor<4xf32>)
      -> (tensor<640xf32>, tensor<640xf32>, tensor<640xf32>)
  return
}

// -----

func.func @c2_schedule(%w: tensor<640xf32>,
                       %m: tensor<640xf32>,
                       %v: tensor<640xf32>,
                       %g: tensor<640xf32>,
                       %q: tensor<1xf32>,
                       %s: tensor<3xf32>) {
  // expected-error @+1 {{(C2) grad_squares must be f32[1], schedule f32[4]}}
  %y:3 = betz.adamw %w, %m, %v, %g, %q, %s {beta1 = 0.5 : f64, beta2 = 0.75 : f64, clip = 1.0 : f64, eps = 0.125 : f64, weight_decay = 0.25 : f64}
      : (tensor<640xf32>,
         tensor<640xf32>,
         tensor<640xf32>,
         tensor<640xf32>,
         tensor<1xf32>,
         tensor<3xf32>)
      -> (tensor<640xf32>, tensor<640xf32>, tensor<640xf32>)
  return
}

// -----

func.func @c3_beta1(%w: tensor<640xf32>,
                    %m: tensor<640xf32>,
                    %v: tensor<640xf32>,
                    %g: tensor<640xf32>,
                    %q: tensor<1xf32>,
                    %s: tensor<4xf32>) {
  // expected-error @+1 {{(C3) betas must be at least 0 and below 1, eps positive, weight_decay and clip not negative}}
  %y:3 = betz.adamw %w, %m, %v, %g, %q, %s {beta1 = 1.0 : f64, beta2 = 0.75 : f64, clip = 1.0 : f64, eps = 0.125 : f64, weight_decay = 0.25 : f64}
      : (tensor<640xf32>,
         tensor<640xf32>,
         tensor<640xf32>,
         tensor<640xf32>,
         tensor<1xf32>,
         tensor<4xf32>)
      -> (tensor<640xf32>, tensor<640xf32>, tensor<640xf32>)
  return
}

// -----

func.func @c3_beta2(%w: tensor<640xf32>,
                    %m: tensor<640xf32>,
                    %v: tensor<640xf32>,
                    %g: tensor<640xf32>,
                    %q: tensor<1xf32>,
                    %s: tensor<4xf32>) {
  // expected-error @+1 {{(C3) betas must be at least 0 and below 1, eps positive, weight_decay and clip not negative}}
  %y:3 = betz.adamw %w, %m, %v, %g, %q, %s {beta1 = 0.5 : f64, beta2 = -0.1 : f64, clip = 1.0 : f64, eps = 0.125 : f64, weight_decay = 0.25 : f64}
      : (tensor<640xf32>,
         tensor<640xf32>,
         tensor<640xf32>,
         tensor<640xf32>,
         tensor<1xf32>,
         tensor<4xf32>)
      -> (tensor<640xf32>, tensor<640xf32>, tensor<640xf32>)
  return
}

// -----

func.func @c3_eps(%w: tensor<640xf32>,
                  %m: tensor<640xf32>,
                  %v: tensor<640xf32>,
                  %g: tensor<640xf32>,
                  %q: tensor<1xf32>,
                  %s: tensor<4xf32>) {
  // expected-error @+1 {{(C3) betas must be at least 0 and below 1, eps positive, weight_decay and clip not negative}}
  %y:3 = betz.adamw %w, %m, %v, %g, %q, %s {beta1 = 0.5 : f64, beta2 = 0.75 : f64, clip = 1.0 : f64, eps = 0.0 : f64, weight_decay = 0.25 : f64}
      : (tensor<640xf32>,
         tensor<640xf32>,
         tensor<640xf32>,
         tensor<640xf32>,
         tensor<1xf32>,
         tensor<4xf32>)
      -> (tensor<640xf32>, tensor<640xf32>, tensor<640xf32>)
  return
}

// -----

func.func @c3_decay(%w: tensor<640xf32>,
                    %m: tensor<640xf32>,
                    %v: tensor<640xf32>,
                    %g: tensor<640xf32>,
                    %q: tensor<1xf32>,
                    %s: tensor<4xf32>) {
  // expected-error @+1 {{(C3) betas must be at least 0 and below 1, eps positive, weight_decay and clip not negative}}
  %y:3 = betz.adamw %w, %m, %v, %g, %q, %s {beta1 = 0.5 : f64, beta2 = 0.75 : f64, clip = 1.0 : f64, eps = 0.125 : f64, weight_decay = -1.0 : f64}
      : (tensor<640xf32>,
         tensor<640xf32>,
         tensor<640xf32>,
         tensor<640xf32>,
         tensor<1xf32>,
         tensor<4xf32>)
      -> (tensor<640xf32>, tensor<640xf32>, tensor<640xf32>)
  return
}

// -----

func.func @c3_clip(%w: tensor<640xf32>,
                   %m: tensor<640xf32>,
                   %v: tensor<640xf32>,
                   %g: tensor<640xf32>,
                   %q: tensor<1xf32>,
                   %s: tensor<4xf32>) {
  // expected-error @+1 {{(C3) betas must be at least 0 and below 1, eps positive, weight_decay and clip not negative}}
  %y:3 = betz.adamw %w, %m, %v, %g, %q, %s {beta1 = 0.5 : f64, beta2 = 0.75 : f64, clip = -1.0 : f64, eps = 0.125 : f64, weight_decay = 0.25 : f64}
      : (tensor<640xf32>,
         tensor<640xf32>,
         tensor<640xf32>,
         tensor<640xf32>,
         tensor<1xf32>,
         tensor<4xf32>)
      -> (tensor<640xf32>, tensor<640xf32>, tensor<640xf32>)
  return
}
