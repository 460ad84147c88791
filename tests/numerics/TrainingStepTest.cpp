//===- TrainingStepTest.cpp - What a training step takes and gives --------===//
#include "passes/TrainingStep.h"
#include "ir/reference/Interpreter.h"
#include "tests/numerics/OpCases.h"

#include <gtest/gtest.h>

namespace betz {
namespace {

using passes::TrainingLoss;
using passes::TrainingOptions;
using reference::Tensor;
using reference::TensorMap;

/// y = x w^T + b; `spare` is read by nothing that a loss depends on.
constexpr const char *kModel = R"(
module attributes {betz.phase = "model", betz.symbols = ["batch"],
                   betz.metadata = {config = "{}"}} {
  func.func @prepare(%w: tensor<2x3xf32> {betz.weight = "out.weight"},
                     %b: tensor<2xf32> {betz.weight = "out.bias"},
                     %s: tensor<2xf32> {betz.weight = "spare"})
      -> (tensor<2x3xf32> {betz.derived = "w"},
          tensor<2xf32> {betz.derived = "b"},
          tensor<2xf32> {betz.derived = "s"}) {
    return %w, %b, %s : tensor<2x3xf32>, tensor<2xf32>, tensor<2xf32>
  }
  func.func @main(%b: tensor<2xf32> {betz.derived = "b"},
                  %x: tensor<?x3xf32, #betz.rows<"batch">> {betz.input = "x"},
                  %w: tensor<2x3xf32> {betz.derived = "w"},
                  %s: tensor<2xf32> {betz.derived = "s"})
      -> (tensor<?x2xf32, #betz.rows<"batch">> {betz.output = "y"},
          tensor<?x2xf32, #betz.rows<"batch">> {betz.output = "z"}) {
    %m = betz.matmul %x, %w
        : (tensor<?x3xf32, #betz.rows<"batch">>, tensor<2x3xf32>)
        -> tensor<?x2xf32, #betz.rows<"batch">>
    %y = betz.add %m, %b
        : (tensor<?x2xf32, #betz.rows<"batch">>, tensor<2xf32>)
        -> tensor<?x2xf32, #betz.rows<"batch">>
    %z = betz.mul %y, %s
        : (tensor<?x2xf32, #betz.rows<"batch">>, tensor<2xf32>)
        -> tensor<?x2xf32, #betz.rows<"batch">>
    return %y, %z : tensor<?x2xf32, #betz.rows<"batch">>,
                    tensor<?x2xf32, #betz.rows<"batch">>
  }
})";

constexpr int64_t kBias = 64, kSpare = 128, kSize = 192;

class TrainingStepTest : public testing::Test {
protected:
  Result<passes::TrainingModule> make(const TrainingOptions &options,
                                      std::string text = kModel) {
    auto parsed = ir::parseModule(*context, text, "model");
    EXPECT_TRUE(parsed.isOk()) << parsed.status().message();
    return passes::makeTrainingModule(**parsed, options);
  }

  passes::TrainingModule made(const TrainingOptions &options) {
    auto step = make(options);
    EXPECT_TRUE(step.isOk()) << step.status().message();
    return step.isOk() ? std::move(*step) : passes::TrainingModule();
  }

  std::string error(const TrainingOptions &options, std::string text = kModel) {
    auto step = make(options, std::move(text));
    EXPECT_FALSE(step.isOk());
    return step.status().message();
  }

  TensorMap run(const passes::TrainingModule &step, const TensorMap &inputs) {
    auto outputs = reference::runMain(*step.module, {}, inputs);
    EXPECT_TRUE(outputs.isOk()) << outputs.status().message();
    return outputs.isOk() ? *outputs : TensorMap();
  }

  /// Weights, a batch of two windows and its target.
  static TensorMap batch() {
    Tensor weights = vector(kSize);
    const double values[] = {1, 2, 3, -1, 0.5, 0};
    std::copy(std::begin(values), std::end(values), weights.real.begin());
    weights.real[kBias] = 0.25;
    weights.real[kBias + 1] = -1;
    weights.real[kSpare] = 8;
    return {{"weights", weights},
            {"moment1", vector(kSize)},
            {"moment2", vector(kSize)},
            {"schedule", {{4}, {0.5, 1, 1, 1}, {}}},
            {"x", {{2, 3}, {1, 0, 2, 3, -1, 1}, {}}},
            {"target", {{2, 2}, {7, -2, 4, 0}, {}}}};
  }

  static Tensor vector(int64_t size) {
    return {{size}, std::vector<double>(size_t(size)), {}};
  }

  std::unique_ptr<mlir::MLIRContext> context = ir::makeContext();
  const std::vector<TrainingLoss> losses = {{"y", "target"}};
};

// y - target is (0.25, 0), (0.25, -4.5).
const std::vector<double> kWeightGradient = {0.5,   -0.125, 0.375,
                                             -6.75, 2.25,   -2.25};

TEST_F(TrainingStepTest, GradientLiesWhereTheTableSays) {
  auto step = made({.losses = losses, .gradientsOnly = true});
  ASSERT_EQ(step.parameters.size(), 3u);
  EXPECT_EQ(step.size, kSize);
  EXPECT_EQ(step.frozenSize, 0);
  EXPECT_EQ(step.parameters[1].name, "out.bias");
  EXPECT_EQ(step.parameters[1].offset, kBias);
  auto outputs = run(step, batch());
  Tensor expected = vector(kSize);
  std::copy(kWeightGradient.begin(), kWeightGradient.end(),
            expected.real.begin());
  expected.real[kBias] = 0.25;
  expected.real[kBias + 1] = -2.25;
  EXPECT_EQ(compareTensors(expected, outputs.at("gradient"), 1e-14), "");
  EXPECT_DOUBLE_EQ(outputs.at("loss").real[0], 20.375 / 4);
  double squares = 0;
  for (double value : expected.real)
    squares += value * value;
  EXPECT_DOUBLE_EQ(outputs.at("grad_squares").real[0], squares);
  EXPECT_EQ(outputs.at("y").shape, (std::vector<int64_t>{2, 2}));
  EXPECT_FALSE(outputs.contains("weights"));
}

TEST_F(TrainingStepTest, MetadataHoldsTheTable) {
  auto step = made({.losses = losses, .frozen = {"spare"}});
  auto metadata =
      (*step.module)->getAttrOfType<mlir::DictionaryAttr>(ir::kMetadataAttr);
  EXPECT_EQ(metadata.getAs<mlir::StringAttr>("config"), "{}");
  EXPECT_EQ(metadata.getAs<mlir::StringAttr>("parameters"),
            R"([{"name":"out.weight","shape":[2,3],"offset":0,"frozen":false},)"
            R"({"name":"out.bias","shape":[2],"offset":64,"frozen":false},)"
            R"({"name":"spare","shape":[2],"offset":0,"frozen":true}])");
}

TEST_F(TrainingStepTest, WeightsThatNoLossReadsDecayOnly) {
  auto step = made({.losses = losses, .weightDecay = 0.1});
  auto outputs = run(step, batch());
  EXPECT_DOUBLE_EQ(outputs.at("weights").real[kSpare], 8 * (1 - 0.5 * 0.1));
  EXPECT_EQ(outputs.at("moment1").real[kSpare], 0);
  EXPECT_NE(outputs.at("moment1").real[kBias], 0);
  for (int64_t i = 6; i < kBias; ++i)
    EXPECT_EQ(outputs.at("weights").real[size_t(i)], 0) << "padding " << i;
}

TEST_F(TrainingStepTest, FrozenWeightsAreAnInputOfTheirOwn) {
  auto step =
      made({.losses = losses, .frozen = {"out."}, .gradientsOnly = true});
  EXPECT_EQ(step.size, 64);
  EXPECT_EQ(step.frozenSize, 128);
  TensorMap inputs = batch();
  Tensor all = inputs.at("weights");
  inputs["frozen"] = {{128}, {all.real.begin(), all.real.begin() + 128}, {}};
  inputs["weights"] = {{64}, {all.real.begin() + 128, all.real.end()}, {}};
  auto outputs = run(step, inputs);
  EXPECT_DOUBLE_EQ(outputs.at("loss").real[0], 20.375 / 4);
  EXPECT_EQ(outputs.at("gradient").real, std::vector<double>(64));

  // Only the weight that is left gets a gradient, and only its ops are there.
  step = made({.losses = losses,
               .frozen = {"out.weight", "spare"},
               .gradientsOnly = true});
  int products = 0;
  step.module->walk([&](ir::ContractRowsOp) { ++products; });
  EXPECT_EQ(products, 0);
}

TEST_F(TrainingStepTest, EarlierGradientsAreAdded) {
  auto step =
      made({.losses = losses, .gradientsOnly = true, .accumulate = true});
  TensorMap inputs = batch();
  inputs["accumulated"] = vector(kSize);
  inputs["accumulated"].real[3] = 100;
  EXPECT_DOUBLE_EQ(run(step, inputs).at("gradient").real[3], 93.25);
}

TEST_F(TrainingStepTest, NarrowComputesInBf16BetweenF32Weights) {
  auto step = made({.losses = losses, .narrow = true, .gradientsOnly = true});
  int narrow = 0;
  step.module->walk([&](ir::MatmulOp op) {
    narrow += llvm::cast<ir::Tensor>(op.getType()).getElementType().isBF16();
  });
  EXPECT_EQ(narrow, 1);
  for (mlir::Type type : ir::getMain(*step.module).getResultTypes())
    EXPECT_TRUE(llvm::cast<ir::Tensor>(type).getElementType().isF32());
  // The interpreter rounds nothing.
  auto wide = made({.losses = losses, .gradientsOnly = true});
  EXPECT_EQ(compareTensors(run(wide, batch()), run(step, batch()), 1e-14), "");
}

TEST_F(TrainingStepTest, LossesAreWeightedAndAdded) {
  auto step =
      made({.losses = {{.output = "y", .target = "target"},
                       {.output = "z", .target = "other", .weight = 0.5}},
            .gradientsOnly = true});
  TensorMap inputs = batch();
  inputs["other"] = {{2, 2}, {0, 0, 0, 0}, {}};
  auto outputs = run(step, inputs);
  EXPECT_DOUBLE_EQ(outputs.at("loss.y").real[0], 20.375 / 4);
  // z is (58, 0), (34, 0).
  EXPECT_DOUBLE_EQ(outputs.at("loss.z").real[0], (58. * 58 + 34. * 34) / 4);
  EXPECT_DOUBLE_EQ(outputs.at("loss").real[0],
                   outputs.at("loss.y").real[0] +
                       outputs.at("loss.z").real[0] / 2);
}

TEST_F(TrainingStepTest, WithoutALossOnlyTheModelIsLeft) {
  auto step = made({});
  TensorMap inputs = {{"weights", batch().at("weights")},
                      {"x", batch().at("x")}};
  auto outputs = run(step, inputs);
  EXPECT_EQ(outputs.at("y").real,
            run(made({.losses = losses}), batch()).at("y").real);
  EXPECT_FALSE(outputs.contains("loss"));
  EXPECT_FALSE(outputs.contains("weights"));
}

TEST_F(TrainingStepTest, SaysWhatIsWrong) {
  EXPECT_EQ(error({.losses = {{"u", "target"}}}),
            "a loss is of output 'u', which the model does not give");
  EXPECT_EQ(error({.losses = {{"y", ""}}}), "the loss of 'y' names no target");
  EXPECT_EQ(error({.losses = {{"y", "x"}}}),
            "the target of 'y' is input 'x', which the step has already");
  EXPECT_EQ(error({.losses = losses, .frozen = {"out"}}),
            "frozen 'out' is no weight of the model, nor a prefix that ends "
            "in a dot of one");
  EXPECT_EQ(error({.losses = losses, .frozen = {"out.", "spare"}}),
            "the model has no weight to train");
  std::string text = kModel;
  text.replace(text.find("\"z\""), 3, "\"loss\"");
  EXPECT_EQ(error({.losses = losses}, text),
            "the model's output 'loss' has the name of an output of the step");
  text = kModel;
  text.replace(text.find("betz.input = \"x\""), 16,
               "betz.input = \"schedule\"");
  EXPECT_EQ(error({.losses = losses}, text),
            "the model's input 'schedule' has the name of an input of the "
            "step");
  text = kModel;
  text.replace(text.find("\"model\""), 7, "\"kernels\"");
  EXPECT_EQ(error({.losses = losses}, text),
            "a training step is made of a module in phase model, not kernels");
}

TEST_F(TrainingStepTest, NamesTheOpWithoutARule) {
  std::string text = kModel;
  const std::string old = "%y = betz.add %m, %b";
  text.replace(text.find(old), old.size(),
               "%n = betz.square_sums %m {group = 1 "
               ": i64} : (tensor<?x2xf32, #betz.rows<\"batch\">>) -> "
               "tensor<?x2xf32, #betz.rows<\"batch\">>\n%y = betz.add %n, %b");
  EXPECT_EQ(error({.losses = losses}, text),
            "model:21:10: 'betz.square_sums' op has no gradient rule");
}

} // namespace
} // namespace betz
