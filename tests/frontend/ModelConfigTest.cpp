//===- ModelConfigTest.cpp - Descriptions of models, good and bad ---------===//
#include "frontend/ModelConfig.h"
#include "runtime/base/File.h"
#include "tests/runtime/io/TestFiles.h"

#include <gtest/gtest.h>

namespace betz {
namespace {

const std::string kSizes = "dim = 8\nlayers = 1\nheads = 2\nlatents = 3\n";

class ModelTomlTest : public testing::Test {
protected:
  Result<ModelDescription> read(const std::string &text) {
    Status written = writeFileAtomically(path, text);
    EXPECT_TRUE(written.isOk()) << written.message();
    return readModelToml(path);
  }
  /// The message without the file's name before it.
  std::string message(const std::string &text) {
    Status status = read(text).status();
    std::string prefix = path.string();
    EXPECT_TRUE(status.message().starts_with(prefix)) << status.message();
    return status.message().substr(
        std::min(prefix.size(), status.message().size()));
  }

  test::TemporaryFolder folder;
  std::filesystem::path path = folder / "model.toml";
};

TEST_F(ModelTomlTest, ReadsEveryKeyAndKeepsTheDefaults) {
  auto model = read(kSizes + "norm = \"rmsnorm\"\nbin_ms = 20\n"
                             "reach_bins = 2.5\noutputs = [\"x\", \"y\"]\n"
                             "units = {1011 = 3, 1061 = 4}\n");
  ASSERT_TRUE(model.isOk()) << model.status().message();
  ModelConfig expected;
  expected.dim = 8;
  expected.layers = 1;
  expected.heads = 2;
  expected.latents = 3;
  expected.norm = "rmsnorm";
  expected.binMs = 20;
  expected.reachBins = 2.5;
  EXPECT_TRUE(model->config == expected);
  EXPECT_EQ(model->metadata.at("outputs"), "[\"x\",\"y\"]");
  EXPECT_EQ(model->metadata.at("units"), "{\"1011\":3,\"1061\":4}");
}

TEST_F(ModelTomlTest, SaysWhatIsWrongAndWhere) {
  EXPECT_EQ(message(kSizes + "latent = 3\n"),
            ":5: unknown key \"latent\"; did you mean \"latents\"?");
  EXPECT_EQ(message(kSizes + "frobnication = 3\n"),
            ":5: unknown key \"frobnication\"");
  EXPECT_EQ(message(kSizes + "mlp_ratio = 4.0\n"),
            ":5: mlp_ratio must be an integer");
  EXPECT_EQ(message(kSizes + "eps = \"small\"\n"), ":5: eps must be a number");
  EXPECT_EQ(message(kSizes + "norm = 1\n"), ":5: norm must be text");
  EXPECT_EQ(message("dim = 8\nheads = 2\n"), ": missing: layers, latents");
  EXPECT_TRUE(message("dim = \n").starts_with(":1: not valid TOML: "));
  EXPECT_EQ(message(kSizes + "outputs = [\"x\"]\n"),
            ": outputs has 1 elements, behavior_dim is 2");
  EXPECT_EQ(message(kSizes + "target_mean = 3.0\n"),
            ": target_mean must be an array of numbers");
}

TEST_F(ModelTomlTest, RejectsImpossibleValues) {
  auto with = [&](const std::string &line) { return message(kSizes + line); };
  EXPECT_EQ(message("dim = 9\nlayers = 1\nheads = 2\nlatents = 3\n"),
            ": heads = 2 must divide dim = 9");
  EXPECT_EQ(message("dim = 6\nlayers = 1\nheads = 2\nlatents = 3\n"
                    "time = \"rotary\"\n"),
            ": time = \"rotary\" needs an even dim / heads, not 3");
  EXPECT_EQ(message("dim = 0\nlayers = 1\nheads = 2\nlatents = 3\n"),
            ": dim = 0: must be from 1 to 1048576");
  EXPECT_EQ(with("max_neurons = -1\n"),
            ": max_neurons = -1: must be from 1 to 1048576");
  EXPECT_EQ(with("mlp_ratio = 1000000\n"),
            ": dim * mlp_ratio = 8000000: must be at most 1048576");
  EXPECT_EQ(with("value_buckets = 1\n"),
            ": value_buckets = 1: must be 2 or more");
  EXPECT_EQ(with("norm = \"batchnorm\"\n"),
            ": norm = \"batchnorm\": must be \"layernorm\" or \"rmsnorm\"");
  EXPECT_EQ(with("time = \"sine\"\n"),
            ": time = \"sine\": must be \"table\" or \"rotary\"");
  EXPECT_EQ(with("window_bins = 2000\n"),
            ": window_bins = 2000 exceeds max_time_bins = 1024");
  EXPECT_EQ(with("eps = 0.0\n"), ": eps = 0: must be above zero");
  EXPECT_EQ(with("bin_ms = nan\n"), ": bin_ms = nan: must be above zero");
  EXPECT_EQ(with("period_max_ms = inf\n"),
            ": period_max_ms = inf: must be above zero");
  EXPECT_EQ(with("reach_bins = -1.0\n"),
            ": reach_bins = -1: must be zero (off) or above");
}

TEST_F(ModelTomlTest, AbsentFile) {
  auto model = readModelToml(folder / "nothing.toml");
  ASSERT_FALSE(model.isOk());
  EXPECT_NE(model.status().message().find("nothing.toml"), std::string::npos);
}

const std::map<std::string, std::string> kMetadata = {
    {"dim", "8"},        {"layers", "1"},      {"heads", "2"},
    {"latents", "3"},    {"eps", "1e-05"},     {"bin_ms", "20"},
    {"norm", "rmsnorm"}, {"format", "pytorch"}};

TEST(ModelMetadata, ReadsPythonsNumbersAndLeavesOtherKeysAlone) {
  auto metadata = kMetadata;
  metadata["outputs"] = "[\"x\",  \"y\"]";
  metadata["output_units"] = "mm/s"; // not JSON: taken as text
  auto model = readModelMetadata(metadata, "w.safetensors");
  ASSERT_TRUE(model.isOk()) << model.status().message();
  EXPECT_EQ(model->config.eps, 1e-5);
  EXPECT_EQ(model->config.binMs, 20);
  EXPECT_EQ(model->config.norm, "rmsnorm");
  EXPECT_EQ(model->metadata.at("outputs"), "[\"x\",\"y\"]");
  EXPECT_EQ(model->metadata.at("output_units"), "\"mm/s\"");
  EXPECT_FALSE(model->metadata.count("format"));
}

TEST(ModelMetadata, SaysWhatIsWrong) {
  auto message = [](const std::string &key, const std::string &value) {
    auto metadata = kMetadata;
    metadata[key] = value;
    return readModelMetadata(metadata, "w").status().message();
  };
  EXPECT_EQ(message("dim", "8x"), "w: metadata: dim = \"8x\" is not a number");
  EXPECT_EQ(message("dim", ""), "w: metadata: dim = \"\" is not a number");
  EXPECT_EQ(message("heads", "3"),
            "w: metadata: heads = 3 must divide dim = 8");
  auto nothing = readModelMetadata({{"format", "pt"}}, "w");
  ASSERT_FALSE(nothing.isOk());
  EXPECT_EQ(nothing.status().getCode(), StatusCode::NotFound);
}

TEST(ModelMetadata, AgreementIsAboutWhatBothGive) {
  auto first = readModelMetadata(kMetadata, "a");
  auto metadata = kMetadata;
  metadata["stride_bins"] = "3"; // says nothing about the weights
  auto second = readModelMetadata(metadata, "b");
  ASSERT_TRUE(first.isOk() && second.isOk());
  EXPECT_TRUE(checkAgreement(*first, "a", *second, "b").isOk());
  metadata["latents"] = "4";
  metadata["norm"] = "layernorm";
  auto third = readModelMetadata(metadata, "b");
  ASSERT_TRUE(third.isOk());
  EXPECT_EQ(checkAgreement(*first, "a", *third, "b").message(),
            "a and b describe different models: latents 3 against 4, norm "
            "\"rmsnorm\" against \"layernorm\"; leave the model file out to "
            "use the weights' own configuration");
}

} // namespace
} // namespace betz
