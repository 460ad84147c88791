// Files whose bookkeeping is damaged, which the HDF5 library may not survive.
#include "runtime/io/Hdf5Rehearsal.h"
#include "tests/runtime/io/OddFiles.h"

#include <csignal>
#include <fstream>
#include <gmock/gmock.h>
#include <iterator>
#include <random>

using namespace betz;
using namespace betz::test;
using hdf5::rehearse;
using testing::HasSubstr;

namespace {

TEST(Rehearsal, GivesWhatTheReadGives) {
  EXPECT_TRUE(rehearse("f", [] { return Status::ok(); }).isOk());
  Status status = rehearse("f", [] { return dataLoss("f: has no units"); });
  EXPECT_EQ(status.getCode(), StatusCode::DataLoss);
  EXPECT_EQ(status.message(), "f: has no units");
}

TEST(Rehearsal, ACrashStaysInTheChild) {
  for (int signal : {SIGSEGV, SIGBUS, SIGABRT, SIGFPE}) {
    Status status = rehearse("some.nwb", [&] {
      ::raise(signal);
      return Status::ok();
    });
    EXPECT_EQ(status.getCode(), StatusCode::DataLoss);
    EXPECT_THAT(status.message(),
                HasSubstr("some.nwb: is damaged: reading it crashes"));
  }
}

TEST(Rehearsal, ALoopEnds) {
  volatile bool forever = true;
  Status status = rehearse("some.nwb",
                           [&] {
                             while (forever)
                               ;
                             return Status::ok();
                           },
                           {.processorTime = std::chrono::seconds(1)});
  EXPECT_THAT(status.message(), HasSubstr("reading it hangs"));
}

TEST(Rehearsal, AWaitEnds) {
  Status status = rehearse("some.nwb",
                           [] {
                             for (;;)
                               ::pause();
                             return Status::ok();
                           },
                           {.time = std::chrono::seconds(1)});
  EXPECT_THAT(status.message(), HasSubstr("reading it hangs"));
}

/// Every kind of storage that recordings use.
void addEverything(Hdf5Writer &writer) {
  SpikeLists spikes(5);
  for (int i = 0; i < 400; ++i)
    spikes[size_t(i % 5)].push_back(i * 0.01);
  addUnits(writer, {3, 5, 7, 11, 13}, spikes, Hdf5Integer::U16, {64, true, 4});
  addObserved(writer, 5, {{0, 1.5}, {2, 4}});
  addTrials(writer, {{0, 1.5}, {2, 4}}, {"train", "test"});
  std::vector<double> times, values;
  for (int i = 0; i < 200; ++i) {
    times.push_back(i * 0.02);
    values.push_back(i);
    values.push_back(-i);
  }
  addSeries(writer, "/processing/behavior/hand_vel", times, values);
  must(writer.doubles("/processing/behavior/eye/data", values, {200, 2},
                      {32, true, 4}));
  must(writer.doubles("/processing/behavior/eye/timestamps", times, {200},
                      {32, false, 0}));
  must(writer.text("/identifier", "damage"));
}

std::string readAll(const std::filesystem::path &path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(Damage, NoByteOfAFileCrashesTheReader) {
  TemporaryFolder folder;
  const std::string good =
      readAll(makeFile(folder / "good.nwb", addEverything));
  std::mt19937 random(20);
  int refused = 0, read = 0;
  for (int trial = 0; trial < 300; ++trial) {
    std::string bytes = good;
    for (int change = 0; change <= trial % 4; ++change)
      bytes[random() % bytes.size()] = char(random());
    std::filesystem::path path = folder / "bad.nwb";
    std::ofstream(path, std::ios::binary) << bytes;
    Result<Recording> recording = Recording::open(path);
    if (!recording.isOk()) {
      ++refused;
      EXPECT_THAT(recording.status().message(), HasSubstr("bad.nwb"));
      continue;
    }
    ++read;
    for (const SeriesInfo &info : recording->series)
      if (Result<Series> series = loadSeries(info); !series.isOk()) {
        EXPECT_THAT(series.status().message(), HasSubstr("bad.nwb"));
      }
  }
  EXPECT_GT(refused, 10);
  EXPECT_GT(read, 10);
}

} // namespace
