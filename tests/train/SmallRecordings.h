//===- SmallRecordings.h - Recordings whose samples a test can count ------===//
#pragma once

#include "tests/runtime/io/OddFiles.h"
#include "train/data/Dataset.h"

#include <cmath>
#include <fmt/format.h>
#include <random>
#include <string>
#include <vector>

namespace betz::test {

/// A recording of random spikes and a smooth velocity, as lists.
struct SmallRecording {
  std::vector<int64_t> ids;
  SpikeLists spikes;
  std::vector<Interval> trials;
  std::vector<std::string> split;
  std::vector<Interval> observed;
  /// Rows of two columns.
  std::vector<double> time;
  std::vector<double> velocity;

  std::string write(const std::filesystem::path &path) const {
    return makeFile(path, [&](Hdf5Writer &writer) {
      addUnits(writer, ids, spikes, Hdf5Integer::U32);
      addObserved(writer, int64_t(ids.size()), observed);
      if (!trials.empty())
        addTrials(writer, trials, split);
      if (!time.empty())
        addSeries(writer, "/processing/behavior/hand_vel", time, velocity);
    });
  }
};

constexpr double kSmallBin = 0.02;

/// `count` trials of 20 to 39 bins of 20 ms with gaps of half a second; a row
/// of behaviour at each bin's centre; every third unit follows one of the two
/// velocities.
inline SmallRecording makeTrials(int64_t count, int64_t units, uint32_t seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> uniform(0, 1);
  SmallRecording out;
  out.spikes.resize(size_t(units));
  for (int64_t unit = 0; unit < units; ++unit)
    out.ids.push_back(10 + 3 * unit);
  double start = 1;
  for (int64_t trial = 0; trial < count; ++trial) {
    const int64_t bins = 20 + int64_t(random() % 20);
    const double angle = 6.28 * uniform(random);
    for (int64_t bin = 0; bin < bins; ++bin) {
      const double at = start + double(bin) * kSmallBin;
      const double speed = 100 * std::sin(3.14159 * double(bin) / double(bins));
      const double v[2] = {speed * std::cos(angle), speed * std::sin(angle)};
      out.time.push_back(at + kSmallBin / 2);
      out.velocity.insert(out.velocity.end(), {v[0], v[1]});
      for (int64_t unit = 0; unit < units; ++unit) {
        const double drive = unit % 3 < 2 ? v[unit % 3] / 50 : 0;
        const int spikes = std::poisson_distribution<int>(
            std::exp(-0.5 + 0.6 * drive))(random);
        for (int i = 0; i < spikes; ++i)
          out.spikes[size_t(unit)].push_back(
              at + kSmallBin * (0.05 + 0.9 * uniform(random)));
      }
    }
    const double stop = start + double(bins) * kSmallBin;
    out.trials.push_back({start, stop});
    out.split.push_back(trial % 5 < 3   ? "train"
                        : trial % 5 < 4 ? "val"
                                        : "test");
    start = stop + 0.5;
  }
  out.observed = out.trials;
  for (std::vector<double> &list : out.spikes)
    std::sort(list.begin(), list.end());
  return out;
}

inline train::Dataset
openDataset(const std::vector<std::filesystem::path> &files,
            const train::DataSpec &spec = {}) {
  Result<train::Dataset> dataset = train::Dataset::open(files, spec);
  EXPECT_TRUE(dataset.isOk()) << dataset.status().message();
  return std::move(*dataset);
}

} // namespace betz::test
