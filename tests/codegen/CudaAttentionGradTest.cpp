// Generated CUDA kernels of attention's gradients on a GPU against plain loops
// in f64.
#include "tests/codegen/CudaKernelFixture.h"
#include "tests/codegen/TrainingSpecs.h"

namespace betz::cuda {
namespace {

class TrainingAttention : public CudaKernelFixture {
protected:
  /// Inputs of a case's kernels, and what they should give.
  struct Problem {
    GradCase c;
    std::vector<int64_t> firsts; // rows of keys of each window, and their end
    std::vector<int32_t> times, bounds, map;
    std::vector<Operand> inputs; // as attentionGradSpec, without the results
    std::vector<double> lse, queryGrad, keyGrad;

    int64_t width() const { return c.heads * c.size; }
    int64_t kvWidth() const { return c.kvHeads * c.size; }

    bool sees(int64_t query, int64_t batch, int64_t key) const {
      const int64_t first = firsts[size_t(batch)];
      const int64_t end = firsts[size_t(batch) + 1];
      switch (c.keys) {
      case GradCase::Ragged:
        return bounds[size_t(2 * query)] <= times[size_t(key)] &&
               times[size_t(key)] <= bounds[size_t(2 * query + 1)];
      case GradCase::Mapped:
        return map[size_t(query / 64 * 2 + (key - first) / 64)] != 0;
      case GradCase::Causal:
        return key <= end - kTestQueries + query;
      }
      return false;
    }
  };

  Problem makeProblem(const GradCase &c, std::vector<int32_t> splits) {
    Problem p{c, {}, {}, {}, {1, 1, 0, 0, 0, 1}, {}, {}, {}, {}};
    const int64_t windows = int64_t(splits.size()) - 1;
    extents = {windows, splits.back()};
    const bool ragged = c.keys == GradCase::Ragged;
    for (int64_t b = 0; b <= windows; ++b)
      p.firsts.push_back(ragged ? splits[size_t(b)] : b * 70);
    const KernelSpec spec = attentionGradSpec(c, AttentionPart::QueryGrad);
    for (int i = 0; i < 3; ++i)
      p.inputs.push_back(random(spec.operands[size_t(i)]));
    if (ragged) {
      for (int64_t e = 0; e < extents[1]; ++e)
        p.times.push_back(int32_t(e * 100 / extents[1]));
      for (int q = 0; q < kTestQueries; ++q) { // every 50th sees nothing
        const bool blind = q % 50 == 49;
        p.bounds.push_back(blind ? 1 : q * 2 / 3 - 20);
        p.bounds.push_back(blind ? 0 : q * 2 / 3 + 20);
      }
      p.inputs.push_back(integers(spec.operands[3], splits));
      p.inputs.push_back(integers(spec.operands[4], p.times));
      p.inputs.push_back(integers(spec.operands[5], p.bounds));
    } else if (c.keys == GradCase::Mapped) {
      p.inputs.push_back(integers(spec.operands[3], p.map));
    }
    const size_t dout = p.inputs.size();
    for (size_t i = dout; i < dout + 3; ++i)
      p.inputs.push_back(random(spec.operands[i]));
    solve(p);
    return p;
  }

  /// Sets lse, in the inputs too, and the gradients.
  static void solve(Problem &p) {
    const GradCase &c = p.c;
    const int64_t windows = int64_t(p.firsts.size()) - 1;
    Operand &lse = p.inputs[p.inputs.size() - 2];
    const Operand &dout = p.inputs[p.inputs.size() - 3];
    const Operand &delta = p.inputs.back();
    p.queryGrad.assign(size_t(windows * kTestQueries * p.width()), 0);
    p.keyGrad.assign(size_t(p.firsts.back() * 2 * p.kvWidth()), 0);
    for (int64_t b = 0; b < windows; ++b)
      for (int64_t q = 0; q < kTestQueries; ++q)
        for (int64_t h = 0; h < c.heads; ++h) {
          const int64_t row = b * kTestQueries + q;
          const int64_t at = h * c.size;
          const int64_t kvAt = h / (c.heads / c.kvHeads) * c.size;
          const int64_t qRow = c.sharedQuery ? q : row;
          auto dot = [&](const Operand &a, int64_t aRow, const Operand &kv,
                         int64_t key) {
            double sum = 0;
            for (int64_t i = 0; i < c.size; ++i)
              sum += a.at(aRow, at + i) * kv.at(key, kvAt + i);
            return sum;
          };
          auto score = [&](int64_t key) {
            return dot(p.inputs[0], qRow, p.inputs[1], key) * 0.125;
          };
          double total = 0;
          for (int64_t e = p.firsts[size_t(b)]; e < p.firsts[size_t(b) + 1];
               ++e)
            total += p.sees(q, b, e) ? std::exp(score(e)) : 0;
          const double logSum = total > 0 ? std::log(total) : INFINITY;
          p.lse.push_back(logSum);
          lse.real[size_t(row * c.heads + h)] = float(logSum);
          for (int64_t e = p.firsts[size_t(b)]; e < p.firsts[size_t(b) + 1];
               ++e) {
            if (!p.sees(q, b, e))
              continue;
            const double weight = std::exp(score(e) - logSum);
            const double change =
                weight * (dot(dout, row, p.inputs[2], e) - delta.at(row, h));
            for (int64_t i = 0; i < c.size; ++i) {
              p.queryGrad[size_t(row * p.width() + at + i)] +=
                  0.125 * change * p.inputs[1].at(e, kvAt + i);
              double *key = &p.keyGrad[size_t(e * 2 * p.kvWidth() + kvAt + i)];
              key[0] += 0.125 * change * p.inputs[0].at(qRow, at + i);
              key[p.kvWidth()] += weight * dout.at(row, at + i);
            }
          }
        }
  }

