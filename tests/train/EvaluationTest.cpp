// A decoder that is known: its scores are, too.
#include "runtime/base/File.h"
#include "tests/train/SmallRecordings.h"
#include "train/data/Respike.h"
#include "train/report/Html.h"

#include <gmock/gmock.h>
#include <map>
#include <random>

using namespace betz;
using namespace betz::test;
using namespace betz::train;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

namespace {

/// Velocity as a linear function of the spikes in the window's last bin: what
/// unit u adds is weights[u].
class LastBin : public Decoder {
public:
  explicit LastBin(std::vector<double> weights) : weights(std::move(weights)) {}

  Result<Table> predict(const Dataset &dataset, Split split) const override {
    std::span<const Sample> samples = dataset.samples(split);
    Table table(int64_t(samples.size()), 2);
    for (int64_t row = 0; row < table.rows; ++row) {
      const SampleEvents from = dataset.events(samples[size_t(row)]);
      for (size_t i = 0; i < from.events.bin.size(); ++i)
        if (from.events.bin[i] - from.firstBin ==
            dataset.spec().historyBins - 1)
          table.at(row, from.events.neuron[i] % 2) +=
              weights[size_t(from.events.neuron[i])] *
              double(from.events.value[i]);
    }
    return table;
  }

private:
  std::vector<double> weights;
};

/// The behaviour plus errors of a known size, whatever the spikes are.
class Oracle : public Decoder {
public:
  explicit Oracle(double error) : error(error) {}
  Result<Table> predict(const Dataset &dataset, Split split) const override {
    Table table = behaviorOf(dataset, split);
    for (size_t i = 0; i < table.values.size(); ++i)
      table.values[i] += (i / 2) % 2 == 0 ? error : -error;
    return table;
  }

private:
  double error;
};

constexpr int64_t kUnits = 8;

/// Random spikes whose counts decide the velocity of their bin exactly: 10 for
/// each spike of an even unit along x, of an odd one along y.
SmallRecording makeLinear(int64_t trials, uint32_t seed) {
  SmallRecording out = makeTrials(trials, kUnits, seed);
  std::mt19937 random(seed);
  for (std::vector<double> &list : out.spikes)
    list.clear();
  for (size_t row = 0; row < out.time.size(); ++row) {
    double *v = &out.velocity[2 * row];
    v[0] = v[1] = 0;
    for (int64_t unit = 0; unit < kUnits; ++unit)
      for (uint32_t i = random() % 3; i > 0; --i) {
        out.spikes[size_t(unit)].push_back(out.time[row] + 0.001 * double(i));
        v[unit % 2] += 10;
      }
  }
  for (std::vector<double> &list : out.spikes)
    std::sort(list.begin(), list.end());
  return out;
}

class EvaluationOf : public testing::Test {
protected:
  Evaluation evaluateOn(const SmallRecording &made, const Decoder &decoder,
                        EvaluationOptions options = {}) {
    dataset.emplace(openDataset({made.write(folder / "a.nwb")}));
    Result<Baselines> baselines = fitBaselines(*dataset);
    EXPECT_TRUE(baselines.isOk()) << baselines.status().message();
    Result<ProtocolReport> protocol = describeProtocol(*dataset, &*baselines);
    EXPECT_TRUE(protocol.isOk()) << protocol.status().message();
    Result<Evaluation> out =
        evaluate(*dataset, *baselines, *protocol,
                 {{"this decoder", &decoder, &*dataset}}, options);
    EXPECT_TRUE(out.isOk()) << out.status().message();
    return std::move(*out);
  }

  TemporaryFolder folder;
  std::optional<Dataset> dataset;
};

double r2(const Evaluation &evaluation, const std::string &name,
          size_t scope = 0) {
  const Predictor *found = evaluation.find(name);
  EXPECT_NE(found, nullptr) << name;
  return found->scores[scope].score.meanR2();
}

} // namespace

TEST_F(EvaluationOf, ALinearDecoderOfLinearSpikesIsPerfect) {
  const Evaluation evaluation =
      evaluateOn(makeLinear(40, 71), LastBin(std::vector<double>(kUnits, 10)));
  EXPECT_NEAR(r2(evaluation, "this decoder"), 1, 1e-9);
  EXPECT_NEAR(evaluation.judged().scores[0].interval.low, 1, 1e-9);
  // Spikes of another time say nothing: as much error as the targets vary, and
  // as much again from the predictions' own variance.
  EXPECT_NEAR(r2(evaluation, "spikes rotated"), -1, 0.2);
  EXPECT_GT(r2(evaluation, "ridge"), 0.95);
  EXPECT_LT(r2(evaluation, "ridge, rotated"), 0);
  EXPECT_LT(r2(evaluation, "clock only"), 0.05);
  EXPECT_NEAR(r2(evaluation, "mean"), 0, 0.03);
  // Counts have mean 4 and variance 8/3 by 100: zero is off by the mean.
  EXPECT_NEAR(r2(evaluation, "zero"), -1600 / (800 / 3.0), 0.6);
}

