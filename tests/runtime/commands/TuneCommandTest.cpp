#include "codegen/common/KernelTable.h"
#include "codegen/cuda/CudaCode.h"
#include "runtime/hal/null/NullDevice.h"
#include "tests/runtime/commands/CommandFixture.h"
#include "tests/runtime/session/SegmentSumProgram.h"
#include "tools/TuneReport.h"

namespace betz {
namespace {

class TuneCommand : public CommandTest {
protected:
  void write(const Program &program) {
    ASSERT_TRUE(writeProgram(program, path("m.betz")).isOk());
  }
  std::string error(std::vector<std::string> more) {
    std::vector<std::string> words = {"tune", path("m.betz")};
    words.insert(words.end(), more.begin(), more.end());
    Outcome outcome = run(words);
    EXPECT_EQ(outcome.exitCode, 2) << outcome.out;
    return outcome.err;
  }
  const std::vector<float> table = std::vector<float>(kIds * kColumns, 1),
                           bias = std::vector<float>(kColumns, 1);
};

TEST_F(TuneCommand, NeedsAGpuAndCodeForOne) {
  write(*makeSegmentSumProgram(table, bias));
  EXPECT_NE(error({"-o", path("t")}).find("has code for cpu only"),
            std::string::npos);
  for (const char *device : {"cpu", "null", "cuda:x"})
    EXPECT_NE(error({"-o", path("t"), "--device", device})
                  .find("tune takes a GPU, cuda or cuda:N"),
              std::string::npos);
  write(*makeCudaSegmentSumProgram(table, bias));
  EXPECT_NE(error({"-o", path("t"), "--device", "cuda:99"}).find("cuda"),
            std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(path("t")));
}

TEST_F(TuneCommand, OutputsAreCheckedFirst) {
  write(*makeCudaSegmentSumProgram(table, bias));
  EXPECT_NE(error({"-o", path("missing/t")}).find("missing"),
            std::string::npos);
  EXPECT_NE(error({"-o", path("t"), "--json", path("t")}).find("two outputs"),
            std::string::npos);
  EXPECT_NE(error({"-o", path("t"), "--json", path("m.betz")}).find("m.betz"),
            std::string::npos);
  EXPECT_NE(error({"-o", "-"}).find("cannot go to standard output"),
            std::string::npos);
  EXPECT_NE(error({}).find("--output"), std::string::npos);
}

/// Copies the rows of an input, for the code of every CUDA target; with a tile
/// that the compiler does not choose.
Result<std::shared_ptr<const Program>> makeCopyProgram() {
  auto program = std::make_shared<Program>();
  program->symbols = {"batch"};
  const Dim batch = {0, 1, 0};
  program->inputs = {{{"x", DType::F32, {batch, Dim::constant(8)}}, "", {}}};
  program->outputs = {{"y", DType::F32, {batch, Dim::constant(8)}}};
  KernelSpec spec;
  spec.symbols = program->symbols;
  spec.operands.assign(2, {DType::F32, batch, 8, 8, 0});
  spec.core = IdentityCore{0};
  const cuda::Architecture &architecture =
      *cuda::findArchitecture("cuda:sm_90a");
  cuda::chooseTile(spec, architecture, std::vector<int64_t>{4});
  spec.tile.rows = 16;
  KernelTable table;
  table.add("copy", "head", spec);
  TargetVariant target;
  target.target = architecture.target;
  target.kernels = table.entries();
  for (int64_t capacity : {4, 64})
    target.plans.push_back(
        {{capacity},
         0,
         {{0, {{BufferKind::Input, 0, 0}, {BufferKind::Output, 0, 0}}}}});
  BETZ_ASSIGN_OR_RETURN(
      auto executables,
      cuda::buildExecutables(table.specs(), architecture, ignoreCompile()));
  for (auto &[isa, code] : executables) {
    program->ownedBytes.push_back(
        std::make_shared<const std::vector<std::byte>>(std::move(code)));
    target.executables.push_back(
        {isa, {"code." + isa, *program->ownedBytes.back()}});
  }
  program->targets.push_back(std::move(target));
  return std::shared_ptr<const Program>(std::move(program));
}

TEST(Tuner, KeepsItsTilesWhereNoneIsFaster) {
  auto program = makeCopyProgram();
  if (program.status().getCode() == StatusCode::Unavailable)
    GTEST_SKIP() << program.status().message();
  ASSERT_TRUE(program.isOk()) << program.status().message();
  const TuningDevice machine = {std::make_shared<NullDevice>(), "13.0", 1 << 20,
                                nullptr};
  auto tuned = tuneProgram(*program, machine, 512);
  ASSERT_TRUE(tuned.isOk()) << tuned.status().message();

  const TuningReport &report = tuned->report;
  ASSERT_EQ(report.kernels.size(), 2u) << "one a bucket";
  for (const TunedKernel &kernel : report.kernels) {
    EXPECT_EQ(kernel.trials.size(), 3u);
    EXPECT_EQ(kernel.trials[kernel.winner].tile.rows, 16);
    EXPECT_EQ(kernel.trials[kernel.untuned].tile.rows, 8);
    EXPECT_EQ(kernel.sets, 1u);
    for (const tune::Trial &trial : kernel.trials)
      EXPECT_NEAR(trial.seconds, 1e-6, 1e-12) << trial.rejected;
  }
  EXPECT_EQ(report.steps[1].extents, std::vector<int64_t>{64});
  EXPECT_EQ(report.steps[1].bytes, 2 * 64 * 8 * 4);
  EXPECT_NEAR(report.steps[1].tuned, 1e-6, 1e-12);
  EXPECT_EQ(report.untunedLoss(), 0);
  EXPECT_EQ(report.startedFrom, "");

  // Through a file, it is the same program with a record, from which the next
  // tuning starts.
  auto read = parseProgram(std::make_shared<const std::vector<std::byte>>(
                               serializeProgram(*tuned->program)),
                           "t.betz");
  ASSERT_TRUE(read.isOk()) << read.status().message();
  EXPECT_EQ((*read)->targets[0].kernels[0].code,
            (*program)->targets[0].kernels[0].code);
  auto record = parseJson((*read)->targets[0].tuning);
  ASSERT_TRUE(record.isOk());
  EXPECT_EQ((*record)["device"], "null");
  EXPECT_EQ((*record)["driver"], "13.0");
  EXPECT_EQ((*record)["kernels"][1]["tile"], Json::array({16, 0, 0, 0}));
  auto again = tuneProgram(*read, machine, 512);
  ASSERT_TRUE(again.isOk()) << again.status().message();
  EXPECT_EQ(again->report.startedFrom, (*read)->targets[0].tuning);
  const Json json = toJson(**read, again->report);
  EXPECT_EQ(json["started_from"], *record);
  EXPECT_EQ(json["kernels"][0]["trials"][0]["verdict"], "won");
}

TEST(Tuner, ProgramsWithoutTilesAreRefused) {
  const std::vector<float> table(kIds * kColumns, 1), bias(kColumns, 1);
  const TuningDevice machine = {std::make_shared<NullDevice>(), "", 0, nullptr};
  auto tuned = tuneProgram(makeSegmentSumProgram(table, bias), machine, 8);
  ASSERT_FALSE(tuned.isOk());
  EXPECT_NE(tuned.status().message().find("has no tiles to tune"),
            std::string::npos);
}

} // namespace
} // namespace betz
