// Logs of a real engine, replayed, cut off and damaged.
#include "serve/record/RecordWriter.h"
#include "serve/record/Replay.h"
#include "tests/serve/engine/EngineFixture.h"

#include <fstream>
#include <gmock/gmock.h>

namespace betz::serve {
namespace {

using testing::HasSubstr;

std::vector<std::byte> readBytes(const std::filesystem::path &path) {
  std::ifstream file(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const auto *data = reinterpret_cast<const std::byte *>(text.data());
  return {data, data + text.size()};
}

class RecordTest : public testing::Test {
protected:
  void SetUp() override {
    folder = std::filesystem::temp_directory_path() /
             ("betz-record." + std::to_string(getpid()));
    std::filesystem::create_directory(folder);
  }
  void TearDown() override { std::filesystem::remove_all(folder); }

  /// Records an engine that decodes `requests` by `decoder`.
  ObserverCounts record(const std::filesystem::path &path,
                        const std::vector<OwnedWindows> &requests,
                        size_t bufferBytes = 1 << 20) {
    auto writer = std::make_shared<RecordWriter>(path, bufferBytes);
    auto engine = makeEngine({.observer = writer});
    load(*engine, decoder);
    for (const OwnedWindows &request : requests) {
      KeptAnswer answer =
          submit(*engine, {.model = "sum", .windows = request.view()}).get();
      EXPECT_EQ(answer.behavior, request.expected(decoder));
    }
    engine.reset();
    return writer->counts();
  }

  static Result<ReplayResult> replayBytes(std::span<const std::byte> bytes,
                                          const SumDecoder &decoder) {
    BETZ_ASSIGN_OR_RETURN(RecordReader log, RecordReader::open(bytes));
    auto program = decoder.program();
    const std::string hash = programHash(*program);
    BETZ_ASSIGN_OR_RETURN(std::shared_ptr<Device> device,
                          openDevice("cpu", {.threads = 1}));
    BETZ_ASSIGN_OR_RETURN(std::unique_ptr<LoadedModel> model,
                          LoadedModel::create(program, device, 1, 0));
    return replay(log, *model, hash);
  }

  std::filesystem::path folder;
  std::mt19937 random{1};
  SumDecoder decoder{1};
  std::vector<OwnedWindows> requests{
      {{5}, random}, {{0, 64}, random}, {{7, 1, 0}, random}};
};

TEST_F(RecordTest, AReplayHasTheBits) {
  const ObserverCounts counts = record(folder / "log", requests);
  EXPECT_EQ(counts.kept, 3u);
  EXPECT_EQ(counts.dropped, 0u);
  auto result = replayBytes(readBytes(folder / "log"), decoder);
  ASSERT_TRUE(result.isOk()) << result.status().message();
  EXPECT_EQ(result->batches, 3);
  EXPECT_EQ(result->windows, 6);
  EXPECT_TRUE(result->isComplete);
  EXPECT_FALSE(result->difference);
  EXPECT_EQ(result->skipped, 0);
  ASSERT_EQ(result->devices.size(), 1u);
  EXPECT_THAT(result->devices[0], HasSubstr("cpu"));
}

TEST_F(RecordTest, RequestsOfOneBatchAreOneBatch) {
  auto writer = std::make_shared<RecordWriter>(folder / "log");
  auto engine = makeEngine({.observer = writer});
  load(*engine, decoder);
  std::vector<std::future<KeptAnswer>> answers;
  {
    Gate gate(*engine, {.model = "sum", .windows = requests[0].view()});
    for (const OwnedWindows &request : requests)
      answers.push_back(
          submit(*engine, {.model = "sum", .windows = request.view()}));
    gate.open();
  }
  for (auto &answer : answers)
    EXPECT_FALSE(answer.get().error);
  engine.reset();
  const uint64_t kept = writer->counts().kept;
  writer.reset();
  auto result = replayBytes(readBytes(folder / "log"), decoder);
  ASSERT_TRUE(result.isOk()) << result.status().message();
  EXPECT_EQ(result->batches, int64_t(kept));
  EXPECT_EQ(result->windows, 7);
  EXPECT_FALSE(result->difference);
}

TEST_F(RecordTest, AnotherProgramIsNamed) {
  record(folder / "log", requests);
  auto result = replayBytes(readBytes(folder / "log"), SumDecoder(2));
  ASSERT_FALSE(result.isOk());
  EXPECT_EQ(result.status().getCode(), StatusCode::InvalidArgument);
  EXPECT_THAT(result.status().message(), HasSubstr("the program's hash is"));
  EXPECT_THAT(result.status().message(),
              HasSubstr(programHash(*decoder.program())));
}

/// Writes other outputs than were computed.
class LyingObserver final : public BatchObserver {
public:
  explicit LyingObserver(const std::filesystem::path &path) : writer(path) {}
  void onBatch(const FinishedBatch &batch) override {
    std::vector<float> rows(batch.behavior.begin(), batch.behavior.end());
    if (batch.windows == 3)
      rows[7] = 1;
    FinishedBatch changed = batch;
    changed.behavior = rows;
    writer.onBatch(changed);
  }
  ObserverCounts counts() const override { return writer.counts(); }

private:
  RecordWriter writer;
};

TEST_F(RecordTest, TheFirstDifferenceIsNamed) {
  {
    auto engine = makeEngine(
        {.observer = std::make_shared<LyingObserver>(folder / "log")});
    load(*engine, decoder);
    for (const OwnedWindows &request : requests)
      submit(*engine, {.model = "sum", .windows = request.view()}).get();
  }
  auto result = replayBytes(readBytes(folder / "log"), decoder);
  ASSERT_TRUE(result.isOk()) << result.status().message();
  ASSERT_TRUE(result->difference);
  EXPECT_EQ(result->difference->batch, 3u);
  EXPECT_EQ(result->difference->window, 2);
  EXPECT_EQ(result->difference->column, 1);
  EXPECT_EQ(result->difference->recorded, 1);
  EXPECT_EQ(result->difference->replayed, requests[2].expected(decoder)[7]);
}

TEST_F(RecordTest, ALogCutOffAnywhereGivesItsWholeBatches) {
  record(folder / "log", requests);
  const std::vector<std::byte> bytes = readBytes(folder / "log");
  int64_t most = 0;
  for (size_t size = 0; size < bytes.size(); size += 7) {
    // A copy of its own, so that reads past its end are seen.
    const std::vector<std::byte> part(bytes.begin(),
                                      bytes.begin() + int64_t(size));
    auto result = replayBytes(part, decoder);
    ASSERT_EQ(result.isOk(), size >= kLogHeaderBytes);
    if (!result.isOk())
      continue;
    EXPECT_FALSE(result->isComplete);
    EXPECT_FALSE(result->difference);
    EXPECT_GE(result->batches, most);
    most = result->batches;
  }
  EXPECT_EQ(most, 3);
}

TEST_F(RecordTest, DamageAnywhereIsFound) {
  record(folder / "log", requests);
  const std::vector<std::byte> bytes = readBytes(folder / "log");
  for (size_t place = 0; place < bytes.size(); ++place) {
    std::vector<std::byte> damaged = bytes;
    damaged[place] ^= std::byte(0x41);
    auto result = replayBytes(damaged, decoder);
    if (result.isOk()) {
      // The four bytes that nothing reads, or a size past the end.
      EXPECT_TRUE(!result->isComplete || (place >= 12 && place < 16)) << place;
      EXPECT_FALSE(result->difference) << place;
    } else {
      EXPECT_EQ(result.status().getCode(), StatusCode::DataLoss) << place;
    }
  }
}

TEST_F(RecordTest, AFullBufferDropsAndCounts) {
  const ObserverCounts counts = record(folder / "log", requests, 700);
  EXPECT_EQ(counts.kept, 2u);
  EXPECT_EQ(counts.dropped, 1u);
  auto result = replayBytes(readBytes(folder / "log"), decoder);
  ASSERT_TRUE(result.isOk()) << result.status().message();
  EXPECT_EQ(result->batches, 2);
  EXPECT_EQ(result->dropped, 1u);
  EXPECT_TRUE(result->isComplete);
}

TEST_F(RecordTest, WithoutADiskServingGoesOn) {
  testing::internal::CaptureStderr();
  const ObserverCounts unwritable = record(folder / "none" / "log", requests);
  EXPECT_EQ(unwritable.kept, 0u);
  EXPECT_EQ(unwritable.dropped, 3u);
  const std::string warning = testing::internal::GetCapturedStderr();
  EXPECT_THAT(warning, HasSubstr("serving goes on"));
  EXPECT_EQ(std::ranges::count(warning, '\n'), 1);

  testing::internal::CaptureStderr();
  const ObserverCounts full = record("/dev/full", requests);
  EXPECT_EQ(full.kept, 0u);
  EXPECT_EQ(full.dropped, 3u);
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              HasSubstr("serving goes on"));
}

TEST_F(RecordTest, AnOldLogIsKept) {
  record(folder / "log", requests);
  const std::vector<std::byte> old = readBytes(folder / "log");
  record(folder / "log", {});
  EXPECT_EQ(readBytes(folder / "log.1"), old);
  EXPECT_LT(readBytes(folder / "log").size(), old.size());
}

} // namespace
} // namespace betz::serve