TEST_F(EvaluationOf, SilentUnitsCostTheirShare) {
  const Evaluation evaluation =
      evaluateOn(makeLinear(40, 72), LastBin(std::vector<double>(kUnits, 10)));
  std::vector<int64_t> units;
  for (const UnitCount &count : evaluation.byUnits)
    units.push_back(count.units);
  EXPECT_THAT(units, ElementsAre(1, 2, 4, 6, 8));
  EXPECT_EQ(evaluation.byUnits[0].r2.size(), 3u);
  EXPECT_THAT(evaluation.byUnits.back().r2,
              ElementsAre(r2(evaluation, "this decoder")));
  auto mean = [&](size_t i) {
    double sum = 0;
    for (double value : evaluation.byUnits[i].r2)
      sum += value / 3;
    return sum;
  };
  EXPECT_LT(mean(0), mean(2));
  EXPECT_LT(mean(2), mean(3));
  EXPECT_LT(mean(3), 1);
}

TEST_F(EvaluationOf, KnownErrorsGiveKnownScores) {
  const Evaluation evaluation = evaluateOn(makeTrials(40, 6, 73), Oracle(5));
  const Score &all = evaluation.judged().scores[0].score;
  EXPECT_NEAR(all.meanMse(), 25, 1e-6);
  double variance = 0;
  for (int64_t row = 0; row < evaluation.targets.rows; ++row)
    variance += std::pow(evaluation.targets.at(row, 0), 2);
  double mean = 0;
  for (int64_t row = 0; row < evaluation.targets.rows; ++row)
    mean += evaluation.targets.at(row, 0) / double(evaluation.targets.rows);
  variance = variance / double(evaluation.targets.rows) - mean * mean;
  EXPECT_NEAR(all.r2[0], 1 - 25 / variance, 1e-6);
  // It does not look at spikes, so turning them changes nothing: a leak, and
  // the first note says so.
  EXPECT_EQ(r2(evaluation, "spikes rotated"), r2(evaluation, "this decoder"));
  EXPECT_THAT(evaluation.notes[0], HasSubstr("Find it before"));
}

TEST_F(EvaluationOf, ScopesAreTheirBins) {
  const Evaluation evaluation = evaluateOn(makeTrials(40, 6, 74), Oracle(1));
  std::map<std::string, int64_t> bins;
  for (size_t i = 0; i < evaluation.scopes.size(); ++i)
    bins[evaluation.scopes[i].name] = evaluation.judged().scores[i].score.rows;
  const int64_t trials = evaluation.group.back() + 1;
  EXPECT_EQ(trials, 8);
  EXPECT_EQ(bins["all bins"], evaluation.targets.rows);
  EXPECT_EQ(bins["whole windows"], bins["all bins"] - 14 * trials);
  EXPECT_EQ(bins["first third"] + bins["middle third"] + bins["last third"],
            bins["all bins"]);
  EXPECT_LT(bins["moving"], bins["all bins"]);
  EXPECT_EQ(evaluation.phases, 3u);
  // Trials have 20 bins of 20 ms or more: 600 ms of each, or less.
  EXPECT_LE(bins["trial starts"], 30 * trials);
  EXPECT_GE(bins["trial starts"], 20 * trials);
  ASSERT_TRUE(evaluation.nlb);
  EXPECT_EQ(evaluation.nlb->dataset, "mc_rtt");
  EXPECT_EQ(evaluation.nlb->lagMs, 140);
  EXPECT_GT(evaluation.nlb->decoderR2, 0.95);
}

TEST_F(EvaluationOf, ReportHasTheSameNumbers) {
  const Evaluation evaluation =
      evaluateOn(makeLinear(20, 75), LastBin(std::vector<double>(kUnits, 10)),
                 {.unitDraws = 1, .nlb = ""});
  const Json json = toJson(evaluation);
  EXPECT_EQ(json["test_r2"], r2(evaluation, "this decoder"));
  EXPECT_EQ(json["test_rotated_r2"], r2(evaluation, "spikes rotated"));
  EXPECT_EQ(json["baselines"]["ridge"], r2(evaluation, "ridge"));
  EXPECT_EQ(json["scopes"]["moving"]["scores"]["ridge"]["r2"],
            r2(evaluation, "ridge", 1));
  EXPECT_EQ(json["by_units"].size(), evaluation.byUnits.size());
  const std::string html = toHtml(evaluation, {"a<b>.betz", {}});
  EXPECT_THAT(html, HasSubstr("a&lt;b&gt;.betz"));
  EXPECT_THAT(html, HasSubstr("1.000"));
  EXPECT_THAT(html, Not(HasSubstr("<script")));
  EXPECT_THAT(html, Not(HasSubstr("http")));
  EXPECT_THAT(html, Not(HasSubstr("nan")));
}

