// RUN: betz-opt %s | betz-opt | FileCheck %s

// CHECK-LABEL: func @flat
func.func @flat(%w: tensor<640xf32>,
                %m: tensor<640xf32>,
                %v: tensor<640xf32>,
                %g: tensor<640xf32>,
                %q: tensor<1xf32>,
                %s: tensor<4xf32>) {
  // CHECK: betz.adamw %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} {beta1 = 5.000000e-01 : f64, beta2 = 7.500000e-01 : f64, clip = 1.000000e+00 : f64, eps = 1.250000e-01 : f64, weight_decay = 2.500000e-01 : f64} : (tensor<640xf32>, tensor<640xf32>, tensor<640xf32>, tensor<640xf32>, tensor<1xf32>, tensor<4xf32>) -> (tensor<640xf32>, tensor<640xf32>, tensor<640xf32>)
  %y:3 = betz.adamw %w, %m, %v, %g, %q, %s {beta1 = 0.5 : f64, beta2 = 0.75 : f64, clip = 1.0 : f64, eps = 0.125 : f64, weight_decay = 0.25 : f64}
      : (tensor<640xf32>,
         tensor<640xf32>,
         tensor<640xf32>,
         tensor<640xf32>,
         tensor<1xf32>,
         tensor<4xf32>)
      -> (tensor<640xf32>, tensor<640xf32>, tensor<640xf32>)
  return
}
