// What streams decode, and that it is what decoding each window alone gives.
#include "serve/engine/StreamSession.h"
#include "tests/serve/engine/EngineFixture.h"

#include <gmock/gmock.h>
#include <map>

namespace betz::serve {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

/// The answers of one stream, by the bin that their windows end before.
class Answers {
public:
  StreamCallback callback() {
    return [this](const StreamAnswer &answer) {
      std::lock_guard lock(mutex);
      rows.emplace(answer.endBin, KeptAnswer(answer.answer));
      changed.notify_all();
    };
  }
  void waitFor(size_t count) {
    std::unique_lock lock(mutex);
    ASSERT_TRUE(
        changed.wait_for(lock, 10s, [&] { return rows.size() >= count; }));
  }
  const KeptAnswer &at(int32_t endBin) { return rows.at(endBin); }
  size_t size() {
    std::lock_guard lock(mutex);
    return rows.size();
  }

private:
  std::mutex mutex;
  std::condition_variable changed;
  std::map<int32_t, KeptAnswer> rows;
};

/// What counts of a stream: the sum of values by (bin, neuron).
using Counted = std::map<std::pair<int32_t, int32_t>, int32_t>;

std::vector<float> fromScratch(const SumDecoder &decoder,
                               const Counted &counted, int32_t windowBins,
                               int32_t endBin) {
  std::mt19937 random;
  OwnedWindows window({}, random);
  window.windowStart = {endBin - windowBins};
  for (const auto &[place, value] : counted)
    if (place.first >= endBin - windowBins && place.first < endBin) {
      window.timeBin.push_back(place.first);
      window.neuronId.push_back(place.second);
      window.value.push_back(std::min(value, 3));
    }
  window.rowSplits.push_back(int32_t(window.neuronId.size()));
  return window.expected(decoder);
}

std::shared_ptr<StreamSession> open(Engine &engine, StreamOptions options) {
  options.model = "sum";
  auto stream = engine.openStream(options);
  if (const Error *error = std::get_if<Error>(&stream)) {
    ADD_FAILURE() << error->message;
    return nullptr;
  }
  return std::get<std::shared_ptr<StreamSession>>(stream);
}

class StreamTest : public testing::Test {
protected:
  SumDecoder decoder{1};
  std::mt19937 random{std::random_device{}()};