TEST_F(EvaluationOf, AnotherSplitNamesItsKeys) {
  const Evaluation evaluation =
      evaluateOn(makeTrials(20, 6, 76), Oracle(1),
                 {.split = Split::Val, .unitDraws = 0, .nlb = ""});
  const Json json = toJson(evaluation);
  EXPECT_TRUE(json.contains("val_r2"));
  EXPECT_FALSE(json.contains("test_r2"));
  EXPECT_EQ(json["by_units"].size(), 0u);
  EXPECT_EQ(evaluation.targets.rows,
            int64_t(dataset->samples(Split::Val).size()));
}

TEST_F(EvaluationOf, SessionsOfOtherScalesWeighAlike) {
  SmallRecording small = makeTrials(20, 6, 79);
  for (double &value : small.velocity)
    value *= 1e-4;
  dataset.emplace(openDataset({makeTrials(20, 6, 78).write(folder / "a.nwb"),
                               small.write(folder / "b.nwb")}));
  Result<Baselines> baselines = fitBaselines(*dataset);
  ASSERT_TRUE(baselines.isOk());
  Result<ProtocolReport> protocol = describeProtocol(*dataset, &*baselines);
  ASSERT_TRUE(protocol.isOk());
  // Exact on the large session, useless on the small one.
  const Oracle oracle(1e-2);
  Result<Evaluation> out = evaluate(
      *dataset, *baselines, *protocol, {{"this decoder", &oracle, &*dataset}},
      {.split = Split::Test, .unitDraws = 0, .nlb = ""});
  ASSERT_TRUE(out.isOk()) << out.status().message();
  EXPECT_EQ(out->unit, "deviations");
  EXPECT_GT(out->bySession[0][0], 0.999);
  EXPECT_LT(out->bySession[0][1], 0);
  EXPECT_LT(r2(*out, "this decoder"), 0);
  EXPECT_FALSE(out->nlb);
}

TEST_F(EvaluationOf, UnknownNlbWindowIsAnError) {
  dataset.emplace(openDataset({makeTrials(20, 6, 77).write(folder / "a.nwb")}));
  Result<Baselines> baselines = fitBaselines(*dataset);
  ASSERT_TRUE(baselines.isOk());
  const Oracle oracle(1);
  EXPECT_THAT(evaluate(*dataset, *baselines, {}, {{"o", &oracle, &*dataset}},
                       {.split = Split::Test, .unitDraws = 0, .nlb = "mc_mase"})
                  .status()
                  .message(),
              HasSubstr("mc_mase: no window of NLB'21"));
}

TEST(Respike, RotationKeepsSpikesInTheSplit) {
  TemporaryFolder folder;
  const Dataset dataset =
      openDataset({makeTrials(20, 6, 78).write(folder / "a.nwb")});
  Result<std::vector<Units>> units = readUnits(dataset);
  ASSERT_TRUE(units.isOk());
  const train::Session &session = dataset.session(0);
  const int64_t bins = binsOf(session, Split::Test);
  EXPECT_EQ(bins, int64_t(dataset.samples(Split::Test).size()));
  auto countsOf = [&](const Units &of) {
    const Units one[] = {of};
    const Dataset changed = dataset.withUnits(one, Split::Test);
    std::vector<int64_t> counts;
    for (const Sample &sample : changed.samples(Split::Test)) {
      const SampleEvents from = changed.events(sample);
      int64_t count = 0;
      for (size_t i = 0; i < from.events.bin.size(); ++i)
        if (from.events.bin[i] - from.firstBin == 14)
          count += (from.events.neuron[i] + 1) * from.events.value[i];
      counts.push_back(count);
    }
    return counts;
  };
  std::vector<int64_t> before = countsOf((*units)[0]);
  const std::vector<int64_t> after =
      countsOf(rotateSpikes(session, (*units)[0], Split::Test, 20, bins / 3));
  std::rotate(before.begin(), before.end() - bins / 3, before.end());
  EXPECT_EQ(after, before);
  const Units silent =
      silenceUnits((*units)[0], {true, true, false, true, true, true});
  EXPECT_EQ(int64_t(silent.spikeTimes.size()),
            int64_t((*units)[0].spikes(2).size()));
}
