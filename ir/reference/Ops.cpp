//===- Ops.cpp - Ops that are one plain loop ------------------------------===//
#include "ir/reference/Ops.h"

#include "ir/Module.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/TypeSwitch.h"

#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>

namespace betz::reference {

const Tensor &Operands::operator[](mlir::Value value) const {
  return *tensors[llvm::find(op->getOperands(), value) - op->operand_begin()];
}

std::string describe(mlir::Value value) {
  auto argument = llvm::dyn_cast<mlir::BlockArgument>(value);
  if (!argument)
    return "the result of " +
           value.getDefiningOp()->getName().getStringRef().str();
  mlir::Operation *parent = argument.getOwner()->getParentOp();
  unsigned index = argument.getArgNumber();
  if (auto kernel = llvm::dyn_cast<ir::KernelOp>(parent))
    return describe(kernel.getInputs()[index]);
  if (auto function = llvm::dyn_cast<mlir::func::FuncOp>(parent))
    for (llvm::StringRef attribute :
         {ir::kInputAttr, ir::kDerivedAttr, ir::kWeightAttr})
      if (auto name = ir::getArgName(function, index, attribute); !name.empty())
        return "'" + name.str() + "'";
  return "argument " + std::to_string(index);
}

Status checkRowSplits(mlir::Value source, const Tensor &splits,
                      int64_t elements) {
  const std::vector<int32_t> &ends = splits.integer;
  auto fail = [&](size_t index, std::string wanted) {
    return invalidArgument(describe(source) + "[" + std::to_string(index) +
                           "] is " + std::to_string(ends[index]) + ", not " +
                           wanted);
  };
  if (ends.front() != 0)
    return fail(0, "0");
  for (size_t i = 1; i < ends.size(); ++i)
    if (ends[i] < ends[i - 1])
      return fail(i, std::to_string(ends[i - 1]) + " or more");
  if (ends.back() != elements)
    return fail(ends.size() - 1,
                std::to_string(elements) + ", the number of rows");
  return Status::ok();
}

namespace {

Result<Tensor> evaluateSegmentSub(ir::SegmentSubOp op,
                                  const Operands &operands) {
  Tensor result = operands[op.getValues()];
  const Tensor &base = operands[op.getBase()];
  const Tensor &splits = operands[op.getRowSplits()];
  BETZ_RETURN_IF_ERROR(
      checkRowSplits(op.getRowSplits(), splits, result.shape[0]));
  for (size_t s = 0; s < base.integer.size(); ++s)
    for (int64_t e = splits.integer[s]; e < splits.integer[s + 1]; ++e) {
      int64_t difference = int64_t(result.integer[e]) - base.integer[s];
      if (difference != int32_t(difference))
        return invalidArgument(
            describe(op.getValues()) + "[" + std::to_string(e) + "] is " +
            std::to_string(difference) + " after its base: not an i32");
      result.integer[e] = int32_t(difference);
    }
  return result;
}

Result<Tensor> evaluateGatherSum(ir::GatherSumOp op, const Operands &operands) {
  Tensor result{operands[op.getIndices()[0]].shape, {}, {}};
  const int64_t elements = result.rows() * result.columns();
  const int64_t columns = operands[op.getTables()[0]].columns();
  result.shape.push_back(columns);
  result.real.assign(elements * columns, 0.0);
  for (auto [indexValue, tableValue] :
       llvm::zip(op.getIndices(), op.getTables())) {
    const Tensor &indices = operands[indexValue];
    const Tensor &table = operands[tableValue];
    for (int64_t e = 0; e < elements; ++e) {
      const int64_t row = indices.integer[e];
      if (row < 0 || row >= table.shape[0])
        return invalidArgument(describe(indexValue) + "[" + std::to_string(e) +
                               "] is " + std::to_string(row) + ", but " +
                               describe(tableValue) + " has " +
                               std::to_string(table.shape[0]) + " rows");
      for (int64_t d = 0; d < columns; ++d)
        result.real[e * columns + d] += table.real[row * columns + d];
    }
  }
  return result;
}

/// What a norm subtracts from a row and divides it by.
struct RowMoments {
  double mean = 0, deviation = 1;
};

RowMoments measureRow(const double *row, int64_t columns, ir::NormKind kind,
                      double eps) {
  RowMoments moments;
  if (kind == ir::NormKind::Layer) {
    for (int64_t d = 0; d < columns; ++d)
      moments.mean += row[d];
    moments.mean /= columns;
  }
  double squares = 0;
  for (int64_t d = 0; d < columns; ++d)
    squares += (row[d] - moments.mean) * (row[d] - moments.mean);
  moments.deviation = std::sqrt(squares / columns + eps);
  return moments;
}

Tensor evaluateNorm(ir::NormOp op, const Operands &operands) {
  Tensor result = operands[op.getX()];
  const Tensor &gain = operands[op.getGain()];
  const Tensor *shift = op.getShift() ? &operands[op.getShift()] : nullptr;
  const int64_t columns = result.columns();
  for (int64_t r = 0; r < result.rows(); ++r) {
    double *row = &result.real[r * columns];
    RowMoments moments =
        measureRow(row, columns, op.getKind(), op.getEps().convertToDouble());
    for (int64_t d = 0; d < columns; ++d)
      row[d] = (row[d] - moments.mean) / moments.deviation * gain.real[d] +
               (shift ? shift->real[d] : 0.0);
  }
  return result;
}

Tensor evaluateNormGrad(ir::NormGradOp op, const Operands &operands) {
  const Tensor &x = operands[op.getX()], &dy = operands[op.getDy()];
  const std::vector<double> &gain = operands[op.getGain()].real;
  Tensor result{x.shape, {}, {}};
  const int64_t columns = x.columns();
  const bool isLayer = op.getKind() == ir::NormKind::Layer;
  for (int64_t r = 0; r < x.rows(); ++r) {
    const double *row = &x.real[size_t(r * columns)];
    const RowMoments moments =
        measureRow(row, columns, op.getKind(), op.getEps().convertToDouble());
    auto normalized = [&](int64_t d) {
      return (row[d] - moments.mean) / moments.deviation;
    };
    auto gradient = [&](int64_t d) {
      return dy.real[size_t(r * columns + d)] * gain[size_t(d)];
    };
    double mean = 0, alongRow = 0;
    for (int64_t d = 0; d < columns; ++d) {
      mean += isLayer ? gradient(d) / double(columns) : 0.0;
      alongRow += gradient(d) * normalized(d) / double(columns);
    }
    for (int64_t d = 0; d < columns; ++d)
      result.real.push_back((gradient(d) - mean - normalized(d) * alongRow) /
                            moments.deviation);
  }
  return result;
}

Tensor evaluateNormScale(ir::NormScaleOp op, const Operands &operands) {
  const Tensor &x = operands[op.getX()];
  Tensor result{x.shape, {}, {}};
  result.shape.back() = 1;
  for (int64_t r = 0; r < x.rows(); ++r)
    result.real.push_back(1 / measureRow(&x.real[r * x.columns()], x.columns(),
                                         op.getKind(),
                                         op.getEps().convertToDouble())
                                  .deviation);
  return result;
}

Tensor evaluateSquareSums(ir::SquareSumsOp op, const Operands &operands) {
  const Tensor &x = operands[op.getX()];
  const size_t group = size_t(op.getGroup());
  Tensor result{x.shape, {}, {}};
  result.shape.back() /= int64_t(group);
  result.real.resize(x.real.size() / group);
  for (size_t i = 0; i < x.real.size(); ++i)
    result.real[i / group] += x.real[i] * x.real[i];
  return result;
}

Tensor evaluateScaleFromSquares(ir::ScaleFromSquaresOp op,
                                const Operands &operands) {
  const Tensor &squares = operands[op.getSquares()];
  Tensor result{squares.shape, {}, {}};
  result.shape.back() = 1;
  for (int64_t r = 0; r < squares.rows(); ++r) {
    const double *row = &squares.real[size_t(r * squares.columns())];
    const double sum = std::accumulate(row, row + squares.columns(), 0.0);
    result.real.push_back(1 / std::sqrt(sum / double(op.getColumns()) +
                                        op.getEps().convertToDouble()));
  }
  return result;
}

Tensor evaluateScaleRows(ir::ScaleRowsOp op, const Operands &operands) {
  Tensor result = operands[op.getX()];
  const Tensor &scale = operands[op.getScale()];
  for (size_t i = 0; i < result.real.size(); ++i)
    result.real[i] *= scale.real[i / size_t(result.columns())];
  return result;
}

Tensor evaluateRotary(ir::RotaryOp op, const Operands &operands) {
  Tensor result = operands[op.getX()];
  const Tensor *position =
      op.getPosition() ? &operands[op.getPosition()] : nullptr;
  const int64_t columns = result.columns(), heads = op.getHeads();
  const int64_t half = columns / heads / 2;
  const int64_t sequence = result.shape[result.shape.size() - 2];
  const double offset = op.getOffset().convertToDouble();
  const double step = op.getStep().convertToDouble();
  const double shortest = op.getPeriodMin().convertToDouble();
  const double ratio = op.getPeriodMax().convertToDouble() / shortest;
  const double spans = std::max<int64_t>(half - 1, 1);
  for (int64_t i = 0; i < half; ++i) {
    const double period = shortest * std::pow(ratio, i / spans);
    for (int64_t r = 0; r < result.rows(); ++r) {
      const double place =
          position ? position->integer[r] : double(r % sequence);
      const double time = (place + offset) * step;
      const double angle = 2 * std::numbers::pi * time / period;
      const double cosine = std::cos(angle), sine = std::sin(angle);
      double *row = &result.real[r * columns];
      for (int64_t h = 0; h < heads; ++h) {
        double &first = row[h * 2 * half + i];
        double &second = row[h * 2 * half + half + i];
        const double u = first, w = second;
        first = u * cosine - w * sine;
        second = w * cosine + u * sine;
      }
    }
  }
  return result;
}

/// The first i32 that satisfies `holds`, or one past the last i32 if none does.
/// All that follow must satisfy it too.
template <typename Predicate> int64_t firstWhere(Predicate holds) {
  int64_t low = std::numeric_limits<int32_t>::min();
  int64_t high = int64_t(std::numeric_limits<int32_t>::max()) + 1;
  while (low < high) {
    int64_t middle = low + (high - low) / 2;
    if (holds(double(middle)))
      high = middle;
    else
      low = middle + 1;
  }
  return low;
}

Tensor evaluateReachBounds(ir::ReachBoundsOp op) {
  auto type = llvm::cast<mlir::RankedTensorType>(op.getResult().getType());
  const double span = op.getSpan().convertToDouble();
  const double reach = op.getReach().convertToDouble();
  const int64_t queries = type.getDimSize(0);
  Tensor result{type.getShape().vec(), {}, {}};
  for (int64_t l = 0; l < queries; ++l) {
    const double centre = (l + 0.5) * span / queries;
    int64_t low =
        firstWhere([&](double t) { return t + 0.5 - centre >= -reach; });
    int64_t high =
        firstWhere([&](double t) { return t + 0.5 - centre > reach; }) - 1;
    if (low > high)
      low = 1, high = 0;
    result.integer.push_back(int32_t(low));
    result.integer.push_back(int32_t(high));
  }
  return result;
}

/// lhs and rhs elementwise, rhs repeated along the leading dimensions.
template <typename Op, typename Function>
Tensor evaluateBinary(Op op, const Operands &operands, Function function) {
  Tensor result = operands[op.getLhs()];
  const Tensor &rhs = operands[op.getRhs()];
  for (size_t i = 0; i < result.real.size(); ++i)
    result.real[i] = function(result.real[i], rhs.real[i % rhs.real.size()]);
  return result;
}

template <typename Op, typename Function>
Tensor evaluateUnary(Op op, const Operands &operands, Function function) {
  Tensor result = operands[op.getX()];
  for (double &x : result.real)
    x = function(x);
  return result;
}

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double gelu(double x) {
  return x / 2 * (1 + std::erf(x / std::numbers::sqrt2));
}
double silu(double x) { return x / (1 + std::exp(-x)); }

double geluGrad(double x, double dy) {
  const double density =
      std::exp(-x * x / 2) * std::numbers::inv_sqrtpi / std::numbers::sqrt2;
  return dy * ((1 + std::erf(x / std::numbers::sqrt2)) / 2 + x * density);
}

double siluGrad(double x, double dy) {
  const double s = sigmoid(x);
  return dy * s * (1 + x * (1 - s));
}

Tensor evaluateSlice(ir::SliceOp op, const Operands &operands) {
  const Tensor &x = operands[op.getX()];
  const int64_t offset = op.getOffset();
  Tensor result{x.shape, {}, {}};
  result.shape.back() =
      llvm::cast<mlir::RankedTensorType>(op.getResult().getType())
          .getShape()
          .back();
  auto copyRows = [&](const auto &source, auto &target) {
    if (source.empty())
      return;
    for (int64_t r = 0; r < x.rows(); ++r) {
      auto first = source.begin() + r * x.columns() + offset;
      target.insert(target.end(), first, first + result.columns());
    }
  };
  copyRows(x.real, result.real);
  copyRows(x.integer, result.integer);
  return result;
}

Tensor evaluateReshape(ir::ReshapeOp op, const Operands &operands) {
  Tensor result = operands[op.getX()];
  auto type = llvm::cast<mlir::RankedTensorType>(op.getResult().getType());
  std::vector<int64_t> shape = type.getShape().vec();
  if (!type.hasStaticShape())
    shape[0] = result.shape[0];
  result.shape = std::move(shape);
  return result;
}

} // namespace

Result<Tensor> evaluateOp(mlir::Operation *op, const Operands &operands) {
  using R = Result<Tensor>;
  return llvm::TypeSwitch<mlir::Operation *, R>(op)
      .Case([&](ir::SegmentSubOp o) { return evaluateSegmentSub(o, operands); })
      .Case([&](ir::GatherSumOp o) { return evaluateGatherSum(o, operands); })
      .Case([&](ir::NormOp o) -> R { return evaluateNorm(o, operands); })
      .Case([&](ir::NormScaleOp o) -> R {
        return evaluateNormScale(o, operands);
      })
      .Case([&](ir::SquareSumsOp o) -> R {
        return evaluateSquareSums(o, operands);
      })
      .Case([&](ir::ScaleFromSquaresOp o) -> R {
        return evaluateScaleFromSquares(o, operands);
      })
      .Case([&](ir::ScaleRowsOp o) -> R {
        return evaluateScaleRows(o, operands);
      })
      .Case([&](ir::MatmulOp o) -> R { return evaluateMatmul(o, operands); })
      .Case<ir::PackPanelsOp, ir::FillOp, ir::SubtractMeanOp, ir::TransposeOp,
            ir::ConcatOp, ir::ExpandHeadsOp>(
          [&](auto o) -> R { return evaluateWeightOp(o, operands); })
      .Case([&](ir::AttentionOp o) { return evaluateAttention(o, operands); })
      .Case([&](ir::AttentionLseOp o) {
        return evaluateAttentionLse(o, operands);
      })
      .Case([&](ir::AttentionGradQOp o) {
        return evaluateAttentionGradQ(o, operands);
      })
      .Case([&](ir::AttentionGradKvOp o) {
        return evaluateAttentionGradKv(o, operands);
      })
      .Case(
          [&](ir::NormGradOp o) -> R { return evaluateNormGrad(o, operands); })
      .Case<ir::ContractRowsOp, ir::ColumnSumOp, ir::SquareSumOp,
            ir::JoinColumnsOp, ir::DropoutOp, ir::HeadDotsOp, ir::MseLossOp,
            ir::MseGradOp>(
          [&](auto o) -> R { return evaluateTrainingOp(o, operands); })
      .Case([&](ir::ScatterSumOp o) { return evaluateScatterSum(o, operands); })
      .Case([&](ir::CrossEntropyOp o) {
        return evaluateCrossEntropy(o, operands);
      })
      .Case([&](ir::CrossEntropyGradOp o) {
        return evaluateCrossEntropyGrad(o, operands);
      })
      .Case([&](ir::RotaryOp o) -> R { return evaluateRotary(o, operands); })
      .Case([&](ir::ReachBoundsOp o) -> R { return evaluateReachBounds(o); })
      .Case([&](ir::AddOp o) -> R {
        return evaluateBinary(o, operands, std::plus<double>());
      })
      .Case([&](ir::MulOp o) -> R {
        return evaluateBinary(o, operands, std::multiplies<double>());
      })
      .Case([&](ir::SubOp o) -> R {
        return evaluateBinary(o, operands, std::minus<double>());
      })
      .Case([&](ir::GeluGradOp o) -> R {
        return evaluateBinary(o, operands, geluGrad);
      })
      .Case([&](ir::SiluGradOp o) -> R {
        return evaluateBinary(o, operands, siluGrad);
      })
      .Case([&](ir::GeluOp o) -> R { return evaluateUnary(o, operands, gelu); })
      .Case([&](ir::SiluOp o) -> R { return evaluateUnary(o, operands, silu); })
      .Case([&](ir::SigmoidOp o) -> R {
        return evaluateUnary(o, operands, sigmoid);
      })
      .Case([&](ir::TanhOp o) -> R {
        return evaluateUnary(o, operands,
                             [](double x) { return std::tanh(x); });
      })
      .Case([&](ir::CastOp o) -> R { return operands[o.getX()]; })
      .Case([&](ir::SliceOp o) -> R { return evaluateSlice(o, operands); })
      .Case([&](ir::ReshapeOp o) -> R { return evaluateReshape(o, operands); })
      .Default([](mlir::Operation *o) -> R {
        return invalidArgument("the interpreter has no meaning for '" +
                               o->getName().getStringRef().str() + "'");
      });
}

} // namespace betz::reference
