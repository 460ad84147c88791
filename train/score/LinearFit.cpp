#include "train/score/LinearFit.h"

#include <Eigen/Cholesky>
#include <fmt/format.h>

namespace betz::train {

LinearSums::LinearSums(int64_t features, int64_t outputs)
    : gram(Eigen::MatrixXd::Zero(features, features)),
      cross(Eigen::MatrixXd::Zero(features, outputs)),
      features(Eigen::VectorXd::Zero(features)),
      outputs(Eigen::RowVectorXd::Zero(outputs)) {}

void LinearSums::add(const Eigen::Ref<const Eigen::MatrixXd> &x,
                     const Eigen::Ref<const Eigen::MatrixXd> &y) {
  rows += double(x.rows());
  gram.selfadjointView<Eigen::Lower>().rankUpdate(x.transpose());
  cross.noalias() += x.transpose() * y;
  features += x.colwise().sum().transpose();
  outputs += y.colwise().sum();
}

Result<LinearMap> fitRidge(const LinearSums &sums, double alpha) {
  const Eigen::VectorXd featureMean = sums.features / sums.rows;
  const Eigen::RowVectorXd outputMean = sums.outputs / sums.rows;
  Eigen::MatrixXd centred = sums.gram;
  centred.selfadjointView<Eigen::Lower>().rankUpdate(featureMean, -sums.rows);
  centred.diagonal().array() += alpha;
  // In place: a Gram matrix of thousands of features is copied once only.
  Eigen::LLT<Eigen::Ref<Eigen::MatrixXd>> cholesky(centred);
  if (cholesky.info() != Eigen::Success)
    return invalidArgument(fmt::format(
        "ridge with alpha {:g}: the {} features of {:g} rows are linearly "
        "dependent; take a larger alpha",
        alpha, sums.gram.rows(), sums.rows));
  LinearMap map;
  map.weights = cholesky.solve(sums.cross - featureMean * sums.outputs);
  map.intercept = outputMean - featureMean.transpose() * map.weights;
  return map;
}

Eigen::MatrixXd apply(const LinearMap &map,
                      const Eigen::Ref<const Eigen::MatrixXd> &x) {
  return (x * map.weights).rowwise() + map.intercept;
}

Eigen::MatrixXd toMatrix(const Table &table) {
  Eigen::MatrixXd matrix(table.rows, table.columns);
  for (int64_t row = 0; row < table.rows; ++row)
    for (int64_t column = 0; column < table.columns; ++column)
      matrix(row, column) = table.at(row, column);
  return matrix;
}

Table toTable(const Eigen::Ref<const Eigen::MatrixXd> &matrix) {
  Table table(matrix.rows(), matrix.cols());
  for (int64_t row = 0; row < table.rows; ++row)
    for (int64_t column = 0; column < table.columns; ++column)
      table.at(row, column) = matrix(row, column);
  return table;
}

} // namespace betz::train
