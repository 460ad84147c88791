//===- LinearFit.h - Ridge regression from sums ---------------------------===//
#pragma once

#include "runtime/base/Status.h"
#include "train/score/Score.h"

#include <Eigen/Core>
#include <span>
#include <vector>

namespace betz::train {

/// prediction = intercept + weightsᵀ features.
struct LinearMap {
  /// [features, outputs].
  Eigen::MatrixXd weights;
  Eigen::RowVectorXd intercept;
};

/// Sums over rows of features x and outputs y; enough for any ridge penalty.
struct LinearSums {
  double rows = 0;
  /// Σ x xᵀ; the lower triangle counts.
  Eigen::MatrixXd gram;
  /// Σ x yᵀ.
  Eigen::MatrixXd cross;
  Eigen::VectorXd features;
  Eigen::RowVectorXd outputs;

  LinearSums() = default;
  LinearSums(int64_t features, int64_t outputs);
  /// Adds rows of `x` [rows, features] and `y` [rows, outputs].
  void add(const Eigen::Ref<const Eigen::MatrixXd> &x,
           const Eigen::Ref<const Eigen::MatrixXd> &y);
};

/// The map that minimises squared error + alpha · |weights|²; the intercept is
/// free. Fails when the system is singular in f64, which alpha > 0 prevents
/// for features of a sane scale.
Result<LinearMap> fitRidge(const LinearSums &sums, double alpha);

/// [rows, outputs] for `x` [rows, features].
Eigen::MatrixXd apply(const LinearMap &map,
                      const Eigen::Ref<const Eigen::MatrixXd> &x);

/// Conversions that copy.
Eigen::MatrixXd toMatrix(const Table &table);
Table toTable(const Eigen::Ref<const Eigen::MatrixXd> &matrix);

} // namespace betz::train
