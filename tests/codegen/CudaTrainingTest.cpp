// Generated CUDA kernels of training steps on a GPU against plain loops in f64.
#include "tests/codegen/CudaKernelFixture.h"
#include "tests/codegen/TrainingSpecs.h"

namespace betz::cuda {
namespace {

constexpr DType kFloats[] = {DType::F32, DType::BF16};

class TrainingKernel : public CudaKernelFixture {
protected:
  /// The kernel's first result is near, with the same bits every time, in any
  /// bucket and for every tile.
  void check(const KernelSpec &spec, const std::vector<Operand> &inputs,
             const std::vector<double> &expected) {
    const std::vector<int64_t> small = extents, large = {128, 128 * 512};
    const Operand result = run(spec, inputs, small);
    ASSERT_EQ(result.real.size(), expected.size());
    expectNear(result, expected);
    expectSameBits(result, run(spec, inputs, large));
    for (const TileConfig &tile : tilesOf(spec, small))
      expectSameBits(result, runAll(spec, inputs, small, &tile)[0]);
  }

  /// Random values for all but the results.
  std::vector<Operand> randoms(const KernelSpec &spec) {
    std::vector<Operand> inputs;
    for (size_t i = 0; i < size_t(spec.resultIndex()); ++i)
      inputs.push_back(random(spec.operands[i]));
    return inputs;
  }
};

TEST_P(TrainingKernel, ContractRows) {
  struct Case {
    int64_t rows, columns;
    DType dtype;
    int64_t rowsOfWindow;
  };
  for (const Case &c :
       {Case{64, 64, DType::BF16, 70}, Case{512, 512, DType::BF16, 50},
        Case{72, 200, DType::BF16, 1}, Case{128, 40, DType::BF16, 777},
        Case{33, 7, DType::BF16, 30}, Case{64, 96, DType::F32, 333},
        Case{33, 130, DType::F32, 5}}) {
    SCOPED_TRACE(testing::Message() << c.rows << " x " << c.columns);
    const KernelSpec spec =
        contractSpec(c.rows, c.columns, c.dtype, c.rowsOfWindow);
    const std::vector<Operand> inputs = randoms(spec);
    std::vector<double> expected(size_t(c.rows * c.columns), 0);
    for (int64_t r = 0; r < inputs[0].rows; ++r)
      for (int64_t n = 0; n < c.rows; ++n)
        for (int64_t k = 0; k < c.columns; ++k)
          expected[size_t(n * c.columns + k)] +=
              inputs[0].at(r, n) * inputs[1].at(r, k);
    check(spec, inputs, expected);
  }
}

TEST_P(TrainingKernel, ColumnSum) {
  for (DType dtype : kFloats)
    for (int64_t columns : {2, 24, 512})
      for (int64_t rows : {1, 1000}) {
        SCOPED_TRACE(testing::Message() << rows << " x " << columns);
        const KernelSpec spec = columnSumSpec(columns, dtype, rows);
        const std::vector<Operand> inputs = randoms(spec);
        std::vector<double> expected(size_t(columns), 0);
        for (int64_t r = 0; r < inputs[0].rows; ++r)
          for (int64_t c = 0; c < columns; ++c)
            expected[size_t(c)] += inputs[0].at(r, c);
        check(spec, inputs, expected);
      }
}

TEST_P(TrainingKernel, ScatterSum) {
  struct Case {
    int64_t rows, columns, events;
    DType dtype;
  };
  for (const Case &c :
       {Case{1, 64, 20000, DType::BF16}, Case{3, 40, 9000, DType::F32},
        Case{100, 64, 20000, DType::BF16}, Case{50, 30, 77, DType::BF16},
        Case{200, 512, 3000, DType::F32}, Case{30, 8, 0, DType::F32}}) {
    SCOPED_TRACE(testing::Message() << c.rows << " rows, " << c.events);
    extents = {3, c.events};
    const KernelSpec spec = scatterSpec(c.rows, c.columns, c.dtype);
    std::vector<int32_t> index; // row 0 is named often, the last never
    for (int64_t e = 0; e < c.events; ++e)
      index.push_back(
          e % 3 == 0 ? 0
                     : int32_t(generator() %
                               uint32_t(std::max<int64_t>(c.rows - 1, 1))));
    const std::vector<Operand> inputs = {integers(spec.operands[0], index),
                                         random(spec.operands[1])};
    std::vector<double> expected(size_t(c.rows * c.columns), 0);
    for (int64_t e = 0; e < c.events; ++e)
      for (int64_t i = 0; i < c.columns; ++i)
        expected[size_t(index[size_t(e)] * c.columns + i)] +=
            inputs[1].at(e, i);
    check(spec, inputs, expected);
  }
}

TEST_P(TrainingKernel, NormGrad) {
  for (DType dtype : kFloats)
    for (NormForm form : {NormForm::Layer, NormForm::Rms})
      for (int64_t columns : {36, 512}) {
        const KernelSpec spec = normGradSpec(form, columns, dtype);
        const std::vector<Operand> inputs = randoms(spec);
        std::vector<double> expected;
        for (int64_t r = 0; r < inputs[0].rows; ++r) {
          double mean = 0, squares = 0;
          for (int64_t c = 0; c < columns && form == NormForm::Layer; ++c)
            mean += inputs[0].at(r, c) / double(columns);
          for (int64_t c = 0; c < columns; ++c)
            squares += std::pow(inputs[0].at(r, c) - mean, 2);
          const double scale = 1 / std::sqrt(squares / double(columns) + 1e-5);
          auto normal = [&](int64_t c) {
            return (inputs[0].at(r, c) - mean) * scale;
          };
          auto slope = [&](int64_t c) {
            return inputs[2].at(r, c) * inputs[1].at(0, c);
          };
          double slopes = 0, products = 0;
          for (int64_t c = 0; c < columns; ++c) {
            slopes += slope(c) / double(columns);
            products += slope(c) * normal(c) / double(columns);
          }
          if (form == NormForm::Rms)
            slopes = 0;
          for (int64_t c = 0; c < columns; ++c)
            expected.push_back(scale *
                               (slope(c) - slopes - normal(c) * products));
        }
        check(spec, inputs, expected);
      }
}

TEST_P(TrainingKernel, HeadDots) {
  struct Case {
    int64_t heads, size;
  };
  for (DType dtype : kFloats)
    for (const Case &c :
         {Case{8, 64}, Case{3, 24}, Case{5, 20}, Case{4, 1}, Case{2, 300}}) {
      SCOPED_TRACE(testing::Message() << c.heads << " heads of " << c.size);
      const KernelSpec spec = headDotsSpec(c.heads, c.size, dtype);
      const std::vector<Operand> inputs = randoms(spec);
      std::vector<double> expected;
      for (int64_t r = 0; r < inputs[0].rows; ++r)
        for (int64_t h = 0; h < c.heads; ++h) {
          expected.push_back(0);
          for (int64_t i = h * c.size; i < (h + 1) * c.size; ++i)
            expected.back() += inputs[0].at(r, i) * inputs[1].at(r, i);
        }
      check(spec, inputs, expected);
    }
}

TEST_P(TrainingKernel, Join) {
  for (const KernelSpec &spec :
       {joinSpec(DType::F32), joinSpec(DType::BF16), joinVectorsSpec()}) {
    const std::vector<Operand> inputs = randoms(spec);
    const auto &core = std::get<JoinCore>(spec.core);
    const int64_t columns = spec.result().columns;
    const int64_t rows = spec.result().rows.evaluate(extents);
    std::vector<double> expected(size_t(rows * columns), 0);
    for (size_t part = 0; part < inputs.size(); ++part)
      for (int64_t r = 0; r < rows; ++r)
        for (int64_t c = 0; c < inputs[part].spec.columns; ++c)
          expected[size_t(r * columns + core.columns[part] + c)] =
              inputs[part].at(r, c);
    check(spec, inputs, expected);
  }
}

TEST_P(TrainingKernel, MeanSquaredError) {
  for (int64_t columns : {2, 8, 130}) {
    const KernelSpec lossSpec = mseSpec(columns, false);
    const std::vector<Operand> inputs = randoms(lossSpec);
    double loss = 0;
    std::vector<double> gradient;
    std::vector<Operand> withLoss = inputs;
    withLoss.push_back(random(constant(1, 1, DType::F32)));
    const double elements = double(inputs[0].real.size());
    for (size_t i = 0; i < inputs[0].real.size(); ++i) {
      const double error = double(inputs[0].real[i]) - inputs[1].real[i];
      loss += error * error / elements;
      gradient.push_back(withLoss[2].real[0] * 2 * error / elements);
    }
    check(lossSpec, inputs, {loss});
    check(mseSpec(columns, true), withLoss, gradient);
  }
}

TEST_P(TrainingKernel, CrossEntropy) {
  for (bool anyLabel : {true, false})
    for (int64_t classes : {2, 13, 300}) {
      const KernelSpec lossSpec = crossEntropySpec(classes, false);
      const Operand logits = random(lossSpec.operands[0]);
      std::vector<int32_t> labels;
      for (int64_t r = 0; r < logits.rows; ++r)
        labels.push_back(anyLabel && r % 4 != 3
                             ? int32_t(generator() % uint32_t(classes))
                             : -1);
      std::vector<Operand> inputs = {logits,
                                     integers(lossSpec.operands[1], labels)};
      std::vector<Operand> withLoss = inputs;
      withLoss.push_back(random(constant(1, 1, DType::F32)));
      double loss = 0, count = 0;
      for (int32_t label : labels)
        count += label >= 0;
      std::vector<double> gradient;
      for (int64_t r = 0; r < logits.rows; ++r) {
        const int32_t label = labels[size_t(r)];
        double total = 0;
        for (int64_t c = 0; c < classes; ++c)
          total += std::exp(logits.at(r, c));
        if (label >= 0)
          loss += (std::log(total) - logits.at(r, label)) / count;
        for (int64_t c = 0; c < classes; ++c)
          gradient.push_back(
              label < 0
                  ? 0
                  : withLoss[2].real[0] / count *
                        (std::exp(logits.at(r, c)) / total - (c == label)));
      }
      check(lossSpec, inputs, {loss});
      check(crossEntropySpec(classes, true), withLoss, gradient);
    }
}

TEST_P(TrainingKernel, SquareSum) {
  for (const KernelSpec &spec :
       {squareSumSpec(1, 100003), squareSumSpec(37, 20),
        squareSumSpec(1, 1 << 20)}) {
    const std::vector<Operand> inputs = randoms(spec);
    double sum = 0;
    for (float x : inputs[0].real)
      sum += double(x) * x;
    check(spec, inputs, {sum});
  }
}

TEST_P(TrainingKernel, Adamw) {
  struct Case {
    int64_t size;
    double clip;
  };
  for (const Case &c : {Case{6400, 0.5}, Case{4099, 0.0}, Case{64, 1e9}}) {
    const KernelSpec spec = adamwSpec(c.size, c.clip);
    std::vector<Operand> inputs = randoms(spec);
    for (float &x : inputs[2].real)
      x *= x;
    inputs[4].real = {123.0f};
    inputs[5].real = {1e-3f, 1.6f, 3.1f, 0.25f};
    const double norm = 0.25 * std::sqrt(123.0);
    const double factor =
        0.25 * (c.clip > 0 ? std::min(1.0, c.clip / (norm + 1e-6)) : 1.0);
    std::vector<double> weights, first, second;
    for (int64_t i = 0; i < c.size; ++i) {
      const double g = inputs[3].at(0, i) * factor;
      first.push_back(0.9 * inputs[1].at(0, i) + (1 - 0.9) * g);
      second.push_back(0.98 * inputs[2].at(0, i) + (1 - 0.98) * g * g);
      weights.push_back(inputs[0].at(0, i) * (1 - 1e-3 * 0.1) -
                        1e-3 * first.back() * 1.6 /
                            (std::sqrt(second.back() * 3.1) + 1e-8));
    }
    check(spec, inputs, weights);
    const std::vector<Operand> results = runAll(spec, inputs, extents);
    expectNear(results[1], first);
    expectNear(results[2], second);
  }
}

TEST_P(TrainingKernel, TransposeAndFill) {
  for (DType dtype : kFloats) {
    const KernelSpec spec = transposeSpec(70, 133, dtype);
    const std::vector<Operand> inputs = randoms(spec);
    std::vector<double> expected;
    for (int64_t c = 0; c < 133; ++c)
      for (int64_t r = 0; r < 70; ++r)
        expected.push_back(inputs[0].at(r, c));
    check(spec, inputs, expected);
    check(fillSpec(70, dtype), {}, std::vector<double>(9 * 70, 0.75));
  }
}

double stepValue(EpilogueStep::Kind kind, double x, double y) {
  using Kind = EpilogueStep::Kind;
  const double s = 1 / (1 + std::exp(-x));
  switch (kind) {
  case Kind::Sub:
    return x - y;
  case Kind::Sigmoid:
    return s;
  case Kind::Tanh:
    return std::tanh(x);
  case Kind::SiluGrad:
    return y * s * (1 + x * (1 - s));
  default: // GeluGrad
    return y * (0.5 * (1 + std::erf(x / std::sqrt(2.0))) +
                x * std::exp(-x * x / 2) / std::sqrt(2 * 3.14159265358979323));
  }
}

TEST_P(TrainingKernel, Steps) {
  using Kind = EpilogueStep::Kind;
  for (DType dtype : kFloats)
    for (Kind kind :
         {Kind::Sub, Kind::Sigmoid, Kind::Tanh, Kind::SiluGrad, Kind::GeluGrad})
      for (bool swapped : {false, true}) {
        SCOPED_TRACE(describe(kind).mnemonic);
        const KernelSpec spec = stepSpec(kind, swapped, 72, dtype);
        std::vector<Operand> inputs = randoms(spec);
        for (size_t i = 0; i < 72; ++i) // far from zero too
          inputs[0].real[i] *= 16, inputs[1].real[i] *= 16;
        const bool turns = swapped && describe(kind).operands == 2;
        std::vector<double> expected;
        for (size_t i = 0; i < inputs[0].real.size(); ++i)
          expected.push_back(
              stepValue(kind, inputs[turns].real[i], inputs[!turns].real[i]));
        check(spec, inputs, expected);
      }
}

uint32_t mix(uint32_t u) {
  u += 0x9e3779b9u;
  u = (u ^ (u >> 16)) * 0x85ebca6bu;
  u = (u ^ (u >> 13)) * 0xc2b2ae35u;
  return u ^ (u >> 16);
}

TEST_P(TrainingKernel, Dropout) {
  for (DType dtype : kFloats)
    for (int64_t columns : {72, 5}) {
      const KernelSpec spec = dropoutSpec(columns, dtype);
      const std::vector<Operand> inputs = {
          random(spec.operands[0]), integers(spec.operands[1], {-5, 77})};
      const uint32_t key = mix(uint32_t(-5) + mix(77u + mix(7u)));
      std::vector<double> expected;
      for (size_t i = 0; i < inputs[0].real.size(); ++i)
        expected.push_back(mix(key ^ mix(uint32_t(i))) >= 0x40000000u
                               ? inputs[0].real[i] / 0.75
                               : 0.0);
      check(spec, inputs, expected);
    }
}

INSTANTIATE_TEST_SUITE_P(Targets, TrainingKernel,
                         ::testing::Values("cuda:sm_90a", "cuda:sm_80"), isaOf);

} // namespace
} // namespace betz::cuda
