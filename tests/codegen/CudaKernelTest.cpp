// Generated CUDA kernels on a GPU against plain loops in f64.
#include "tests/codegen/CudaKernelFixture.h"

namespace betz::cuda {
namespace {

class CudaKernel : public CudaKernelFixture {
protected:
  /// Inputs of matmulSpec: random, and what operand 4 says of x.
  std::vector<Operand> matmulInputs(const KernelSpec &spec) {
    std::vector<Operand> inputs;
    for (size_t i = 0; i < 5; ++i)
      inputs.push_back(random(spec.operands[i]));
    Operand &given = inputs[4];
    const int64_t depth = inputs[0].spec.columns;
    const int64_t group = depth / given.spec.columns;
    for (size_t i = 0; i < given.real.size(); ++i) {
      double sum = 0;
      for (int64_t c = 0; c < group; ++c)
        sum += squareOf(inputs[0].real[i * size_t(group) + size_t(c)]);
      given.real[i] = float(
          spec.rowScale ? sum : 1 / std::sqrt(sum / double(depth) + 1e-5));
    }
    return inputs;
  }
  static double squareOf(double x) { return x * x; }

  /// Each group of 32 columns of `result`, which bf16 rounded.
  static void expectSquares(const Operand &squares, const Operand &result) {
    ASSERT_EQ(squares.real.size() * 32, result.real.size());
    for (size_t i = 0; i < squares.real.size(); ++i) {
      double sum = 0;
      for (size_t c = 0; c < 32; ++c)
        sum += squareOf(result.real[i * 32 + c]);
      ASSERT_NEAR(squares.real[i], sum, 8e-3 * sum) << i;
    }
  }
};

double exactGelu(double x) {
  return x / 2 * (1 + std::erf(x / std::sqrt(2.0)));
}

TEST_P(CudaKernel, MatmulWithEveryStep) {
  struct Case {
    int64_t depth, columns;
    DType dtype;
    int64_t batch, capacity;
  };
  for (const Case &c :
       {Case{512, 1536, DType::BF16, 3, 3}, Case{512, 384, DType::BF16, 33, 64},
        Case{200, 24, DType::BF16, 1, 8}, Case{2048, 512, DType::BF16, 2, 64},
        Case{200, 160, DType::BF16, 3, 64}, Case{72, 96, DType::BF16, 65, 65},
        Case{33, 7, DType::BF16, 2, 2}, Case{96, 40, DType::F32, 2, 4},
        Case{64, 96, DType::F32, 2, 4}}) {
    extents = {c.batch, 0};
    KernelSpec spec = matmulSpec(c.depth, c.columns, c.dtype);
    const std::vector<Operand> inputs = matmulInputs(spec);
    const std::vector<Operand> results = runAll(spec, inputs, {c.capacity, 0});
    const Operand &result = results[0];
    std::vector<double> expected;
    for (int64_t row = 0; row < result.rows; ++row) {
      double squares = 0;
      for (int64_t k = 0; k < c.depth; ++k)
        squares += inputs[0].at(row, k) * inputs[0].at(row, k);
      const double scale = 1 / std::sqrt(squares / double(c.depth) + 1e-5);
      for (int64_t n = 0; n < c.columns; ++n) {
        double sum = 0;
        if (row % 16 == 0 || c.depth < 512) // a sample keeps the test quick
          for (int64_t k = 0; k < c.depth; ++k)
            sum += inputs[0].at(row, k) * inputs[1].at(n, k);
        expected.push_back(exactGelu(sum * scale + inputs[2].at(0, n)) +
                           inputs[3].at(row, n));
        if (row % 16 != 0 && c.depth >= 512) {
          EXPECT_FALSE(std::isnan(result.real[expected.size() - 1]));
          expected.back() = result.real[expected.size() - 1];
        }
      }
    }
    SCOPED_TRACE(testing::Message() << c.depth << "x" << c.columns);
    expectNear(result, expected);
    if (spec.squareGroup > 0)
      expectSquares(results[1], result);
  }
}

/// Small and large tiles, and any place in a batch, give the same bits.
TEST_P(CudaKernel, MatmulBitsDoNotDependOnTheBucket) {
  KernelSpec spec = matmulSpec(512, 512, DType::BF16);
  extents = {40, 0};
  const std::vector<Operand> inputs = matmulInputs(spec);
  const std::vector<Operand> large = runAll(spec, inputs, {64, 0});
  for (int64_t window : {0, 17, 39}) {
    extents = {1, 0};
    std::vector<Operand> alone = inputs;
    for (size_t i : {0, 3, 4}) {
      const int64_t size = 256 * alone[i].spec.columns;
      alone[i].real.assign(inputs[i].real.begin() + window * size,
                           inputs[i].real.begin() + (window + 1) * size);
      alone[i].rows = 256;
    }
    const std::vector<Operand> small = runAll(spec, alone, {1, 0});
    for (size_t i = 0; i < small.size(); ++i)
      EXPECT_EQ(
          0, std::memcmp(small[i].real.data(),
                         &large[i].real[size_t(window) * small[i].real.size()],
                         small[i].real.size() * 4));
    extents = {40, 0};
  }
}

struct AttentionCase {
  int64_t heads, size;
  bool ragged;
  DType dtype;
  std::vector<int32_t> splits;
};

TEST_P(CudaKernel, Attention) {
  const AttentionCase cases[] = {
      {8, 64, true, DType::BF16, {0, 512, 512, 513}}, // no event, one event
      {2, 16, true, DType::BF16, {0, 64, 129, 4225}}, // 4,096 events
      {2, 128, true, DType::BF16, {0, 3, 70, 200}},
      {3, 24, true, DType::F32, {0, 40, 40, 105}},
      {8, 64, true, DType::F32, {0, 300, 301, 301}},
      {2, 64, false, DType::BF16, {}},
      {4, 1, false, DType::BF16, {}},
      {5, 20, false, DType::F32, {}}};
  for (const AttentionCase &c : cases) {
    extents = {3, c.ragged ? c.splits.back() : 0};
    KernelSpec spec = attentionSpec(c.heads, c.size, c.ragged, c.dtype);
    std::vector<Operand> inputs;
    for (int i = 0; i < 3; ++i)
      inputs.push_back(random(spec.operands[size_t(i)]));
    // One row of the map sees everything, one nothing, one something.
    std::vector<int32_t> times, bounds, map = {1, 1, 0, 0, 0, 1};
    if (c.ragged) {
      for (int64_t e = 0; e < extents[1]; ++e)
        times.push_back(int32_t(e * 100 / extents[1]));
      for (int q = 0; q < kTestQueries; ++q) { // every 50th sees nothing
        const bool blind = q % 50 == 49;
        bounds.push_back(blind ? 1 : q * 2 / 3 - 20);
        bounds.push_back(blind ? 0 : q * 2 / 3 + 20);
      }
      inputs.push_back(integers(spec.operands[3], c.splits));
      inputs.push_back(integers(spec.operands[4], times));
      inputs.push_back(integers(spec.operands[5], bounds));
    } else {
      inputs.push_back(integers(spec.operands[3], map));
    }
    Operand result = run(spec, inputs, {4, 4 * 4096});
    Operand large = run(spec, inputs, {256, 256 * 4096});
    EXPECT_EQ(0, std::memcmp(result.real.data(), large.real.data(),
                             result.real.size() * sizeof(float)));
    std::vector<double> expected;
    for (int64_t b = 0; b < 3; ++b)
      for (int64_t q = 0; q < kTestQueries; ++q)
        for (int64_t h = 0; h < c.heads; ++h) {
          const int64_t first = c.ragged ? c.splits[size_t(b)] : b * 70;
          const int64_t end = c.ragged ? c.splits[size_t(b) + 1] : first + 70;
          std::vector<double> sums(size_t(c.size), 0);
          double total = 0;
          for (int64_t e = first; e < end; ++e) {
            const bool seen =
                c.ragged ? bounds[size_t(2 * q)] <= times[size_t(e)] &&
                               times[size_t(e)] <= bounds[size_t(2 * q + 1)]
                         : map[size_t(q / 64 * 2 + (e - first) / 64)] != 0;
            if (!seen)
              continue;
            double score = 0;
            for (int64_t i = 0; i < c.size; ++i)
              score += inputs[0].at(q, h * c.size + i) *
                       inputs[1].at(e, h * c.size + i);
            const double weight = std::exp(score * 0.125);
            total += weight;
            for (int64_t i = 0; i < c.size; ++i)
              sums[size_t(i)] += weight * inputs[2].at(e, h * c.size + i);
          }
          for (double sum : sums)
            expected.push_back(total > 0 ? sum / total : 0);
        }
    SCOPED_TRACE(testing::Message() << c.heads << " heads of " << c.size
                                    << (c.ragged ? ", ragged" : ", blocks"));
    expectNear(result, expected);
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, CudaKernel,
                         ::testing::Values("cuda:sm_90a", "cuda:sm_80"), isaOf);

} // namespace
} // namespace betz::cuda
