// Reading and making data: safetensors, recordings, windows, training batches,
// synthesis. Files are made in a scratch folder, so all reads are from the page
// cache.
#include "runtime/io/Safetensors.h"
#include "runtime/io/Synth.h"
#include "runtime/io/Windows.h"
#include "train/data/Batches.h"

#include <benchmark/benchmark.h>
#include <cstdlib>
#include <fmt/format.h>
#include <unistd.h>

namespace betz {
namespace {

constexpr int64_t kTrials = 60;
constexpr int64_t kUnits = 96;
constexpr int64_t kTensors = 64;
constexpr int64_t kTensorRows = 256, kTensorColumns = 256;
constexpr int64_t kBatch = 8;
constexpr int32_t kTrainBatch = 64;

[[noreturn]] void fail(std::string_view message) {
  fmt::print(stderr, "error: {}\n", message);
  std::exit(2);
}

void expect(const Status &status) {
  if (!status.isOk())
    fail(status.message());
}

template <typename T> T expect(Result<T> result) {
  expect(result.status());
  return std::move(*result);
}

/// A folder that is removed at exit.
class Scratch {
public:
  Scratch() {
    std::string pattern =
        (std::filesystem::temp_directory_path() / "bench-data-XXXXXX").string();
    if (!::mkdtemp(pattern.data()))
      fail(pattern + ": cannot make this folder; set TMPDIR to one that can "
                     "be written");
    folder = pattern;
  }
  ~Scratch() {
    std::error_code ignored;
    std::filesystem::remove_all(folder, ignored);
  }
  std::filesystem::path operator/(std::string_view name) const {
    return folder / name;
  }

private:
  std::filesystem::path folder;
};

std::filesystem::path writeTensors(const Scratch &scratch) {
  std::filesystem::path path = scratch / "weights.safetensors";
  std::vector<float> values(size_t(kTensorRows * kTensorColumns), 0.5f);
  std::vector<SafeTensor> tensors;
  for (int64_t i = 0; i < kTensors; ++i)
    tensors.push_back({fmt::format("blocks.{}.weight", i),
                       "F32",
                       {kTensorRows, kTensorColumns},
                       std::as_bytes(std::span(values))});
  expect(writeSafetensors(path, tensors, {}));
  return path;
}

/// A synthetic recording, ready for windows.
struct Session {
  std::filesystem::path path;
  Recording recording;
  Series behavior;
  std::vector<Interval> segments;
  std::vector<int32_t> neurons;
};

Session makeSession(const Scratch &scratch) {
  Session session;
  session.path = scratch / "session.nwb";
  expect(synthesizeSession({.trials = kTrials, .units = kUnits}, session.path));
  session.recording = expect(Recording::open(session.path));
  session.behavior =
      expect(loadSeries(*expect(session.recording.chooseSeries(""))));
  session.segments =
      expect(findSegments(session.recording, &session.behavior)).segments;
  session.neurons = expect(assignNeurons(session.recording.units, nullptr,
                                         int32_t(kUnits), true))
                        .neuronOfRow;
  return session;
}

void openSafetensors(benchmark::State &state,
                     const std::filesystem::path &path) {
  for (auto _ : state)
    benchmark::DoNotOptimize(expect(SafetensorsFile::open(path)).tensors());
  state.counters["tensors"] = double(kTensors);
}

void synthesize(benchmark::State &state, const Scratch &scratch) {
  const std::filesystem::path path = scratch / "made.nwb";
  for (auto _ : state)
    expect(synthesizeSession({.trials = kTrials, .units = kUnits}, path));
  state.SetItemsProcessed(state.iterations() * kTrials);
}

void openRecording(benchmark::State &state, const Session &session) {
  for (auto _ : state)
    benchmark::DoNotOptimize(expect(Recording::open(session.path)).units.ids);
  state.SetItemsProcessed(state.iterations() *
                          int64_t(session.recording.units.spikeTimes.size()));
}

void indexWindows(benchmark::State &state, const Session &session) {
  WindowIndex index = expect(WindowIndex::build(session.segments, {}));
  for (auto _ : state) {
    index = expect(WindowIndex::build(session.segments, {}));
    WindowReader reader(index, session.recording.units, session.neurons,
                        &session.behavior);
    benchmark::DoNotOptimize(reader.targetColumns());
  }
  state.counters["windows"] = double(index.size());
}

/// All windows of the recording in order, kBatch at a time.
void streamWindows(benchmark::State &state, const Session &session) {
  WindowIndex index = expect(WindowIndex::build(session.segments, {}));
  WindowReader reader(index, session.recording.units, session.neurons,
                      &session.behavior);
  WindowBatch batch;
  std::vector<int64_t> windows;
  int64_t events = 0;
  for (auto _ : state)
    for (int64_t first = 0; first < index.size(); first += kBatch) {
      windows.clear();
      for (int64_t i = first; i < std::min(first + kBatch, index.size()); ++i)
        windows.push_back(i);
      expect(reader.read(windows, batch));
      events += int64_t(batch.neuronId.size());
    }
  state.SetItemsProcessed(state.iterations() * index.size());
  state.counters["events_per_s"] =
      benchmark::Counter(double(events), benchmark::Counter::kIsRate);
}

/// Batches of 64 windows of 600 ms in bins of 5 ms, as one thread builds them.
void buildBatches(benchmark::State &state, const Session &session,
                  const train::Augmentation &augmentation) {
  train::DataSpec spec;
  spec.binMs = 5;
  spec.historyBins = 120;
  spec.strideBins = 10;
  const train::Dataset dataset =
      expect(train::Dataset::open(std::span(&session.path, 1), spec));
  train::TrainBatches batches = expect(train::TrainBatches::make(
      dataset, {.rows = kTrainBatch, .seed = 1, .augmentation = augmentation}));
  train::Batch batch;
  int64_t step = 0, events = 0;
  for (auto _ : state) {
    batches.read(step++, batch);
    events += int64_t(batch.value.size());
  }
  state.SetItemsProcessed(state.iterations() * kTrainBatch);
  state.counters["events_per_s"] =
      benchmark::Counter(double(events), benchmark::Counter::kIsRate);
}

} // namespace
} // namespace betz

int main(int argc, char **argv) {
  using namespace betz;
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv))
    return 2;
  const Scratch scratch;
  const std::filesystem::path weights = writeTensors(scratch);
  const Session session = makeSession(scratch);
  auto add = [](const char *name, auto body) {
    benchmark::RegisterBenchmark(name, body)
        ->UseRealTime()
        ->Unit(benchmark::kMicrosecond);
  };
  using benchmark::State;
  add("safetensors_open", [&](State &s) { openSafetensors(s, weights); });
  add("recording_open", [&](State &s) { openRecording(s, session); });
  add("windows_index", [&](State &s) { indexWindows(s, session); });
  add("windows_stream", [&](State &s) { streamWindows(s, session); });
  add("train_batches", [&](State &s) { buildBatches(s, session, {}); });
  add("train_batches_augmented", [&](State &s) {
    buildBatches(s, session,
                 {.unitDropout = 0.2,
                  .spikeDropout = 0.8,
                  .addedSpikes = 0.4,
                  .jitterBins = 1});
  });
  add("synth", [&](State &s) { synthesize(s, scratch); });
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}
