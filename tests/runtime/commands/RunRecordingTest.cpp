// `run --nwb` on a synthesized session, with a "decoder" that counts: each
// window's output is its number of events and the sum of their values.
#include "runtime/io/Synth.h"
#include "runtime/io/Windows.h"
#include "runtime/program/Program.h"
#include "tests/runtime/commands/CommandFixture.h"

#include <cmath>
#include <random>
#include <sstream>

namespace betz {
namespace {

constexpr int64_t kUnits = 7;

Program makeCounter(int64_t maxEvents) {
  Program program;
  program.symbols = {"batch", "events"};
  const Dim batch = {0, 1, 0}, events = {1, 1, 0};
  program.inputs = {{{"neuron_id", DType::I32, {events}}, "", {}},
                    {{"time_bin", DType::I32, {events}}, "", {}},
                    {{"value", DType::I32, {events}}, "", {}},
                    {{"row_splits", DType::I32, {{0, 1, 1}}}, "offsets", {}},
                    {{"window_start", DType::I32, {batch}}, "", 0}};
  program.outputs = {{"behavior", DType::F32, {batch, Dim::constant(2)}}};
  program.splitsChecks = {{3, 1, maxEvents}};
  program.indexChecks = {{0, kUnits, {}, {}}, {1, 15, 4, 3}, {2, 8, {}, {}}};
  program.metadata = {
      {"config", R"({"bin_ms": 20.0, "window_bins": 15, "value_buckets": 8,
                     "max_neurons": 7})"},
      {"stride_bins", "3"},
      {"outputs", R"(["vx", "vy"])"},
      {"target_mean", "[100, -5]"},
      {"target_std", "[2, 0.5]"}};
  auto code = MappedFile::open(BETZ_TEST_KERNELS);
  program.file = std::make_shared<const MappedFile>(std::move(code).value());
  TargetVariant target;
  target.target = "cpu";
  target.kernels.resize(1);
  target.kernels[0].name = target.kernels[0].code = "count_window";
  target.kernels[0].tasks.terms = {{batch, 1}};
  LaunchPlan plan;
  plan.capacity = {1, maxEvents};
  plan.launches = {{0,
                    {{BufferKind::Input, 2, 0},
                     {BufferKind::Input, 3, 0},
                     {BufferKind::Output, 0, 0}}}};
  target.plans = {plan};
  target.executables = {{"scalar", {"code", program.file->bytes()}}};
  program.targets = {target};
  return program;
}

class RunRecording : public CommandTest {
protected:
  void SetUp() override {
    CommandTest::SetUp();
    SynthSpec spec;
    spec.seed = std::random_device{}();
    spec.trials = 6;
    spec.units = kUnits;
    Status made = synthesizeSession(spec, path("s.nwb"));
    ASSERT_TRUE(made.isOk()) << made.message();
    ASSERT_TRUE(writeProgram(makeCounter(4096), path("m.betz")).isOk());
  }
};

TEST_F(RunRecording, EveryWindowIsARow) {
  Outcome outcome = run({"run", path("m.betz"), "--nwb", path("s.nwb"), "--csv",
                         path("o.csv"), "--json", path("r")});
  ASSERT_EQ(outcome.exitCode, 0) << outcome.err;

  auto recording = Recording::open(path("s.nwb"));
  ASSERT_TRUE(recording.isOk());
  auto info = recording->chooseSeries("");
  ASSERT_TRUE(info.isOk());
  auto series = loadSeries(**info);
  ASSERT_TRUE(series.isOk());
  auto segments = findSegments(*recording, &*series);
  auto neurons = assignNeurons(recording->units, nullptr, kUnits, true);
  auto index = WindowIndex::build(segments->segments, {20, 15, 3, 8, false});
  ASSERT_TRUE(index.isOk());
  WindowReader reader(*index, recording->units, neurons->neuronOfRow, &*series);

  auto text = readTextFile(path("o.csv"));
  ASSERT_TRUE(text.isOk());
  std::istringstream lines(*text);
  std::string line;
  std::getline(lines, line);
  EXPECT_EQ(line, "time_s,vx,vy,target_vx,target_vy");
  WindowBatch batch;
  double error = 0, sum = 0, squares = 0;
  for (int64_t i = 0; i < index->size(); ++i) {
    ASSERT_TRUE(std::getline(lines, line));
    ASSERT_TRUE(reader.read({&i, 1}, batch).isOk());
    double time, x, y, targetX, targetY;
    ASSERT_EQ(std::sscanf(line.c_str(), "%lf,%lf,%lf,%lf,%lf", &time, &x, &y,
                          &targetX, &targetY),
              5)
        << line;
    double total = 0;
    for (int32_t value : batch.value)
      total += value;
    EXPECT_NEAR(time, index->at(i).stop, 1e-6);
    EXPECT_EQ(x, 100 + 2 * double(batch.value.size()));
    EXPECT_EQ(y, -5 + 0.5 * total);
    EXPECT_NEAR(targetX, batch.target[0], 1e-6 * std::abs(targetX) + 1e-9);
    error += (x - batch.target[0]) * (x - batch.target[0]);
    sum += batch.target[0];
    squares += double(batch.target[0]) * batch.target[0];
  }
  EXPECT_FALSE(std::getline(lines, line));

  Json report = readReport("r");
  EXPECT_EQ(report["windows"], index->size());
  EXPECT_GT(report["p99_us"].get<double>(), 0);
  double deviation = squares - sum * sum / double(index->size());
  EXPECT_NEAR(report["scores"]["all"]["r2"]["vx"].get<double>(),
              1 - error / deviation, 1e-6 * error / deviation);
  EXPECT_TRUE(report["scores"].contains("train"));
}

TEST_F(RunRecording, TooManyEventsNameTheWindow) {
  ASSERT_TRUE(writeProgram(makeCounter(2), path("small.betz")).isOk());
  Outcome outcome = run({"run", path("small.betz"), "--nwb", path("s.nwb"),
                         "--csv", path("o.csv")});
  EXPECT_EQ(outcome.exitCode, 2);
  EXPECT_NE(outcome.err.find("s.nwb: window "), std::string::npos);
  EXPECT_NE(outcome.err.find("the program takes at most 2 (compile with a "
                             "larger --max-events)"),
            std::string::npos)
      << outcome.err;
  EXPECT_FALSE(std::filesystem::exists(path("o.csv")));
}

TEST_F(RunRecording, UnknownUnitsWarnOrFail) {
  Program program = makeCounter(4096);
  program.metadata["units"] = R"({"1000000": 0})";
  ASSERT_TRUE(writeProgram(program, path("u.betz")).isOk());
  Outcome outcome = run({"run", path("u.betz"), "--nwb", path("s.nwb")});
  EXPECT_EQ(outcome.exitCode, 0) << outcome.err;
  EXPECT_NE(outcome.err.find("warning: [run]"), std::string::npos);
  EXPECT_NE(outcome.out.find("0 of 7 units"), std::string::npos);
  outcome = run({"run", path("u.betz"), "--nwb", path("s.nwb"), "--strict"});
  EXPECT_EQ(outcome.exitCode, 2);
}

TEST_F(RunRecording, ProgramsThatDecodeNothingAreErrors) {
  Program program = makeCounter(4096);
  program.outputs[0].name = "logits";
  ASSERT_TRUE(writeProgram(program, path("l.betz")).isOk());
  Outcome outcome = run({"run", path("l.betz"), "--nwb", path("s.nwb")});
  EXPECT_EQ(outcome.exitCode, 2);
  EXPECT_NE(outcome.err.find("no output behavior"), std::string::npos);
  outcome = run({"run", path("m.betz"), "--nwb", path("s.nwb"), "--series",
                 "no_such_series"});
  EXPECT_EQ(outcome.exitCode, 2);
  EXPECT_NE(outcome.err.find("no_such_series"), std::string::npos);
}

} // namespace
} // namespace betz
