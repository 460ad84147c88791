//===- DecoderTest.cpp - The modules of decoders --------------------------===//
#include "frontend/Frontend.h"
#include "passes/Passes.h"

#include <gtest/gtest.h>

namespace betz {
namespace {

ModelDescription small() {
  ModelDescription model;
  model.config.dim = 8;
  model.config.layers = 1;
  model.config.heads = 2;
  model.config.latents = 3;
  model.metadata["outputs"] = "[\"x\",\"y\"]";
  return model;
}

template <typename OpTy> int64_t count(mlir::ModuleOp module) {
  int64_t found = 0;
  module.walk([&](OpTy) { ++found; });
  return found;
}

struct Shipped {
  const char *name;
  int64_t parameters;
};

class ShippedModelTest : public testing::TestWithParam<Shipped> {};

TEST_P(ShippedModelTest, IsLegalAndOfItsPublishedSize) {
  auto context = ir::makeContext();
  auto model = readModelToml(std::string(BETZ_SOURCE_DIR "/frontend/models/") +
                             GetParam().name + ".toml");
  ASSERT_TRUE(model.isOk()) << model.status().message();
  auto module = buildDecoder(*context, *model, {"behavior", "latents_out"});
  ASSERT_TRUE(module.isOk()) << module.status().message();
  Status legal = passes::verifyPhase(**module);
  EXPECT_TRUE(legal.isOk()) << legal.message();
  EXPECT_EQ(countParameters(**module, model->config), GetParam().parameters);
}

// The sizes of DESIGN section 5; the demo's is counted by hand:
// tables (256 + 64 + 8) * 64, latents 16 * 64; cross attention 2 norms, q, kv
// and out 4 * 64 * 64; 2 blocks of 2 norms and (3 + 1 + 4 + 4) * 64 * 64; final
// norm; head query 2 * 64, norm, q and kv 3 * 64 * 64, out 64; the spike head
// 8 * 64 + 8.
INSTANTIATE_TEST_SUITE_P(
    Models, ShippedModelTest,
    testing::Values(Shipped{"cortex-s", 24800776},
                    Shipped{"demo", 328 * 64 + 16 * 64 + 2 * 64 + 4 * 64 * 64 +
                                        2 * (2 * 64 + 12 * 64 * 64) + 64 +
                                        2 * 64 + 64 + 3 * 64 * 64 + 64 +
                                        8 * 64 + 8}),
    [](const auto &info) {
      std::string name = info.param.name;
      std::replace(name.begin(), name.end(), '-', '_');
      return name;
    });

TEST(ShippedModels, RoundedSizesHold) {
  auto context = ir::makeContext();
  for (auto [name, millions] :
       {std::pair{"cortex-xs", 4.83}, std::pair{"cortex-m", 83.51}}) {
    auto model = readModelToml(
        std::string(BETZ_SOURCE_DIR "/frontend/models/") + name + ".toml");
    ASSERT_TRUE(model.isOk()) << model.status().message();
    auto module = buildDecoder(*context, *model, {"behavior"});
    ASSERT_TRUE(module.isOk()) << module.status().message();
    EXPECT_NEAR(double(countParameters(**module, model->config)) / 1e6,
                millions, 0.005)
        << name;
  }
}

TEST(Decoder, OptionsShowInTheModule) {
  auto context = ir::makeContext();
  ModelDescription model = small();
  auto plain = buildDecoder(*context, model, {"behavior"});
  ASSERT_TRUE(plain.isOk()) << plain.status().message();
  EXPECT_EQ(count<ir::RotaryOp>(**plain), 0);
  EXPECT_EQ(count<ir::ReachBoundsOp>(**plain), 0);
  // Cross attention, one block, the head.
  EXPECT_EQ(count<ir::AttentionOp>(**plain), 3);

  model.config.time = "rotary";
  model.config.reachBins = 4;
  auto full = buildDecoder(*context, model, {"behavior"});
  ASSERT_TRUE(full.isOk()) << full.status().message();
  EXPECT_EQ(count<ir::RotaryOp>(**full), 2);
  EXPECT_EQ(count<ir::ReachBoundsOp>(**full), 1);
  // No table of times, and nothing else is gone.
  EXPECT_EQ(ir::getPrepare(**full).getNumArguments() + 1,
            ir::getPrepare(**plain).getNumArguments());
}

TEST(Decoder, OutputsComeInTheAskedOrder) {
  auto context = ir::makeContext();
  auto module = buildDecoder(*context, small(), {"latents_out", "behavior"});
  ASSERT_TRUE(module.isOk()) << module.status().message();
  mlir::func::FuncOp main = ir::getMain(**module);
  ASSERT_EQ(main.getNumResults(), 2u);
  EXPECT_EQ(ir::getResultName(main, 0, ir::kOutputAttr), "latents_out");
  EXPECT_EQ(ir::getResultName(main, 1, ir::kOutputAttr), "behavior");
  auto message = [&](std::vector<std::string> outputs) {
    return buildDecoder(*context, small(), outputs).status().message();
  };
  EXPECT_EQ(message({}), "no output asked for; known: behavior, latents_out");
  EXPECT_EQ(message({"behaviour"}),
            "unknown output \"behaviour\"; did you mean \"behavior\"?");
  EXPECT_EQ(message({"spikes"}),
            "unknown output \"spikes\"; known: behavior, latents_out");
  EXPECT_EQ(message({"behavior", "behavior"}),
            "output \"behavior\" is asked for twice");
}

TEST(Decoder, SpikeHeadIsThereWhenPlacesAreQueried) {
  auto context = ir::makeContext();
  ModelDescription model = small();
  auto plain = buildDecoder(*context, model, {"behavior"});
  auto both = buildDecoder(*context, model, {"behavior"}, {.spikeQueries = 7});
  ASSERT_TRUE(both.isOk()) << both.status().message();
  mlir::func::FuncOp main = ir::getMain(**both);
  ASSERT_EQ(main.getNumResults(), 2u);
  EXPECT_EQ(ir::getResultName(main, 1, ir::kOutputAttr), "spike_logits");
  EXPECT_EQ(llvm::cast<ir::Tensor>(main.getResultTypes()[1]).getShape(),
            llvm::ArrayRef<int64_t>(
                {mlir::ShapedType::kDynamic, 7, model.config.valueBuckets}));
  EXPECT_EQ(ir::getArgName(main, main.getNumArguments() - 1, ir::kInputAttr),
            "query_time");
  // Two norms, q, kv and out; masked_spike_head is counted in either.
  EXPECT_EQ(countParameters(**both, model.config) -
                countParameters(**plain, model.config),
            2 * 2 * 8 + 4 * 8 * 8);

  model.config.time = "rotary";
  auto alone = buildDecoder(*context, model, {}, {.spikeQueries = 7});
  ASSERT_TRUE(alone.isOk()) << alone.status().message();
  main = ir::getMain(**alone);
  EXPECT_EQ(main.getNumResults(), 1u);
  EXPECT_EQ(ir::getArgName(main, main.getNumArguments() - 1, ir::kInputAttr),
            "query_neuron");
}

TEST(Decoder, SeveralSessionsHaveATableInTraining) {
  auto context = ir::makeContext();
  ModelDescription model = small();
  auto module = buildDecoder(*context, model, {"behavior"},
                             {.spikeQueries = 7, .sessions = 3});
  ASSERT_TRUE(module.isOk()) << module.status().message();
  mlir::func::FuncOp main = ir::getMain(**module);
  const unsigned inputs = main.getNumArguments();
  EXPECT_EQ(ir::getArgName(main, inputs - 2, ir::kInputAttr), "session");
  EXPECT_EQ(ir::getArgName(main, inputs - 1, ir::kInputAttr), "query_session");
  llvm::SmallVector<size_t> tables;
  main.walk([&](ir::GatherSumOp gather) {
    tables.push_back(gather.getTables().size());
  });
  EXPECT_EQ(tables, (llvm::SmallVector<size_t>{4, 3}));
  mlir::func::FuncOp prepare = ir::getPrepare(**module);
  bool found = false;
  for (unsigned i = 0; i < prepare.getNumArguments(); ++i)
    if (ir::getArgName(prepare, i, ir::kWeightAttr) == "session_emb.weight") {
      found = true;
      EXPECT_EQ(
          llvm::cast<ir::Tensor>(prepare.getArgumentTypes()[i]).getShape(),
          llvm::ArrayRef<int64_t>({3, model.config.dim}));
    }
  EXPECT_TRUE(found);
}

TEST(Decoder, CarriesMetadata) {
  auto context = ir::makeContext();
  auto module = buildDecoder(*context, small(), {"behavior"});
  ASSERT_TRUE(module.isOk()) << module.status().message();
  auto metadata =
      (**module)->getAttrOfType<mlir::DictionaryAttr>(ir::kMetadataAttr);
  ASSERT_TRUE(metadata);
  auto text = [&](const char *key) {
    auto value = metadata.getAs<mlir::StringAttr>(key);
    return value ? value.getValue().str() : std::string();
  };
  EXPECT_EQ(text("outputs"), "[\"x\",\"y\"]");
  auto config = parseJson(text("config"));
  ASSERT_TRUE(config.isOk()) << config.status().message();
  EXPECT_EQ((*config)["dim"], 8);
  EXPECT_EQ((*config)["time"], "table");
}

} // namespace
} // namespace betz
