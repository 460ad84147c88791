#include "train/data/Respike.h"
#include "train/score/Random.h"

#include <algorithm>
#include <cmath>

namespace betz::train {
namespace {

/// Units with the same ids and other spikes.
Units withSpikes(const Units &units, auto spikesOfRow) {
  Units out;
  out.ids = units.ids;
  out.heldOut = units.heldOut;
  out.observed = units.observed;
  for (int64_t row = 0; row < units.count(); ++row) {
    const std::vector<double> spikes = spikesOfRow(row);
    out.spikeTimes.insert(out.spikeTimes.end(), spikes.begin(), spikes.end());
    out.spikeEnds.push_back(int64_t(out.spikeTimes.size()));
  }
  return out;
}

/// Where each piece of a split starts in the ring, in bins.
struct Ring {
  std::vector<int64_t> pieces;
  std::vector<int64_t> starts;
  int64_t bins = 0;

  Ring(const Session &session, Split split) {
    for (size_t piece = 0; piece < session.pieces.size(); ++piece) {
      if (session.pieces[piece].split != split)
        continue;
      pieces.push_back(int64_t(piece));
      starts.push_back(bins);
      bins += session.index.bins(int64_t(piece));
    }
  }
  /// The entry that holds bin `bin` of the ring.
  size_t entryAt(int64_t bin) const {
    return size_t(std::upper_bound(starts.begin(), starts.end(), bin) -
                  starts.begin()) -
           1;
  }
};

} // namespace

Result<std::vector<Units>> readUnits(const Dataset &dataset) {
  std::vector<Units> out;
  for (int64_t i = 0; i < dataset.sessions(); ++i) {
    BETZ_ASSIGN_OR_RETURN(Recording recording,
                          Recording::open(dataset.session(i).file));
    if (recording.units.ids != dataset.session(i).unitIds)
      return dataLoss(dataset.session(i).file.string() +
                      ": its units changed while it was read");
    out.push_back(std::move(recording.units));
  }
  return out;
}

Units silenceUnits(const Units &units, const std::vector<bool> &silent) {
  return withSpikes(units, [&](int64_t row) {
    const std::span<const double> spikes = units.spikes(row);
    return silent[size_t(row)]
               ? std::vector<double>()
               : std::vector<double>(spikes.begin(), spikes.end());
  });
}

int64_t binsOf(const Session &session, Split split) {
  return Ring(session, split).bins;
}

Units rotateSpikes(const Session &session, const Units &units, Split split,
                   double binMs, int64_t shift) {
  const Ring ring(session, split);
  const double binSeconds = binMs / 1000;
  // Away from borders, so that rounding moves no spike into another bin.
  constexpr double kMargin = 1e-3;
  auto turn = [&](double seconds, const Piece &piece, int64_t entry,
                  std::vector<double> &out) {
    const int64_t bin = binOf(seconds, piece.time.start, binMs);
    if (bin < 0 || bin >= session.index.bins(ring.pieces[size_t(entry)]))
      return;
    const double part =
        std::clamp((seconds - piece.time.start) / binSeconds - double(bin),
                   kMargin, 1 - kMargin);
    const int64_t to = (ring.starts[size_t(entry)] + bin + shift) % ring.bins;
    const size_t target = ring.entryAt(to);
    const double origin =
        session.pieces[size_t(ring.pieces[target])].time.start;
    out.push_back(origin +
                  (double(to - ring.starts[target]) + part) * binSeconds);
  };
  return withSpikes(units, [&](int64_t row) {
    const std::span<const double> spikes = units.spikes(row);
    std::vector<double> out;
    for (size_t entry = 0; entry < ring.pieces.size(); ++entry) {
      const Piece &piece = session.pieces[size_t(ring.pieces[entry])];
      for (auto at = std::lower_bound(spikes.begin(), spikes.end(),
                                      piece.time.start - 1e-9);
           at != spikes.end() && *at < piece.time.stop; ++at)
        turn(*at, piece, int64_t(entry), out);
    }
    std::sort(out.begin(), out.end());
    return out;
  });
}

Result<Dataset> rotated(const Dataset &dataset, std::span<const Units> units,
                        Split split, uint64_t seed) {
  constexpr uint64_t kTries = 20;
  for (uint64_t attempt = 0; attempt < kTries; ++attempt) {
    std::vector<Units> turned;
    for (int64_t i = 0; i < dataset.sessions(); ++i) {
      const Session &session = dataset.session(i);
      const int64_t bins = binsOf(session, split);
      const int64_t shift =
          bins / 4 +
          int64_t(
              Random(seed, uint64_t(i), attempt).below(uint64_t(bins / 2 + 1)));
      turned.push_back(rotateSpikes(session, units[size_t(i)], split,
                                    dataset.spec().binMs, shift));
    }
    Dataset out = dataset.withUnits(turned, split);
    if (out.maxEvents() <= dataset.maxEvents())
      return out;
  }
  return invalidArgument("rotated spikes need windows of more events than the "
                         "recording has");
}

} // namespace betz::train
