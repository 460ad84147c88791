//===- Attention.cpp - Softmax over the keys that a query sees ------------===//
#include "ir/reference/Ops.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace betz::reference {
namespace {

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

/// One attention op with its operands.
class Attention {
public:
  Attention(ir::AttentionOp op, const Operands &operands);

  Result<Tensor> run();

private:
  /// Of the `key`-th key of a batch element, which lies in row `row`.
  bool isVisible(int64_t query, int64_t key, int64_t row);
  void collectVisible(int64_t batch, int64_t query);
  void attend(int64_t batch, int64_t query, int64_t head, double *result);

  ir::AttentionOp op;
  const Tensor &q, &k, &v;
  /// Null unless the keys are ragged, or narrowed by time.
  const Tensor *splits, *keyTime, *bounds;
  const Tensor *blockMap;
  int64_t batches, queries, heads, kvHeads, headSize;

  /// Rows of k and v that the current query sees, and their scores.
  std::vector<int64_t> visible;
  std::vector<double> scores;
};

Attention::Attention(ir::AttentionOp op, const Operands &operands)
    : op(op), q(operands[op.getQ()]), k(operands[op.getK()]),
      v(operands[op.getV()]),
      splits(op.getRowSplits() ? &operands[op.getRowSplits()] : nullptr),
      keyTime(op.getKeyTime() ? &operands[op.getKeyTime()] : nullptr),
      bounds(op.getBounds() ? &operands[op.getBounds()] : nullptr),
      blockMap(op.getBlockMap() ? &operands[op.getBlockMap()] : nullptr),
      batches(splits ? splits->shape[0] - 1 : k.shape[0]),
      queries(q.shape[q.shape.size() - 2]), heads(op.getHeads()),
      kvHeads(op.getKvHeads()), headSize(q.columns() / heads) {}

bool Attention::isVisible(int64_t query, int64_t key, int64_t row) {
  if (keyTime && (keyTime->integer[row] < bounds->integer[query * 2] ||
                  keyTime->integer[row] > bounds->integer[query * 2 + 1]))
    return false;
  if (op.getCausal() && key > query + k.shape[1] - queries)
    return false;
  if (!blockMap)
    return true;
  const int64_t block = int64_t(*op.getMapBlock());
  const int64_t columns = blockMap->columns(), column = key / block;
  return column < columns &&
         blockMap->integer[query / block * columns + column] != 0;
}

void Attention::collectVisible(int64_t batch, int64_t query) {
  visible.clear();
  const int64_t first = splits ? splits->integer[batch] : batch * k.shape[1];
  const int64_t end = splits ? splits->integer[batch + 1] : first + k.shape[1];
  for (int64_t row = first; row < end; ++row)
    if (isVisible(query, row - first, row))
      visible.push_back(row);
}

void Attention::attend(int64_t batch, int64_t query, int64_t head,
                       double *result) {
  const bool sharedQuery = q.shape.size() == 2;
  const int64_t queryRow = (sharedQuery ? 0 : batch * queries) + query;
  const double *queryHead = &q.real[queryRow * q.columns() + head * headSize];
  const int64_t keyColumn = head / (heads / kvHeads) * headSize;
  const double scale = op.getScale().convertToDouble();

  double largest = -std::numeric_limits<double>::infinity();
  scores.clear();
  for (int64_t row : visible) {
    const double *key = &k.real[row * k.columns() + keyColumn];
    scores.push_back(scale * dot(queryHead, key, headSize));
    largest = std::max(largest, scores.back());
  }
  double sum = 0;
  for (double &score : scores)
    sum += score = std::exp(score - largest);
  for (size_t i = 0; i < visible.size(); ++i) {
    const double *value = &v.real[visible[i] * v.columns() + keyColumn];
    const double weight = scores[i] / sum;
    for (int64_t d = 0; d < headSize; ++d)
      result[d] += weight * value[d];
  }
}

Result<Tensor> Attention::run() {
  if (splits)
    BETZ_RETURN_IF_ERROR(checkRowSplits(op.getRowSplits(), *splits, k.rows()));
  Tensor result{{batches, queries, heads * headSize}, {}, {}};
  result.real.assign(batches * queries * heads * headSize, 0.0);
  double *next = result.real.data();
  for (int64_t batch = 0; batch < batches; ++batch)
    for (int64_t query = 0; query < queries; ++query) {
      collectVisible(batch, query);
      for (int64_t head = 0; head < heads; ++head, next += headSize)
        attend(batch, query, head, next);
    }
  return result;
}

} // namespace

Result<Tensor> evaluateAttention(ir::AttentionOp op, const Operands &operands) {
  return Attention(op, operands).run();
}

} // namespace betz::reference
