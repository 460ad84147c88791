#include "train/loop/DecoderFile.h"
#include "runtime/io/Safetensors.h"
#include "tests/train/SmallRecordings.h"
#include "train/loop/SpikeScorer.h"

#include <cstring>
#include <gmock/gmock.h>

using namespace betz;
using namespace betz::test;
using namespace betz::train;
using testing::ElementsAre;

namespace {

std::vector<float> read(const SafetensorsFile &file, const char *name) {
  const SafeTensor *tensor = file.find(name);
  std::vector<float> values(tensor ? tensor->bytes.size() / sizeof(float) : 0);
  if (tensor)
    std::memcpy(values.data(), tensor->bytes.data(), tensor->bytes.size());
  return values;
}

} // namespace

TEST(DecoderFile, UnitsTakeTheRowOfTheirSession) {
  TemporaryFolder folder;
  Dataset dataset = openDataset({makeTrials(10, 1, 3).write(folder / "a.nwb"),
                                 makeTrials(10, 2, 4).write(folder / "b.nwb")});
  const std::vector<Parameter> parameters = {
      {"neuron_emb.weight", {3, 2}, 0, false},
      {"latents", {1, 2}, 0, true},
      {"session_emb.weight", {2, 2}, 64, false}};
  std::vector<float> trained(128), frozen(64);
  std::ranges::copy(std::vector<float>{1, 2, 3, 4, 5, 6}, trained.begin());
  std::ranges::copy(std::vector<float>{10, 20, 30, 40}, trained.begin() + 64);
  frozen[0] = 7, frozen[1] = 8;
  const auto path = folder / "decoder.safetensors";
  ASSERT_TRUE(
      writeDecoder(parameters, trained, frozen, dataset, {{"dim", "2"}}, path)
          .isOk());
  Result<SafetensorsFile> file = SafetensorsFile::open(path);
  ASSERT_TRUE(file.isOk()) << file.status().message();
  EXPECT_EQ(file->tensors().size(), 2u);
  EXPECT_THAT(read(*file, "neuron_emb.weight"),
              ElementsAre(11, 22, 33, 44, 35, 46));
  EXPECT_THAT(read(*file, "latents"), ElementsAre(7, 8));
  EXPECT_EQ(file->metadata().at("dim"), "2");
}

TEST(SpikeScorer, LogLikelihoodIsOfLabelledPlaces) {
  // Softmax of (0, ln 3) is (1/4, 3/4); a label of -1 is no place.
  const float ln3 = std::log(3.0f);
  const std::vector<float> logits = {0, ln3, 0, ln3, 1000, 0};
  EXPECT_NEAR(sumLogLikelihood(logits, 2, std::vector<int32_t>{1, 0, -1}),
              std::log(0.75) + std::log(0.25), 1e-6);
  EXPECT_NEAR(sumLogLikelihood(logits, 2, std::vector<int32_t>{-1, -1, 1}),
              -1000, 1e-6);
}