  static std::vector<Operand> inputsOf(const Problem &p, AttentionPart part) {
    std::vector<Operand> inputs = p.inputs;
    if (part == AttentionPart::LogSum)
      inputs.resize(inputs.size() - 3);
    return inputs;
  }

  /// The kernel's result, which all tiles and large buckets share.
  Operand runPart(const Problem &p, AttentionPart part) {
    const KernelSpec spec = attentionGradSpec(p.c, part);
    const std::vector<Operand> inputs = inputsOf(p, part);
    Operand result = run(spec, inputs, {4, 4 * 4096});
    Operand large = run(spec, inputs, {256, 256 * 4096});
    expectSameBits(result, large);
    for (const TileConfig &tile : tilesOf(spec, {4, 4 * 4096}))
      expectSameBits(result, runAll(spec, inputs, {4, 4 * 4096}, &tile)[0]);
    return result;
  }

  void check(const Problem &p) {
    SCOPED_TRACE(testing::Message()
                 << p.c.heads << " heads of " << p.c.size << " on "
                 << p.c.kvHeads << ", keys " << int(p.c.keys));
    Operand lse = runPart(p, AttentionPart::LogSum);
    std::vector<double> finite = p.lse;
    for (size_t i = 0; i < finite.size(); ++i)
      if (std::isinf(finite[i])) {
        EXPECT_EQ(lse.real[i], INFINITY) << i;
        lse.real[i] = 0, finite[i] = 0;
      }
    {
      SCOPED_TRACE("attention_lse");
      expectNear(lse, finite);
    }
    {
      SCOPED_TRACE("attention_grad_q");
      expectNear(runPart(p, AttentionPart::QueryGrad), p.queryGrad);
    }
    SCOPED_TRACE("attention_grad_kv");
    expectNear(runPart(p, AttentionPart::KeyValueGrad), p.keyGrad);
  }
};

TEST_P(TrainingAttention, GradientsOfEveryKind) {
  for (const GradCase &c : gradCases())
    check(makeProblem(c, {0, 40, 40, 105}));
}

TEST_P(TrainingAttention, GradientsOfWindowsOfManyKeys) {
  check(makeProblem({GradCase::Ragged, 2, 1, 64, true, DType::BF16},
                    {0, 512, 512, 513, 1200}));
  check(makeProblem({GradCase::Ragged, 2, 1, 20, false, DType::F32},
                    {0, 1, 1, 260}));
}

/// A window's keys have the same gradients alone and among others.
TEST_P(TrainingAttention, KeyGradientsDoNotDependOnThePlace) {
  for (DType dtype : {DType::BF16, DType::F32}) {
    const GradCase c{GradCase::Mapped, 4, 2, 64, false, dtype};
    Problem all = makeProblem(c, {0, 0, 0, 0});
    const Operand together = runPart(all, AttentionPart::KeyValueGrad);
    Problem alone = all;
    extents = {1, 0};
    for (Operand &input : alone.inputs) {
      if (input.spec.dtype == DType::I32)
        continue;
      const size_t size = input.real.size() / 3;
      input.real.erase(input.real.begin(), input.real.begin() + int64_t(size));
      input.real.resize(size);
      input.rows /= 3;
    }
    const Operand result =
        run(attentionGradSpec(c, AttentionPart::KeyValueGrad), alone.inputs,
            {1, 0});
    EXPECT_EQ(0, std::memcmp(result.real.data(),
                             &together.real[result.real.size()],
                             result.real.size() * 4));
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, TrainingAttention,
                         ::testing::Values("cuda:sm_90a", "cuda:sm_80"), isaOf);

} // namespace
} // namespace betz::cuda
