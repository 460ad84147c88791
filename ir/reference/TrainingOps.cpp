//===- TrainingOps.cpp - Gradients, losses and the optimizer --------------===//
#include "ir/reference/Ops.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace betz::reference {
namespace {

Tensor zerosOf(mlir::Value result) {
  auto type = llvm::cast<mlir::RankedTensorType>(result.getType());
  Tensor tensor{type.getShape().vec(), {}, {}};
  tensor.real.assign(size_t(type.getNumElements()), 0.0);
  return tensor;
}

Tensor scalar(double value) { return {{1}, {value}, {}}; }

double squareSum(const std::vector<double> &values) {
  return std::inner_product(values.begin(), values.end(), values.begin(), 0.0);
}

uint32_t mix(uint32_t u) {
  u += 0x9e3779b9u;
  u = (u ^ (u >> 16)) * 0x85ebca6bu;
  u = (u ^ (u >> 13)) * 0xc2b2ae35u;
  return u ^ (u >> 16);
}

/// The number of rows with a label; the error if a label is too large.
Result<int64_t> countLabels(mlir::Value source, const Tensor &label,
                            int64_t classes) {
  int64_t count = 0;
  for (size_t r = 0; r < label.integer.size(); ++r) {
    if (label.integer[r] >= classes)
      return invalidArgument(describe(source) + "[" + std::to_string(r) +
                             "] is " + std::to_string(label.integer[r]) +
                             ", but there are " + std::to_string(classes) +
                             " classes");
    count += label.integer[r] >= 0;
  }
  return count;
}

/// log(sum of exp) of a row.
double logSumExp(const double *row, int64_t columns) {
  const double largest = *std::max_element(row, row + columns);
  double sum = 0;
  for (int64_t c = 0; c < columns; ++c)
    sum += std::exp(row[c] - largest);
  return largest + std::log(sum);
}

} // namespace

Tensor evaluateTrainingOp(ir::ContractRowsOp op, const Operands &operands) {
  const Tensor &a = operands[op.getA()], &b = operands[op.getB()];
  Tensor result = zerosOf(op.getResult());
  const int64_t columns = b.columns();
  for (int64_t r = 0; r < a.rows(); ++r)
    for (int64_t n = 0; n < a.columns(); ++n) {
      const double factor = a.real[size_t(r * a.columns() + n)];
      const double *row = &b.real[size_t(r * columns)];
      double *sum = &result.real[size_t(n * columns)];
      for (int64_t k = 0; k < columns; ++k)
        sum[k] += factor * row[k];
    }
  return result;
}

Tensor evaluateTrainingOp(ir::ColumnSumOp op, const Operands &operands) {
  const Tensor &x = operands[op.getX()];
  Tensor result = zerosOf(op.getResult());
  for (size_t i = 0; i < x.real.size(); ++i)
    result.real[i % result.real.size()] += x.real[i];
  return result;
}

Result<Tensor> evaluateScatterSum(ir::ScatterSumOp op,
                                  const Operands &operands) {
  const Tensor &index = operands[op.getIndex()], &x = operands[op.getX()];
  Tensor result = zerosOf(op.getResult());
  const int64_t columns = x.columns();
  for (size_t e = 0; e < index.integer.size(); ++e) {
    const int64_t row = index.integer[e];
    if (row < 0 || row >= result.shape[0])
      return invalidArgument(describe(op.getIndex()) + "[" + std::to_string(e) +
                             "] is " + std::to_string(row) +
                             ", but the result has " +
                             std::to_string(result.shape[0]) + " rows");
    for (int64_t d = 0; d < columns; ++d)
      result.real[size_t(row * columns + d)] +=
          x.real[e * size_t(columns) + size_t(d)];
  }
  return result;
}

Tensor evaluateTrainingOp(ir::SquareSumOp op, const Operands &operands) {
  return scalar(squareSum(operands[op.getX()].real));
}

Tensor evaluateTrainingOp(ir::JoinColumnsOp op, const Operands &operands) {
  Tensor result = operands[op.getParts().front()];
  const int64_t columns =
      llvm::cast<mlir::RankedTensorType>(op.getResult().getType())
          .getShape()
          .back();
  result.shape.back() = columns;
  result.real.assign(size_t(result.rows() * columns), 0.0);
  for (auto [value, offset] : llvm::zip(op.getParts(), op.getOffsets())) {
    const Tensor &part = operands[value];
    for (int64_t r = 0; r < part.rows(); ++r)
      std::copy_n(part.real.begin() + r * part.columns(), part.columns(),
                  result.real.begin() + r * columns + offset);
  }
  return result;
}

