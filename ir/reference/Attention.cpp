//===- Attention.cpp - Softmax over the keys that a query sees ------------===//
#include "ir/reference/Ops.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace betz::reference {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// Four partial sums, so that the additions need not wait for each other.
double dot(const double *a, const double *b, int64_t size) {
  double sums[4] = {};
  int64_t i = 0;
  for (; i + 4 <= size; i += 4)
    for (int64_t j = 0; j < 4; ++j)
      sums[j] += a[i + j] * b[i + j];
  for (; i < size; ++i)
    sums[0] += a[i] * b[i];
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

void addScaled(double *sum, double factor, const double *row, int64_t size) {
  for (int64_t d = 0; d < size; ++d)
    sum[d] += factor * row[d];
}

/// One head of one query, and the rows of k and v that it sees.
struct HeadQuery {
  /// Row and first column of it in q.
  int64_t row, column;
  /// First column of the key head that it reads.
  int64_t keyColumn;
  /// Which query of the batch, and which of their heads.
  int64_t query, head;
  const std::vector<int64_t> &visible;
};

/// What attention and its gradients have in common.
class Queries {
public:
  template <typename Op>
  Queries(Op op, const Operands &operands)
      : q(operands[op.getQ()]), k(operands[op.getK()]),
        splitsValue(op.getRowSplits()),
        splits(splitsValue ? &operands[splitsValue] : nullptr),
        keyTime(op.getKeyTime() ? &operands[op.getKeyTime()] : nullptr),
        bounds(op.getBounds() ? &operands[op.getBounds()] : nullptr),
        blockMap(op.getBlockMap() ? &operands[op.getBlockMap()] : nullptr),
        mapBlock(op.getMapBlock() ? int64_t(*op.getMapBlock()) : 0),
        causal(op.getCausal()),
        batches(splits ? splits->shape[0] - 1 : k.shape[0]),
        queries(q.shape[q.shape.size() - 2]), heads(op.getHeads()),
        kvHeads(op.getKvHeads()), headSize(q.columns() / heads),
        scale(op.getScale().convertToDouble()) {}

  /// Calls `function` for each head of each query of each batch element, in
  /// the order of the attention's result.
  template <typename Function> Status forEach(Function function);

  double score(const HeadQuery &at, int64_t keyRow) const {
    return scale * dot(queryHead(at),
                       &k.real[size_t(keyRow * k.columns() + at.keyColumn)],
                       headSize);
  }
  const double *queryHead(const HeadQuery &at) const {
    return &q.real[size_t(at.row * q.columns() + at.column)];
  }

  /// A tensor of zeros with `columns` for each query of each batch element.
  Tensor zeros(int64_t columns) const {
    Tensor result{{batches, queries, columns}, {}, {}};
    result.real.assign(size_t(batches * queries * columns), 0.0);
    return result;
  }

  const Tensor &q, &k;

private:
  /// Of the `key`-th key of a batch element, which lies in row `row`.
  bool isVisible(int64_t query, int64_t key, int64_t row) const;
  void collectVisible(int64_t batch, int64_t query);

  mlir::Value splitsValue;
  /// Null unless the keys are ragged, or narrowed by time.
  const Tensor *splits, *keyTime, *bounds;
  const Tensor *blockMap;
  int64_t mapBlock;
  bool causal;
  int64_t batches, queries;
  std::vector<int64_t> visible;

public:
  const int64_t heads, kvHeads, headSize;
  const double scale;
};

bool Queries::isVisible(int64_t query, int64_t key, int64_t row) const {
  if (keyTime && (keyTime->integer[row] < bounds->integer[query * 2] ||
                  keyTime->integer[row] > bounds->integer[query * 2 + 1]))
    return false;
  if (causal && key > query + k.shape[1] - queries)
    return false;
  if (!blockMap)
    return true;
  const int64_t columns = blockMap->columns(), column = key / mapBlock;
  return column < columns &&
         blockMap->integer[query / mapBlock * columns + column] != 0;
}

void Queries::collectVisible(int64_t batch, int64_t query) {
  visible.clear();
  const int64_t first = splits ? splits->integer[batch] : batch * k.shape[1];
  const int64_t end = splits ? splits->integer[batch + 1] : first + k.shape[1];
  for (int64_t row = first; row < end; ++row)
    if (isVisible(query, row - first, row))
      visible.push_back(row);
}

template <typename Function> Status Queries::forEach(Function function) {
  if (splits)
    BETZ_RETURN_IF_ERROR(checkRowSplits(splitsValue, *splits, k.rows()));
  const bool sharedQuery = q.shape.size() == 2;
  for (int64_t batch = 0; batch < batches; ++batch)
    for (int64_t query = 0; query < queries; ++query) {
      collectVisible(batch, query);
      for (int64_t head = 0; head < heads; ++head)
        function(HeadQuery{(sharedQuery ? 0 : batch * queries) + query,
                           head * headSize, head / (heads / kvHeads) * headSize,
                           batch * queries + query, head, visible});
    }
  return Status::ok();
}

/// The scores of the keys that a query sees become exponentials relative to the
/// largest, which is returned.
double exponentiate(const Queries &queries, const HeadQuery &at,
                    std::vector<double> &scores) {
  double largest = -kInfinity;
  scores.clear();
  for (int64_t row : at.visible) {
    scores.push_back(queries.score(at, row));
    largest = std::max(largest, scores.back());
  }
  for (double &score : scores)
    score = std::exp(score - largest);
  return largest;
}

double sumOf(const std::vector<double> &values) {
  double sum = 0;
  for (double value : values)
    sum += value;
  return sum;
}

/// The weight of a key, and the gradient of its score before the scale.
struct KeyGradient {
  double weight, score;
};

/// Calls `function(at, keyRow, dout, gradient)` for each key that a query sees.
template <typename Op, typename Function>
Status forEachGradient(Op op, const Operands &operands, Queries &queries,
                       Function function) {
  const Tensor &v = operands[op.getV()], &dout = operands[op.getDout()];
  const Tensor &lse = operands[op.getLse()];
  const Tensor &delta = operands[op.getDelta()];
  return queries.forEach([&](const HeadQuery &at) {
    const double *gradient =
        &dout.real[size_t(at.query * dout.columns() + at.column)];
    const size_t place = size_t(at.query * queries.heads + at.head);
    for (int64_t row : at.visible) {
      const double weight = std::exp(queries.score(at, row) - lse.real[place]);
      const double *value = &v.real[size_t(row * v.columns() + at.keyColumn)];
      const double score =
          weight * (dot(gradient, value, queries.headSize) - delta.real[place]);
      function(at, row, gradient, KeyGradient{weight, score});
    }
  });
}

} // namespace

