//===- Dataset.h - Samples of one or several recordings -------------------===//
#pragma once

#include "runtime/base/Status.h"
#include "runtime/io/Windows.h"
#include "train/data/DataSpec.h"
#include "train/data/Pieces.h"

#include <array>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace betz::train {

/// target = (behaviour - mean) / deviation, by column; from train bins only.
struct TargetScale {
  std::vector<double> mean;
  /// 1 where a column is constant.
  std::vector<double> deviation;
};

/// What a recording says beside its spikes.
struct SessionFacts {
  std::filesystem::path file;
  /// Row i of /units is neuron firstNeuron + i.
  std::vector<int64_t> unitIds;
  int32_t firstNeuron = 0;
  Trials trials;
  std::vector<Piece> pieces;
  std::string splitSource;
  double secondsLeftOut = 0;
  /// Of the behaviour: name and unit as written; none without behaviour.
  std::optional<SeriesInfo> behavior;
  /// f32[bins, columns], as recorded; NaN where there is no row.
  std::vector<float> behaviorByBin;
  TargetScale scale;
  WindowIndex index;
  /// Bins left out of every split because their target has a NaN or no row.
  int64_t binsWithoutTarget = 0;

  /// That of its file, without folder and ending.
  std::string name() const { return file.stem().string(); }
  int64_t bins() const { return index.size(); }
  int64_t units() const { return int64_t(unitIds.size()); }
  int64_t columns() const { return behavior ? behavior->columns : 0; }
};

/// A recording, cut and binned. Bin b of a session is window b of `index`, the
/// one that ends with it. Constant once made.
struct Session : SessionFacts {
  /// Its values are spike counts, not cut to value buckets.
  std::unique_ptr<WindowReader> reader;
};

struct Sample {
  int32_t session = 0;
  int32_t piece = 0;
  /// The session's bin that the window ends with.
  int64_t bin = 0;
};

/// A sample's events where they lie. `bin[i] - firstBin` is the time bin.
struct SampleEvents {
  EventView events;
  int64_t firstBin = 0;
};

/// Samples by split, in order of session and time. Constant once opened; safe
/// to read from several threads.
class Dataset {
public:
  /// Opens `files` in order. Errors name the file: no units, no trial in
  /// observed time, sessions that differ in target columns or share a name, a
  /// split of a recording without a sample or without a spike. Without
  /// behaviour in any file, samples have events only.
  static Result<Dataset> open(std::span<const std::filesystem::path> files,
                              const DataSpec &spec);

  /// The samples of `split` alone with other spikes: one entry a session, with
  /// its units in their order.
  Dataset withUnits(std::span<const Units> units, Split split) const;

  /// As given, with binMs filled in.
  const DataSpec &spec() const { return dataSpec; }
  int64_t sessions() const { return int64_t(list.size()); }
  const Session &session(int64_t i) const { return *list[size_t(i)]; }
  /// Units of all sessions.
  int64_t neurons() const { return neuronCount; }
  /// Behaviour columns × target times; 0 without behaviour.
  int64_t outputs() const { return outputCount; }
  std::span<const Sample> samples(Split split) const {
    return bySplit[size_t(split)];
  }
  /// Events of the fullest window.
  int64_t maxEvents() const { return mostEvents; }
  const std::vector<std::string> &warnings() const { return lines; }

  SampleEvents events(const Sample &sample) const;
  /// f32[outputs()] in z-scores: target times in order, columns within.
  void target(const Sample &sample, std::span<float> out) const;
  /// f32[columns] at the sample's last bin, as recorded.
  std::span<const float> behavior(const Sample &sample) const;
  /// The sample's bin, counted from its piece's start.
  int64_t binInPiece(const Sample &sample) const;

private:
  Status addSession(const std::filesystem::path &file);
  Status addSamples(int32_t session);
  Status checkNames() const;
  void makeReader(const Units &units, Session &session) const;
  Status checkSplits() const;

  DataSpec dataSpec;
  std::vector<std::unique_ptr<Session>> list;
  std::array<std::vector<Sample>, kSplits.size()> bySplit;
  int64_t neuronCount = 0;
  int64_t outputCount = 0;
  int64_t mostEvents = 0;
  std::vector<std::string> lines;
};

} // namespace betz::train