Tensor evaluateTrainingOp(ir::DropoutOp op, const Operands &operands) {
  Tensor result = operands[op.getX()];
  const std::vector<int32_t> &seed = operands[op.getSeed()].integer;
  const double rate = op.getRate().convertToDouble();
  const auto threshold = uint32_t(std::floor(rate * 0x1p32));
  const uint32_t key = mix(
      uint32_t(seed[0]) + mix(uint32_t(seed[1]) + mix(uint32_t(op.getSite()))));
  for (size_t i = 0; i < result.real.size(); ++i)
    result.real[i] = mix(key ^ mix(uint32_t(i))) >= threshold
                         ? result.real[i] / (1 - rate)
                         : 0.0;
  return result;
}

Tensor evaluateTrainingOp(ir::HeadDotsOp op, const Operands &operands) {
  const Tensor &a = operands[op.getA()], &b = operands[op.getB()];
  const int64_t heads = int64_t(op.getHeads()), size = a.columns() / heads;
  Tensor result{a.shape, {}, {}};
  result.shape.back() = heads;
  result.real.assign(size_t(a.rows() * heads), 0.0);
  for (size_t i = 0; i < a.real.size(); ++i)
    result.real[i / size_t(size)] += a.real[i] * b.real[i];
  return result;
}

Tensor evaluateTrainingOp(ir::MseLossOp op, const Operands &operands) {
  const std::vector<double> &x = operands[op.getX()].real;
  const std::vector<double> &target = operands[op.getTarget()].real;
  double sum = 0;
  for (size_t i = 0; i < x.size(); ++i)
    sum += (x[i] - target[i]) * (x[i] - target[i]);
  return scalar(x.empty() ? 0.0 : sum / double(x.size()));
}

Tensor evaluateTrainingOp(ir::MseGradOp op, const Operands &operands) {
  Tensor result = operands[op.getX()];
  const std::vector<double> &target = operands[op.getTarget()].real;
  const double dloss = operands[op.getDloss()].real[0];
  for (size_t i = 0; i < result.real.size(); ++i)
    result.real[i] =
        dloss * 2 * (result.real[i] - target[i]) / double(result.real.size());
  return result;
}

Result<Tensor> evaluateCrossEntropy(ir::CrossEntropyOp op,
                                    const Operands &operands) {
  const Tensor &logits = operands[op.getLogits()];
  const Tensor &label = operands[op.getLabel()];
  const int64_t classes = logits.columns();
  BETZ_ASSIGN_OR_RETURN(int64_t count,
                        countLabels(op.getLabel(), label, classes));
  double sum = 0;
  for (size_t r = 0; r < label.integer.size(); ++r)
    if (label.integer[r] >= 0) {
      const double *row = &logits.real[r * size_t(classes)];
      sum += logSumExp(row, classes) - row[label.integer[r]];
    }
  return scalar(count ? sum / double(count) : 0.0);
}

Result<Tensor> evaluateCrossEntropyGrad(ir::CrossEntropyGradOp op,
                                        const Operands &operands) {
  Tensor result = operands[op.getLogits()];
  const Tensor &label = operands[op.getLabel()];
  const int64_t classes = result.columns();
  BETZ_ASSIGN_OR_RETURN(int64_t count,
                        countLabels(op.getLabel(), label, classes));
  const double factor = operands[op.getDloss()].real[0] / double(count);
  for (size_t r = 0; r < label.integer.size(); ++r) {
    double *row = &result.real[r * size_t(classes)];
    const double total = logSumExp(row, classes);
    for (int64_t c = 0; c < classes; ++c)
      row[c] =
          label.integer[r] < 0
              ? 0.0
              : factor * (std::exp(row[c] - total) - (c == label.integer[r]));
  }
  return result;
}

std::vector<Tensor> evaluateAdamw(ir::AdamwOp op, const Operands &operands) {
  Tensor weights = operands[op.getWeights()];
  Tensor moment1 = operands[op.getMoment1()];
  Tensor moment2 = operands[op.getMoment2()];
  const Tensor &grad = operands[op.getGrad()];
  const std::vector<double> &schedule = operands[op.getSchedule()].real;
  const double rate = schedule[0];
  const double norm =
      schedule[3] * std::sqrt(operands[op.getGradSquares()].real[0]);
  const double clip = op.getClip().convertToDouble();
  const double factor =
      schedule[3] * (clip > 0 ? std::min(1.0, clip / (norm + 1e-6)) : 1.0);
  const double beta1 = op.getBeta1().convertToDouble();
  const double beta2 = op.getBeta2().convertToDouble();
  const double eps = op.getEps().convertToDouble();
  const double kept = 1 - rate * op.getWeightDecay().convertToDouble();
  for (size_t i = 0; i < weights.real.size(); ++i) {
    const double g = grad.real[i] * factor;
    double &m = moment1.real[i], &v = moment2.real[i];
    m = beta1 * m + (1 - beta1) * g;
    v = beta2 * v + (1 - beta2) * g * g;
    weights.real[i] =
        weights.real[i] * kept -
        rate * m * schedule[1] / (std::sqrt(v * schedule[2]) + eps);
  }
  return {std::move(weights), std::move(moment1), std::move(moment2)};
}

} // namespace betz::reference
