#include "tools/PlayedSession.h"

#include "runtime/base/Log.h"
#include "runtime/io/Nwb.h"
#include "runtime/io/Windows.h"
#include "runtime/program/Program.h"
#include "tools/DecoderInfo.h"

#include <algorithm>
#include <cmath>

namespace betz {
namespace {

constexpr double kMaxSeconds = 180;

/// The behaviour that the program decodes, where the recording has it.
Result<std::optional<Series>> findBehavior(const Recording &recording,
                                           int64_t columns) {
  BETZ_ASSIGN_OR_RETURN(const SeriesInfo *info, recording.chooseSeries(""));
  if (!info || !info->problem.empty() || info->columns != columns)
    return std::optional<Series>();
  BETZ_ASSIGN_OR_RETURN(Series series, loadSeries(*info));
  return std::optional<Series>(std::move(series));
}

/// The longest segment, cut to kMaxSeconds.
Interval longestStretch(const Segmentation &segmentation) {
  Interval longest =
      *std::ranges::max_element(segmentation.segments, {}, &Interval::seconds);
  longest.stop = std::min(longest.stop, longest.start + kMaxSeconds);
  return longest;
}

Status writeEvents(const WindowIndex &bins, const WindowReader &reader,
                   Json &out) {
  for (const char *key : {"neuron_id", "time_bin", "value", "target"})
    out[key] = Json::array();
  WindowBatch bin;
  for (int64_t i = 0; i < bins.size(); ++i) {
    BETZ_RETURN_IF_ERROR(reader.read({&i, 1}, bin));
    for (size_t e = 0; e < bin.neuronId.size(); ++e) {
      out["neuron_id"].push_back(bin.neuronId[e]);
      out["time_bin"].push_back(i);
      out["value"].push_back(bin.value[e]);
    }
    for (float value : bin.target)
      out["target"].push_back(std::isfinite(value) ? Json(value) : Json());
  }
  return Status::ok();
}

} // namespace

Result<std::string> playedSession(const std::filesystem::path &file,
                                  const std::string &model,
                                  const std::filesystem::path &program) {
  BETZ_ASSIGN_OR_RETURN(std::shared_ptr<const Program> read,
                        readProgram(program));
  const std::string name = file.stem().string();
  BETZ_ASSIGN_OR_RETURN(const Metadata metadata,
                        metadataOfSession(read->metadata, name));
  BETZ_ASSIGN_OR_RETURN(const DecoderWindows info,
                        readDecoderWindows(metadata));
  BETZ_ASSIGN_OR_RETURN(Json outputs, readMetadata(metadata, "outputs"));
  const size_t columns = outputs.is_array() ? outputs.size() : 0;
  BETZ_ASSIGN_OR_RETURN(std::vector<double> scale,
                        readNumbers(metadata, "target_std", columns));
  BETZ_ASSIGN_OR_RETURN(std::vector<double> shift,
                        readNumbers(metadata, "target_mean", columns));
  BETZ_ASSIGN_OR_RETURN(const Recording recording, Recording::open(file, ""));
  BETZ_ASSIGN_OR_RETURN(std::optional<Series> behavior,
                        findBehavior(recording, int64_t(columns)));
  const Series *target = behavior ? &*behavior : nullptr;
  BETZ_ASSIGN_OR_RETURN(const Segmentation segmentation,
                        findSegments(recording, target));
  BETZ_ASSIGN_OR_RETURN(const NeuronTable neurons,
                        assignNeurons(recording.units,
                                      info.unitMap ? &*info.unitMap : nullptr,
                                      info.maxNeurons, false));
  for (const std::string &warning : neurons.warnings)
    logWarn("serve", "{}", warning);
  WindowSpec oneBin = info.windows;
  oneBin.windowBins = oneBin.strideBins = 1;
  BETZ_ASSIGN_OR_RETURN(
      const WindowIndex bins,
      WindowIndex::build({longestStretch(segmentation)}, oneBin));
  Json out = {{"name", name},
              {"model", model},
              {"bin_ms", oneBin.binMs},
              {"bins", bins.size()},
              {"neurons", recording.units.count()},
              {"outputs", outputs},
              {"scale", scale},
              {"shift", shift}};
  const WindowReader reader(bins, recording.units, neurons.neuronOfRow, target);
  BETZ_RETURN_IF_ERROR(writeEvents(bins, reader, out));
  return out.dump();
}

} // namespace betz