  /// About `rate` events a bin for bins [from, from + bins), in any order.
  std::vector<StreamEvent> events(int32_t from, int32_t bins, double rate) {
    std::poisson_distribution<int> count(rate * bins);
    std::vector<StreamEvent> events(size_t(count(random)));
    for (StreamEvent &event : events)
      event = {int32_t(random() % SumDecoder::kNeurons),
               from + int32_t(random() % uint32_t(bins)),
               int32_t(random() % 3)};
    return events;
  }
};

TEST_F(StreamTest, AThousandWindowsAreAsFromScratch) {
  auto engine = makeEngine({.streams = {.maxPending = 1000}});
  load(*engine, decoder);
  auto stream = open(*engine, {});
  ASSERT_EQ(stream->windowBins(), 20);
  ASSERT_EQ(stream->strideBins(), 4);
  Answers answers;
  Counted counted;
  for (int32_t bin = 0; bin < 4000; bin += 2) {
    // Some come for bins ahead.
    const auto pushed = events(bin, 6, 0.4);
    for (const StreamEvent &event : pushed)
      counted[{event.bin, event.neuron}] += event.value;
    ASSERT_TRUE(stream->push(pushed).isOk());
    auto decodes = stream->advance(bin + 2, answers.callback());
    ASSERT_TRUE(decodes.isOk());
    EXPECT_EQ(*decodes, (bin + 2) % 4 == 0 ? 1 : 0);
  }
  answers.waitFor(1000);
  for (int32_t end = 4; end <= 4000; end += 4) {
    ASSERT_FALSE(answers.at(end).error) << answers.at(end).message;
    ASSERT_EQ(answers.at(end).behavior, fromScratch(decoder, counted, 20, end))
        << end;
  }
  const StreamStatistics statistics = engine->statistics().streams;
  EXPECT_EQ(statistics.decodes, 1000u);
  EXPECT_EQ(statistics.evictions, 0u);
  // Each event is uploaded once and read for five windows.
  EXPECT_NEAR(double(statistics.bytesRead) / double(statistics.bytesUploaded),
              5, 0.1);
}

TEST_F(StreamTest, ManyStreamsOnFewPagesAreAsEachAlone) {
  // A window is 4 pages at most; 20 pages for 15 streams.
  auto engine = makeEngine({.maxQueue = 4096,
                            .defaultDeadline = 60s,
                            .streams = {.pageEvents = 16,
                                        .poolBytes = 20 * 16 * 12,
                                        .maxPending = 64}});
  load(*engine, decoder);
  std::vector<std::shared_ptr<StreamSession>> streams;
  std::vector<Answers> answers(15);
  std::vector<Counted> counted(15);
  for (size_t i = 0; i < 15; ++i)
    streams.push_back(open(*engine, {}));
  for (int32_t bin = 0; bin < 200; bin += 4)
    for (size_t i = 0; i < 15; ++i) {
      if (random() % 3 == 0 && bin > 0)
        continue; // it catches up later
      const auto pushed = events(bin, 4, 1.5);
      for (const StreamEvent &event : pushed)
        counted[i][{event.bin, event.neuron}] += event.value;
      ASSERT_TRUE(streams[i]->push(pushed).isOk());
      ASSERT_TRUE(streams[i]->advance(bin + 4, answers[i].callback()).isOk());
    }
  for (size_t i = 0; i < 15; ++i) {
    ASSERT_TRUE(streams[i]->advance(200, answers[i].callback()).isOk());
    answers[i].waitFor(50);
    for (int32_t end = 4; end <= 200; end += 4) {
      ASSERT_FALSE(answers[i].at(end).error) << answers[i].at(end).message;
      ASSERT_EQ(answers[i].at(end).behavior,
                fromScratch(decoder, counted[i], 20, end));
    }
  }
  EXPECT_GT(engine->statistics().streams.evictions, 100u);
  EXPECT_GT(engine->statistics().streams.pageMisses, 100u);
}

TEST_F(StreamTest, LateDuplicateAndWrongEvents) {
  auto engine = makeEngine();
  load(*engine, decoder);
  auto stream = open(*engine, {.windowBins = 8, .strideBins = 4});
  Answers answers;
  auto push = [&](std::vector<StreamEvent> events) {
    auto counts = stream->push(events);
    EXPECT_TRUE(counts.isOk()) << counts.status().message();
    return std::tuple(counts->accepted, counts->late, counts->merged);
  };
  EXPECT_EQ(push({{3, 1, 1}, {2, 0, 1}, {3, 1, 1}}), std::tuple(2, 0, 1));
  ASSERT_TRUE(stream->advance(2, answers.callback()).isOk());
  EXPECT_EQ(push({{4, 1, 1}, {4, 2, 9}}), std::tuple(1, 1, 0))
      << "bin 1 is closed";
  auto wrong = stream->push(std::vector<StreamEvent>{{1, 3, 1}, {7, 3, 1}});
  EXPECT_THAT(wrong.status().message(), HasSubstr("event 1: neuron 7"));
  EXPECT_FALSE(stream->push(std::vector<StreamEvent>{{1, -1, 1}}).isOk());
  ASSERT_TRUE(stream->advance(4, answers.callback()).isOk());
  answers.waitFor(1);
  EXPECT_EQ(answers.at(4).behavior,
            fromScratch(decoder, {{{0, 2}, 1}, {{1, 3}, 2}, {{2, 4}, 3}}, 8, 4))
      << "nothing of the push that was refused";
  EXPECT_THAT(stream->advance(3, answers.callback()).status().message(),
              HasSubstr("go back to 3"));
}

TEST_F(StreamTest, AWindowWithTooManyEventsIsRefusedAndTheNextIsNot) {
  auto engine = makeEngine();
  load(*engine, decoder);
  auto stream = open(*engine, {.windowBins = 20, .strideBins = 20});
  std::vector<StreamEvent> all;
  for (int32_t bin = 0; bin < 10; ++bin)
    for (int32_t neuron = 0; neuron < 7; ++neuron)
      all.push_back({neuron, bin, 1});
  ASSERT_TRUE(stream->push(all).isOk());
  Answers answers;
  ASSERT_TRUE(stream->advance(40, answers.callback()).isOk());
  answers.waitFor(2);
  EXPECT_EQ(answers.at(20).error, ErrorKind::Invalid);
  EXPECT_THAT(answers.at(20).message, HasSubstr("70 events"));
  EXPECT_EQ(answers.at(40).behavior, fromScratch(decoder, {}, 20, 40));
}

TEST_F(StreamTest, LimitsAndClosing) {
  auto engine = makeEngine({.streams = {.maxStreams = 2, .maxPending = 1}});
  load(*engine, decoder);
  auto first = open(*engine, {}), second = open(*engine, {});
  auto third = engine->openStream({.model = "sum"});
  EXPECT_EQ(std::get<Error>(third).kind, ErrorKind::QueueFull);
  EXPECT_EQ(std::get<Error>(engine->openStream({.model = "none"})).kind,
            ErrorKind::UnknownModel);

  std::mt19937 random;
  OwnedWindows one({1}, random);
  Gate gate(*engine, {.model = "sum", .windows = one.view()});
  Answers answers;
  EXPECT_EQ(*first->advance(8, answers.callback()), 2);
  EXPECT_EQ(answers.size(), 1u);
  EXPECT_EQ(answers.at(8).error, ErrorKind::QueueFull);
  first->close();
  EXPECT_EQ(answers.at(4).error, ErrorKind::Cancelled);
  EXPECT_TRUE(first->isClosed());
  EXPECT_EQ(first->advance(12, answers.callback()).status().getCode(),
            StatusCode::Unavailable);
  gate.open();
  EXPECT_EQ(engine->statistics().streams.open, 1);
  second.reset();
  EXPECT_EQ(engine->statistics().streams.open, 0);
  EXPECT_EQ(
      std::get<Error>(engine->openStream({.model = "sum", .windowBins = 21}))
          .kind,
      ErrorKind::Invalid);
}

TEST_F(StreamTest, IdleStreamsAreClosed) {
  auto engine = makeEngine({.streams = {.idleTimeout = 40ms}});
  load(*engine, decoder);
  auto idle = open(*engine, {}), busy = open(*engine, {});
  Answers answers;
  for (int32_t bin = 1; bin < 20; ++bin) {
    ASSERT_TRUE(busy->advance(bin, answers.callback()).isOk());
    std::this_thread::sleep_for(10ms);
  }
  EXPECT_TRUE(idle->isClosed());
  EXPECT_FALSE(busy->isClosed());
  EXPECT_EQ(engine->statistics().streams.idleClosed, 1u);
}

TEST_F(StreamTest, AStreamOutlivesItsEngine) {
  auto engine = makeEngine();
  load(*engine, decoder);
  auto stream = open(*engine, {});
  engine.reset();
  EXPECT_TRUE(stream->isClosed());
  EXPECT_FALSE(stream->push({}).isOk());
}

TEST(ClosedLoopExample, DecodesAtEachStride) {
  const auto path = SumDecoder(1).write("closed_loop");
  FILE *pipe = popen((BETZ_CLOSED_LOOP " " + path.string()).c_str(), "r");
  ASSERT_TRUE(pipe);
  int decodes = 0, bin = 0;
  float x = 0, y = 0;
  while (fscanf(pipe, "bin %d: %f %f\n", &bin, &x, &y) == 3)
    EXPECT_EQ(bin, 4 * ++decodes);
  EXPECT_EQ(pclose(pipe), 0);
  EXPECT_EQ(decodes, 25);
  std::filesystem::remove(path);
}

} // namespace
} // namespace betz::serve
