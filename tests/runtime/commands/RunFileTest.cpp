#include "runtime/io/HostTensor.h"
#include "tests/runtime/commands/CommandFixture.h"
#include "tests/runtime/session/SegmentSumProgram.h"

#include <cmath>

namespace betz {
namespace {

template <typename T>
HostTensor makeTensor(std::string name, DType dtype, std::vector<int64_t> shape,
                      const std::vector<T> &values) {
  HostTensor tensor = {std::move(name), dtype, std::move(shape), {}};
  auto bytes = std::as_bytes(std::span(values));
  tensor.data.assign(bytes.begin(), bytes.end());
  return tensor;
}

class RunFile : public CommandTest {
protected:
  void SetUp() override {
    CommandTest::SetUp();
    auto program = makeSegmentSumProgram(table, bias);
    ASSERT_TRUE(writeProgram(*program, path("m.betz")).isOk());
    // More than the largest bucket holds.
    writeCase({3, 0, 16, 9, 1, 12, 16, 4, 2}, "c");
  }

  void writeCase(const std::vector<int> &lengths, std::string_view name) {
    batch.emplace(lengths, table, bias, random);
    tensors = {
        makeTensor("id", DType::I32, batch->eventShape, batch->id),
        makeTensor("time", DType::I32, batch->eventShape, batch->time),
        makeTensor("offsets", DType::I32, batch->splitsShape, batch->rowSplits),
        makeTensor("window_start", DType::I32, batch->batchShape,
                   batch->windowStart),
        makeTensor("out", DType::F64, batch->outShape,
                   std::vector<double>(batch->expected.begin(),
                                       batch->expected.end()))};
    write(name);
  }
  void write(std::string_view name) {
    std::vector<SafeTensor> views;
    for (const HostTensor &tensor : tensors)
      views.push_back(toSafe(tensor));
    ASSERT_TRUE(writeSafetensors(path(name), views, {}).isOk());
  }
  Outcome runWith(std::string_view expect, std::string tolerance = "2e-5") {
    return run({"run", path("m.betz"), "--input", path("c"), "--expect",
                path(expect), "--tol", tolerance, "--json", path("r")});
  }

