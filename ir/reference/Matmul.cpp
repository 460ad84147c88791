//===- Matmul.cpp - Rows times a transposed matrix ------------------------===//
//
// Blocked so that a model of useful size runs in seconds. Each result is still
// one sum over k in rising order.
//
//===----------------------------------------------------------------------===//
#include "ir/reference/Ops.h"

#include <algorithm>

namespace betz::reference {
namespace {

constexpr int64_t kRowBlock = 4;
constexpr int64_t kColumnBlock = 4;
/// A block of both factors stays in the first-level cache.
constexpr int64_t kDepthBlock = 256;

/// Where element (n, k) of the weight matrix lies: panels of `panel` columns,
/// or plain rows if that is 0.
struct WeightLayout {
  int64_t depth;
  int64_t panel;

  int64_t offset(int64_t n, int64_t k) const {
    if (panel == 0)
      return n * depth + k;
    return (n / panel * depth + k) * panel + n % panel;
  }
};

/// result[r, c] += sum over k of x[r, k] * block[k, c] for `rows` rows.
template <int64_t rows>
void multiplyBlock(const double *x, int64_t xStride, const double *block,
                   int64_t depth, double *result, int64_t resultStride,
                   int64_t columns) {
  double sums[rows][kColumnBlock] = {};
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t c = 0; c < columns; ++c)
      sums[r][c] = result[r * resultStride + c];
  for (int64_t k = 0; k < depth; ++k)
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t c = 0; c < kColumnBlock; ++c)
        sums[r][c] += x[r * xStride + k] * block[k * kColumnBlock + c];
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t c = 0; c < columns; ++c)
      result[r * resultStride + c] = sums[r][c];
}

} // namespace

Tensor evaluateMatmul(ir::MatmulOp op, const Operands &operands) {
  const Tensor &x = operands[op.getX()];
  const Tensor &weight = operands[op.getWeight()];
  const int64_t rows = x.rows(), depth = x.columns();
  const int64_t columns = op.getOutputColumns();
  const WeightLayout layout{depth, op.getColumns() ? weight.columns() : 0};

  Tensor result{x.shape, {}, {}};
  result.shape.back() = columns;
  result.real.assign(rows * columns, 0.0);
  double block[kDepthBlock * kColumnBlock];
  for (int64_t k0 = 0; k0 < depth; k0 += kDepthBlock) {
    const int64_t kCount = std::min(kDepthBlock, depth - k0);
    for (int64_t n0 = 0; n0 < columns; n0 += kColumnBlock) {
      const int64_t nCount = std::min(kColumnBlock, columns - n0);
      std::fill_n(block, kCount * kColumnBlock, 0.0);
      for (int64_t n = 0; n < nCount; ++n)
        for (int64_t k = 0; k < kCount; ++k)
          block[k * kColumnBlock + n] =
              weight.real[layout.offset(n0 + n, k0 + k)];
      int64_t m = 0;
      for (; m + kRowBlock <= rows; m += kRowBlock)
        multiplyBlock<kRowBlock>(&x.real[m * depth + k0], depth, block, kCount,
                                 &result.real[m * columns + n0], columns,
                                 nCount);
      for (; m < rows; ++m)
        multiplyBlock<1>(&x.real[m * depth + k0], depth, block, kCount,
                         &result.real[m * columns + n0], columns, nCount);
    }
  }
  return result;
}

} // namespace betz::reference
