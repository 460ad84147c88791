#include "tests/numerics/NaiveOps.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/TypeSwitch.h"

#include <cmath>
#include <complex>
#include <functional>
#include <numbers>

namespace betz {
namespace {

using Real = long double;
using Index = std::vector<int64_t>;

/// A tensor that is read and written by index, never by offset.
struct Array {
  Index shape;
  std::vector<Real> values;

  explicit Array(Index shape = {}) : shape(std::move(shape)) {
    int64_t count = 1;
    for (int64_t size : this->shape)
      count *= size;
    values.resize(count);
  }
  Real &operator[](const Index &index) {
    int64_t offset = 0;
    for (size_t i = 0; i < shape.size(); ++i)
      offset = offset * shape[i] + index[i];
    return values.at(offset);
  }
  const Real &operator[](const Index &index) const {
    return const_cast<Array &>(*this)[index];
  }
  /// Calls `function` with each index in order.
  void forEach(const std::function<void(const Index &)> &function) const {
    Index index(shape.size(), 0);
    for (size_t n = 0; n < values.size(); ++n) {
      function(index);
      for (size_t i = shape.size(); i-- > 0 && ++index[i] == shape[i];)
        index[i] = 0;
    }
  }
};

using Lookup = std::function<const Array &(mlir::Value)>;

Index withLast(Index index, int64_t last) {
  index.back() = last;
  return index;
}

Array naiveSegmentSub(ir::SegmentSubOp op, const Lookup &get) {
  Array result = get(op.getValues());
  const Array &base = get(op.getBase()), &splits = get(op.getRowSplits());
  for (int64_t e = 0; e < result.shape[0]; ++e)
    for (int64_t s = 0; s < base.shape[0]; ++s)
      if (splits[{s}] <= e && e < splits[{s + 1}])
        result[{e}] -= base[{s}];
  return result;
}

Array naiveGatherSum(ir::GatherSumOp op, const Lookup &get) {
  Array result(
      {get(op.getIndices()[0]).shape[0], get(op.getTables()[0]).shape[1]});
  result.forEach([&](const Index &at) {
    for (unsigned k = 0; k < op.getTables().size(); ++k) {
      auto row = int64_t(get(op.getIndices()[k])[{at[0]}]);
      result[at] += get(op.getTables()[k])[{row, at[1]}];
    }
  });
  return result;
}

/// By the moments of the row, not by its centred values.
Array naiveNorm(ir::NormOp op, const Lookup &get) {
  const Array &x = get(op.getX());
  Array result(x.shape);
  const int64_t columns = x.shape.back();
  x.forEach([&](const Index &at) {
    Real sum = 0, squares = 0;
    for (int64_t d = 0; d < columns; ++d) {
      sum += x[withLast(at, d)];
      squares += x[withLast(at, d)] * x[withLast(at, d)];
    }
    Real mean = op.getKind() == ir::NormKind::Layer ? sum / columns : 0;
    Real variance = squares / columns - mean * mean;
    Real eps = op.getEps().convertToDouble();
    result[at] = (x[at] - mean) / std::sqrt(variance + eps) *
                 get(op.getGain())[{at.back()}];
    if (op.getShift())
      result[at] += get(op.getShift())[{at.back()}];
  });
  return result;
}

/// By the moments of the row, as above.
Array naiveNormScale(ir::NormScaleOp op, const Lookup &get) {
  const Array &x = get(op.getX());
  Array result(withLast(x.shape, 1));
  const int64_t columns = x.shape.back();
  result.forEach([&](const Index &at) {
    Real sum = 0, squares = 0;
    for (int64_t d = 0; d < columns; ++d) {
      sum += x[withLast(at, d)];
      squares += x[withLast(at, d)] * x[withLast(at, d)];
    }
    Real mean = op.getKind() == ir::NormKind::Layer ? sum / columns : 0;
    Real eps = op.getEps().convertToDouble();
    result[at] = 1 / std::sqrt(squares / columns - mean * mean + eps);
  });
  return result;
}

Array naiveSquareSums(ir::SquareSumsOp op, const Lookup &get) {
  const Array &x = get(op.getX());
  const int64_t group = int64_t(op.getGroup());
  Array result(withLast(x.shape, x.shape.back() / group));
  result.forEach([&](const Index &at) {
    for (int64_t i = 0; i < group; ++i) {
      const Real value = x[withLast(at, at.back() * group + i)];
      result[at] += value * value;
    }
  });
  return result;
}

Array naiveScaleFromSquares(ir::ScaleFromSquaresOp op, const Lookup &get) {
  const Array &squares = get(op.getSquares());
  Array result(withLast(squares.shape, 1));
  result.forEach([&](const Index &at) {
    Real sum = 0;
    for (int64_t g = 0; g < squares.shape.back(); ++g)
      sum += squares[withLast(at, g)];
    result[at] = 1 / std::sqrt(sum / Real(op.getColumns()) +
                               Real(op.getEps().convertToDouble()));
  });
  return result;
}

Array naiveScaleRows(ir::ScaleRowsOp op, const Lookup &get) {
  Array result = get(op.getX());
  const Array &scale = get(op.getScale());
  result.forEach(
      [&](const Index &at) { result[at] *= scale[withLast(at, 0)]; });
  return result;
}

Array naiveMatmul(ir::MatmulOp op, const Lookup &get) {
  const Array &x = get(op.getX()), &weight = get(op.getWeight());
  Array result(withLast(x.shape, op.getOutputColumns()));
  result.forEach([&](const Index &at) {
    int64_t n = at.back();
    for (int64_t k = 0; k < x.shape.back(); ++k) {
      int64_t panel = weight.shape.back();
      Real w =
          op.getColumns() ? weight[{n / panel, k, n % panel}] : weight[{n, k}];
      result[at] += x[withLast(at, k)] * w;
    }
  });
  return result;
}

Array naivePackPanels(ir::PackPanelsOp op, const Lookup &get) {
  const Array &weight = get(op.getWeight());
  const int64_t panel = op.getPanel();
  Array result({(weight.shape[0] + panel - 1) / panel, weight.shape[1], panel});
  result.forEach([&](const Index &at) {
    int64_t n = at[0] * panel + at[2];
    if (n < weight.shape[0])
      result[at] = weight[{n, at[1]}];
  });
  return result;
}

Array naiveFill(ir::FillOp op) {
  Array result(
      llvm::cast<ir::Tensor>(op.getResult().getType()).getShape().vec());
  std::fill(result.values.begin(), result.values.end(),
            op.getValue().convertToDouble());
  return result;
}

Array naiveSubtractMean(ir::SubtractMeanOp op, const Lookup &get) {
  const Array &x = get(op.getX());
  Array result = x;
  const size_t dim = op.getDim();
  result.forEach([&](const Index &at) {
    Index other = at;
    Real sum = 0;
    for (other[dim] = 0; other[dim] < x.shape[dim]; ++other[dim])
      sum += x[other];
    result[at] -= sum / x.shape[dim];
  });
  return result;
}

Array naiveTranspose(ir::TransposeOp op, const Lookup &get) {
  const Array &x = get(op.getX());
  Array result({x.shape[1], x.shape[0]});
  result.forEach([&](const Index &at) { result[at] = x[{at[1], at[0]}]; });
  return result;
}

Array naiveConcat(ir::ConcatOp op, const Lookup &get) {
  auto type = llvm::cast<ir::Tensor>(op.getResult().getType());
  Array result(type.getShape().vec());
  result.forEach([&](const Index &at) {
    int64_t row = at[0];
    unsigned part = 0;
    for (; row >= get(op.getParts()[part]).shape[0]; ++part)
      row -= get(op.getParts()[part]).shape[0];
    result[at] = get(op.getParts()[part])[{row, at[1]}];
  });
  return result;
}

Array naiveExpandHeads(ir::ExpandHeadsOp op, const Lookup &get) {
  const Array &x = get(op.getX());
  const int64_t heads = op.getHeads();
  Array result({x.shape[0] * heads, x.shape[1]});
  result.forEach([&](const Index &at) {
    bool own = at[1] / (x.shape[1] / heads) == at[0] % heads;
    result[at] = own ? x[{at[0] / heads, at[1]}] : 0;
  });
  return result;
}

/// Softmax as it is defined: long double holds the exponentials.
Array naiveAttention(ir::AttentionOp op, const Lookup &get) {
  const Array &q = get(op.getQ()), &k = get(op.getK()), &v = get(op.getV());
  const bool ragged = bool(op.getRowSplits());
  const int64_t heads = op.getHeads(), group = heads / op.getKvHeads();
  const int64_t d = q.shape.back() / heads;
  const int64_t queries = q.shape[q.shape.size() - 2];
  const int64_t batches =
      ragged ? get(op.getRowSplits()).shape[0] - 1 : k.shape[0];
  const int64_t keys = ragged ? k.shape[0] : k.shape[1];

  auto mapAllows = [&](int64_t l, int64_t j) {
    if (!op.getBlockMap())
      return true;
    const Array &map = get(op.getBlockMap());
    auto block = int64_t(*op.getMapBlock());
    return j / block < map.shape[1] && map[{l / block, j / block}] != 0;
  };
  auto sees = [&](int64_t b, int64_t l, int64_t e) {
    if (!ragged)
      return mapAllows(l, e) && (!op.getCausal() || e <= l + keys - queries);
    const Array &splits = get(op.getRowSplits());
    bool seen = splits[{b}] <= e && e < splits[{b + 1}] &&
                mapAllows(l, e - int64_t(splits[{b}]));
    if (op.getBounds()) {
      const Array &bounds = get(op.getBounds());
      Real time = get(op.getKeyTime())[{e}];
      seen = seen && bounds[{l, 0}] <= time && time <= bounds[{l, 1}];
    }
    return seen;
  };
  auto key = [&](const Array &rows, int64_t b, int64_t e, int64_t column) {
    return ragged ? rows[{e, column}] : rows[{b, e, column}];
  };

  Array result({batches, queries, heads * d});
  for (int64_t b = 0; b < batches; ++b)
    for (int64_t l = 0; l < queries; ++l)
      for (int64_t h = 0; h < heads; ++h) {
        std::vector<Real> sum(d);
        Real weights = 0;
        bool any = false;
        for (int64_t e = 0; e < keys; ++e) {
          if (!sees(b, l, e))
            continue;
          any = true;
          Real score = 0;
          for (int64_t i = 0; i < d; ++i) {
            Real query =
                q.shape.size() == 2 ? q[{l, h * d + i}] : q[{b, l, h * d + i}];
            score += query * key(k, b, e, h / group * d + i);
          }
          Real weight = std::exp(op.getScale().convertToDouble() * score);
          weights += weight;
          for (int64_t i = 0; i < d; ++i)
            sum[i] += weight * key(v, b, e, h / group * d + i);
        }
        for (int64_t i = 0; i < d; ++i)
          result[{b, l, h * d + i}] = any ? sum[i] / weights : 0;
      }
  return result;
}

/// Pairs as complex numbers. The phase is f64 by definition.
Array naiveRotary(ir::RotaryOp op, const Lookup &get) {
  const Array &x = get(op.getX());
  Array result(x.shape);
  const int64_t d = x.shape.back() / int64_t(op.getHeads());
  x.forEach([&](const Index &at) {
    int64_t within = at.back() % d, first = at.back() - within;
    if (within >= d / 2)
      return;
    Real position = op.getPosition() ? get(op.getPosition())[{at[0]}]
                                     : Real(at[at.size() - 2]);
    double t = (double(position) + op.getOffset().convertToDouble()) *
               op.getStep().convertToDouble();
    double low = op.getPeriodMin().convertToDouble();
    double high = op.getPeriodMax().convertToDouble();
    double period =
        low * std::pow(high / low, double(within) /
                                       double(std::max<int64_t>(d / 2 - 1, 1)));
    Real phase = 2 * std::numbers::pi * t / period;
    std::complex<Real> pair(x[at], x[withLast(at, first + within + d / 2)]);
    pair *= std::polar(Real(1), phase);
    result[at] = pair.real();
    result[withLast(at, first + within + d / 2)] = pair.imag();
  });
  return result;
}

Array naiveReachBounds(ir::ReachBoundsOp op) {
  auto type = llvm::cast<ir::Tensor>(op.getResult().getType());
  Array result({type.getDimSize(0), 2});
  for (int64_t l = 0; l < result.shape[0]; ++l) {
    double centre =
        (l + 0.5) * op.getSpan().convertToDouble() / double(result.shape[0]);
    int64_t low = 1, high = 0;
    for (int64_t t = 100000; t >= -100000; --t)
      if (std::abs(double(t) + 0.5 - centre) <=
          op.getReach().convertToDouble()) {
        high = low > high ? t : high;
        low = t;
      }
    result[{l, 0}] = low;
    result[{l, 1}] = high;
  }
  return result;
}

template <typename Op>
Array naiveBinary(Op op, const Lookup &get,
                  const std::function<Real(Real, Real)> &function) {
  const Array &lhs = get(op.getLhs()), &rhs = get(op.getRhs());
  Array result(lhs.shape);
  lhs.forEach([&](const Index &at) {
    Index suffix(at.end() - rhs.shape.size(), at.end());
    result[at] = function(lhs[at], rhs[suffix]);
  });
  return result;
}

/// x times the normal distribution function.
Array naiveGelu(ir::GeluOp op, const Lookup &get) {
  Array result = get(op.getX());
  for (Real &x : result.values)
    x *= std::erfc(-x / std::sqrt(Real(2))) / 2;
  return result;
}

Array naiveSilu(ir::SiluOp op, const Lookup &get) {
  Array result = get(op.getX());
  for (Real &x : result.values)
    x = x / (1 + std::exp(-x));
  return result;
}

Array naiveSlice(ir::SliceOp op, const Lookup &get) {
  const Array &x = get(op.getX());
  auto type = llvm::cast<ir::Tensor>(op.getResult().getType());
  Array result(withLast(x.shape, type.getShape().back()));
  result.forEach([&](const Index &at) {
    result[at] = x[withLast(at, at.back() + int64_t(op.getOffset()))];
  });
  return result;
}

Array naiveReshape(ir::ReshapeOp op, const Lookup &get) {
  const Array &x = get(op.getX());
  Index shape =
      llvm::cast<ir::Tensor>(op.getResult().getType()).getShape().vec();
  if (mlir::ShapedType::isDynamic(shape[0]))
    shape[0] = x.shape[0];
  Array result(shape);
  result.values = x.values;
  return result;
}

Array naiveOp(mlir::Operation *op, const Lookup &get) {
  return llvm::TypeSwitch<mlir::Operation *, Array>(op)
      .Case([&](ir::SegmentSubOp o) { return naiveSegmentSub(o, get); })
      .Case([&](ir::GatherSumOp o) { return naiveGatherSum(o, get); })
      .Case([&](ir::NormOp o) { return naiveNorm(o, get); })
      .Case([&](ir::NormScaleOp o) { return naiveNormScale(o, get); })
      .Case([&](ir::SquareSumsOp o) { return naiveSquareSums(o, get); })
      .Case([&](ir::ScaleFromSquaresOp o) {
        return naiveScaleFromSquares(o, get);
      })
      .Case([&](ir::ScaleRowsOp o) { return naiveScaleRows(o, get); })
      .Case([&](ir::FillOp o) { return naiveFill(o); })
      .Case([&](ir::SubtractMeanOp o) { return naiveSubtractMean(o, get); })
      .Case([&](ir::TransposeOp o) { return naiveTranspose(o, get); })
      .Case([&](ir::ConcatOp o) { return naiveConcat(o, get); })
      .Case([&](ir::ExpandHeadsOp o) { return naiveExpandHeads(o, get); })
      .Case([&](ir::MatmulOp o) { return naiveMatmul(o, get); })
      .Case([&](ir::PackPanelsOp o) { return naivePackPanels(o, get); })
      .Case([&](ir::AttentionOp o) { return naiveAttention(o, get); })
      .Case([&](ir::RotaryOp o) { return naiveRotary(o, get); })
      .Case([&](ir::ReachBoundsOp o) { return naiveReachBounds(o); })
      .Case([&](ir::AddOp o) {
        return naiveBinary(o, get, [](Real x, Real y) { return x + y; });
      })
      .Case([&](ir::MulOp o) {
        return naiveBinary(o, get, [](Real x, Real y) { return x * y; });
      })
      .Case([&](ir::GeluOp o) { return naiveGelu(o, get); })
      .Case([&](ir::SiluOp o) { return naiveSilu(o, get); })
      .Case([&](ir::CastOp o) { return get(o.getX()); })
      .Case([&](ir::SliceOp o) { return naiveSlice(o, get); })
      .Case([&](ir::ReshapeOp o) { return naiveReshape(o, get); });
}

Array toArray(const reference::Tensor &tensor) {
  Array array(tensor.shape);
  if (!tensor.integer.empty())
    array.values.assign(tensor.integer.begin(), tensor.integer.end());
  else
    array.values.assign(tensor.real.begin(), tensor.real.end());
  return array;
}

reference::Tensor toTensor(const Array &array, mlir::Type type) {
  reference::Tensor tensor{array.shape, {}, {}};
  if (llvm::cast<ir::Tensor>(type).getElementType().isInteger())
    tensor.integer.assign(array.values.begin(), array.values.end());
  else
    tensor.real.assign(array.values.begin(), array.values.end());
  return tensor;
}

reference::TensorMap runFunction(mlir::func::FuncOp function,
                                 const reference::TensorMap &given,
                                 llvm::StringRef resultAttribute) {
  llvm::DenseMap<mlir::Value, Array> values;
  for (mlir::BlockArgument argument : function.getArguments())
    for (llvm::StringRef attribute :
         {ir::kWeightAttr, ir::kDerivedAttr, ir::kInputAttr}) {
      unsigned index = argument.getArgNumber();
      std::string name = ir::getArgName(function, index, attribute).str();
      if (!name.empty())
        values[argument] = toArray(given.at(name));
    }
  Lookup get = [&](mlir::Value value) -> const Array & {
    return values.find(value)->second;
  };
  mlir::Block &block = function.getBody().front();
  for (mlir::Operation &op : block.without_terminator()) {
    Array result = naiveOp(&op, get);
    values[op.getResult(0)] = std::move(result);
  }
  reference::TensorMap results;
  for (auto [i, value] : llvm::enumerate(block.getTerminator()->getOperands()))
    results[ir::getResultName(function, i, resultAttribute).str()] =
        toTensor(get(value), value.getType());
  return results;
}

} // namespace

reference::TensorMap runNaively(mlir::ModuleOp module,
                                const reference::TensorMap &weights,
                                const reference::TensorMap &inputs) {
  reference::TensorMap given =
      runFunction(ir::getPrepare(module), weights, ir::kDerivedAttr);
  given.insert(inputs.begin(), inputs.end());
  return runFunction(ir::getMain(module), given, ir::kOutputAttr);
}

} // namespace betz