  std::mt19937 random{std::random_device{}()};
  const std::vector<float> table = randomFloats(kIds * kColumns, random);
  const std::vector<float> bias = randomFloats(kColumns, random);
  std::optional<SegmentSumBatch> batch;
  std::vector<HostTensor> tensors;
};

TEST_F(RunFile, MatchingValuesExitZero) {
  Outcome outcome = runWith("c");
  EXPECT_EQ(outcome.exitCode, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("out: ok, 27 values"), std::string::npos);
  Json report = readReport("r");
  EXPECT_EQ(report["compared"][0]["ok"], true);
  EXPECT_EQ(report["outputs"]["out"], Json({9, 3}));
}

TEST_F(RunFile, WrongValueIsNamed) {
  // The largest magnitude sets the scale of the tolerance.
  std::span<double> expected = tensors[4].as<double>();
  expected[0] = 1000;
  write("scale");
  double right = expected[14];
  expected[14] = right + 100;
  EXPECT_EQ(runWith("scale", "10").exitCode, 0);
  write("wrong");
  Outcome outcome = runWith("wrong");
  EXPECT_EQ(outcome.exitCode, 1);
  EXPECT_NE(outcome.err.find("out[0, 0]"), std::string::npos) << outcome.err;
  expected[0] = batch->expected[0];
  write("wrong");
  outcome = runWith("wrong");
  EXPECT_EQ(outcome.exitCode, 1);
  EXPECT_NE(outcome.err.find(fmt::format("out[4, 2]: is {:.9g}, expected "
                                         "{:.9g}",
                                         right, right + 100)),
            std::string::npos)
      << outcome.err;
  EXPECT_EQ(readReport("r")["compared"][0]["ok"], false);
}

TEST_F(RunFile, NaNIsNeverEqual) {
  tensors[4].as<double>()[5] = NAN;
  write("nan");
  Outcome outcome = runWith("nan", "1e9");
  EXPECT_EQ(outcome.exitCode, 1);
  EXPECT_NE(outcome.err.find("out[1, 2]"), std::string::npos) << outcome.err;
}

TEST_F(RunFile, ShapesAndNamesMustMatch) {
  tensors[4].shape = {27};
  write("flat");
  Outcome outcome = runWith("flat");
  EXPECT_EQ(outcome.exitCode, 1);
  EXPECT_NE(outcome.err.find("has shape [9, 3], expected [27]"),
            std::string::npos)
      << outcome.err;
  tensors[4].name = "other";
  write("other");
  outcome = runWith("other");
  EXPECT_EQ(outcome.exitCode, 1);
  EXPECT_NE(outcome.err.find("none of the outputs"), std::string::npos);
}

TEST_F(RunFile, OutputsAreWritten) {
  Outcome outcome = run({"run", path("m.betz"), "--input", path("c"),
                         "--output", path("o"), "--threads", "3"});
  EXPECT_EQ(outcome.exitCode, 0) << outcome.err;
  EXPECT_EQ(outcome.out, "out: f32 [9, 3]\n");
  auto file = SafetensorsFile::open(path("o"));
  ASSERT_TRUE(file.isOk()) << file.status().message();
  auto out = toHost(*file->find("out"));
  ASSERT_TRUE(out.isOk());
  EXPECT_TRUE(std::ranges::equal(out->as<float>(), batch->expected));
}

TEST_F(RunFile, EmptyBatchesRun) {
  for (const std::vector<int> &lengths :
       {std::vector<int>{}, {0}, {0, 0, 0, 0, 0, 0, 0}}) {
    writeCase(lengths, "c");
    Outcome outcome = runWith("c");
    EXPECT_EQ(outcome.exitCode, 0) << outcome.err;
  }
}

TEST_F(RunFile, MissingInputsAreListed) {
  tensors.erase(tensors.begin() + 1, tensors.begin() + 3);
  write("less");
  Outcome outcome = run({"run", path("m.betz"), "--input", path("less")});
  EXPECT_EQ(outcome.exitCode, 2);
  EXPECT_EQ(outcome.err,
            fmt::format("betz-rt: error: {}: the program's inputs time, "
                        "row_splits (or offsets) are not there\n",
                        path("less")));
}

TEST_F(RunFile, WrongInputsExitTwoWithOneLine) {
  auto expectError = [&](std::vector<std::string> words,
                         std::string_view error) {
    Outcome outcome = run(std::move(words));
    EXPECT_EQ(outcome.exitCode, 2);
    EXPECT_NE(outcome.err.find(error), std::string::npos) << outcome.err;
    EXPECT_EQ(std::ranges::count(outcome.err, '\n'), 1) << outcome.err;
  };
  const std::string m = path("m.betz"), c = path("c");
  expectError({"run", m}, "give either --input FILE or --nwb FILE");
  expectError({"run", m, "--input", c, "--nwb", c}, "excludes");
  expectError({"run", m, "--input", path("absent")}, "absent: cannot open");
  expectError({"run", c, "--input", c}, "not a Betz program");
  expectError({"run", m, "--input", c, "--device", "tpu"}, "no device");
  expectError({"run", m, "--input", c, "--threads", "-3"}, "-3 threads");
  expectError({"run", m, "--input", c, "--expect", c, "--tol", "-1"}, "--tol");
  expectError({"run", m, "--nwb", c}, "no model configuration");
  tensors[0].as<int32_t>()[0] = 99;
  write("bad");
  expectError({"run", m, "--input", path("bad")},
              "bad: id[0] is 99; it must be in [0, 7) (window 0)");
}

TEST_F(RunFile, NullDeviceGivesZeros) {
  Outcome outcome =
      run({"run", path("m.betz"), "--input", path("c"), "--device", "null",
           "--output", path("o"), "--json", "-"});
  EXPECT_EQ(outcome.exitCode, 0) << outcome.err;
  EXPECT_TRUE(parseJson(outcome.out).isOk()) << outcome.out;
  auto file = SafetensorsFile::open(path("o"));
  ASSERT_TRUE(file.isOk()) << file.status().message();
  auto out = toHost(*file->find("out"));
  ASSERT_TRUE(out.isOk());
  EXPECT_EQ(std::ranges::count(out->as<float>(), 0.0f), 27);
}

TEST_F(RunFile, BenchTimesEveryKernel) {
  Outcome outcome = run({"bench", path("m.betz"), "--batch", "1,5", "--events",
                         "8", "--min-time", "0", "--json", path("r")});
  EXPECT_EQ(outcome.exitCode, 0) << outcome.err;
  Json report = readReport("r");
  ASSERT_EQ(report["steps"].size(), 2u);
  EXPECT_EQ(report["steps"][1]["extents"], Json({5, 40}));
  EXPECT_EQ(report["steps"][1]["kernels"].size(), 2u);
  EXPECT_EQ(report["steps"][0]["kernels"][1]["section"], "head");
  EXPECT_NE(outcome.out.find("add_bias"), std::string::npos);
  outcome = run({"bench", path("m.betz"), "--batch", "6"});
  EXPECT_EQ(outcome.exitCode, 2);
  EXPECT_NE(outcome.err.find("fits no bucket"), std::string::npos);
}

TEST_F(RunFile, BenchRefusesPicturesOfNothing) {
  Outcome outcome =
      run({"bench", path("m.betz"), "--steps-only", "--trace", path("t")});
  EXPECT_EQ(outcome.exitCode, 2);
  EXPECT_NE(outcome.err.find("--steps-only leaves nothing"), std::string::npos)
      << outcome.err;
  outcome = run({"bench", path("m.betz"), "--device", "null", "--roofline",
                 path("r.svg")});
  EXPECT_EQ(outcome.exitCode, 2);
  EXPECT_NE(outcome.err.find("--device cpu or cuda"), std::string::npos)
      << outcome.err;
}

} // namespace
} // namespace betz
