#include "train/loop/PreparedRun.h"
#include "runtime/base/File.h"
#include "runtime/io/Safetensors.h"
#include "train/loop/Parameters.h"

#include <fmt/format.h>

namespace betz::train {
namespace {

namespace fs = std::filesystem;

constexpr const char *kStepFile = "step.betz";
constexpr const char *kForwardFile = "forward.betz";
constexpr const char *kWeightsFile = "first.safetensors";
constexpr const char *kRunFile = "run.json";

/// Calls `visit(key, value)` for each setting of a run.
template <typename Run, typename Visit>
void forEachSetting(Run &run, Visit visit) {
  visit("neurons", run.neurons);
  visit("outputs", run.outputs);
  visit("max_events", run.maxEvents);
  visit("bin_ms", run.data.binMs);
  visit("history_bins", run.data.historyBins);
  visit("stride_bins", run.data.strideBins);
  visit("value_buckets", run.data.valueBuckets);
  visit("target_times", run.data.targetTimes);
  visit("target_step_bins", run.data.targetStepBins);
  visit("split_seed", run.data.seed);
  visit("series", run.data.series);
  visit("steps", run.loop.schedule.steps);
  visit("warmup_steps", run.loop.schedule.warmupSteps);
  visit("learning_rate", run.loop.schedule.learningRate);
  visit("final_rate", run.loop.schedule.finalFraction);
  visit("batch", run.loop.batches.rows);
  visit("seed", run.loop.batches.seed);
  visit("unit_dropout", run.loop.batches.augmentation.unitDropout);
  visit("spike_dropout", run.loop.batches.augmentation.spikeDropout);
  visit("added_spikes", run.loop.batches.augmentation.addedSpikes);
  visit("jitter_bins", run.loop.batches.augmentation.jitterBins);
  visit("beta1", run.loop.beta1);
  visit("beta2", run.loop.beta2);
  visit("score_every", run.loop.scoreEvery);
  visit("keep_best", run.loop.keepBest);
  visit("patience", run.loop.patience);
  visit("shards", run.loop.shards);
  visit("average_decay", run.loop.averageDecay);
}

Result<Json> readRunFile(const fs::path &folder) {
  const fs::path path = folder / kRunFile;
  if (!fs::exists(path))
    return notFound(fmt::format("{}: holds no prepared run; make one by betz "
                                "train --compile-only -o {}",
                                folder.string(), folder.string()));
  BETZ_ASSIGN_OR_RETURN(std::string text, readTextFile(path));
  Result<Json> json = parseJson(text);
  if (!json.isOk())
    return json.status().withContext(path.string());
  return json;
}

} // namespace

Status writePreparedRun(const PreparedRun &run, const fs::path &folder) {
  BETZ_RETURN_IF_ERROR(writeProgram(*run.step, folder / kStepFile));
  BETZ_RETURN_IF_ERROR(writeProgram(*run.forward, folder / kForwardFile));
  BETZ_ASSIGN_OR_RETURN(std::vector<Parameter> table,
                        readParameters(*run.step));
  BETZ_RETURN_IF_ERROR(writeWeights(table, run.weights, {}, run.metadata,
                                    folder / kWeightsFile));
  Json json = Json::object();
  forEachSetting(
      run, [&](const char *key, const auto &value) { json[key] = value; });
  return writeJsonReport(json, folder / kRunFile);
}

Result<PreparedRun> readPreparedRun(const fs::path &folder) {
  BETZ_ASSIGN_OR_RETURN(Json json, readRunFile(folder));
  PreparedRun run;
  Status status;
  forEachSetting(run, [&]<typename T>(const char *key, T &value) {
    using Read = std::conditional_t<std::is_integral_v<T>, int64_t, T>;
    Result<Read> read = getMember<Read>(json, key);
    if (read.isOk())
      value = T(*read);
    else if (status.isOk())
      status = read.status().withContext((folder / kRunFile).string());
  });
  BETZ_RETURN_IF_ERROR(status);
  BETZ_ASSIGN_OR_RETURN(run.step, readProgram(folder / kStepFile));
  BETZ_ASSIGN_OR_RETURN(run.forward, readProgram(folder / kForwardFile));
  BETZ_ASSIGN_OR_RETURN(std::vector<Parameter> table,
                        readParameters(*run.step));
  BETZ_ASSIGN_OR_RETURN(run.weights,
                        readWeights(table, false, folder / kWeightsFile));
  BETZ_ASSIGN_OR_RETURN(SafetensorsFile file,
                        SafetensorsFile::open(folder / kWeightsFile));
  run.metadata = file.metadata();
  return run;
}

Status checkFits(const PreparedRun &run, const Dataset &dataset) {
  for (auto [what, compiled, here] :
       {std::tuple("units", run.neurons, dataset.neurons()),
        std::tuple("outputs", run.outputs, dataset.outputs())})
    if (compiled != here)
      return invalidArgument(fmt::format(
          "the run was prepared for {} {}, these recordings have {}; prepare "
          "it again with them",
          compiled, what, here));
  if (dataset.maxEvents() > run.maxEvents)
    return invalidArgument(fmt::format(
        "the run was prepared for at most {} events a window, these recordings "
        "have {}; prepare it again with them",
        run.maxEvents, dataset.maxEvents()));
  return Status::ok();
}

} // namespace betz::train