Result<Tensor> evaluateAttention(ir::AttentionOp op, const Operands &operands) {
  Queries queries(op, operands);
  const Tensor &v = operands[op.getV()];
  Tensor result = queries.zeros(queries.q.columns());
  std::vector<double> weights;
  BETZ_RETURN_IF_ERROR(queries.forEach([&](const HeadQuery &at) {
    exponentiate(queries, at, weights);
    const double sum = sumOf(weights);
    double *out = &result.real[size_t(at.query * result.columns() + at.column)];
    for (size_t i = 0; i < weights.size(); ++i)
      addScaled(out, weights[i] / sum,
                &v.real[size_t(at.visible[i] * v.columns() + at.keyColumn)],
                queries.headSize);
  }));
  return result;
}

Result<Tensor> evaluateAttentionLse(ir::AttentionLseOp op,
                                    const Operands &operands) {
  Queries queries(op, operands);
  Tensor result = queries.zeros(queries.heads);
  std::vector<double> weights;
  BETZ_RETURN_IF_ERROR(queries.forEach([&](const HeadQuery &at) {
    const double largest = exponentiate(queries, at, weights);
    result.real[size_t(at.query * queries.heads + at.head)] =
        weights.empty() ? kInfinity : largest + std::log(sumOf(weights));
  }));
  return result;
}

Result<Tensor> evaluateAttentionGradQ(ir::AttentionGradQOp op,
                                      const Operands &operands) {
  Queries queries(op, operands);
  Tensor result = queries.zeros(queries.q.columns());
  BETZ_RETURN_IF_ERROR(forEachGradient(
      op, operands, queries,
      [&](const HeadQuery &at, int64_t row, const double *,
          KeyGradient gradient) {
        addScaled(
            &result.real[size_t(at.query * result.columns() + at.column)],
            queries.scale * gradient.score,
            &queries.k.real[size_t(row * queries.k.columns() + at.keyColumn)],
            queries.headSize);
      }));
  return result;
}

Result<Tensor> evaluateAttentionGradKv(ir::AttentionGradKvOp op,
                                       const Operands &operands) {
  Queries queries(op, operands);
  Tensor result{queries.k.shape, {}, {}};
  const int64_t columns = queries.k.columns();
  result.shape.back() = 2 * columns;
  result.real.assign(2 * queries.k.real.size(), 0.0);
  BETZ_RETURN_IF_ERROR(forEachGradient(
      op, operands, queries,
      [&](const HeadQuery &at, int64_t row, const double *dout,
          KeyGradient gradient) {
        double *dk = &result.real[size_t(row * 2 * columns + at.keyColumn)];
        addScaled(dk, queries.scale * gradient.score, queries.queryHead(at),
                  queries.headSize);
        addScaled(dk + columns, gradient.weight, dout, queries.headSize);
      }));
  return result;
}

} // namespace betz::reference
