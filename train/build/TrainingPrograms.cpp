#include "train/build/TrainingPrograms.h"

#include <cstdlib>
#include <fmt/format.h>

namespace betz::train {

namespace {

/// What of the model's metadata is a session's own.
Json describeSession(const Session &session, const DataSpec &spec) {
  Json units = Json::object();
  for (size_t unit = 0; unit < session.unitIds.size(); ++unit)
    units[fmt::to_string(session.unitIds[unit])] =
        session.firstNeuron + int32_t(unit);
  Json own = {{"name", session.name()}, {"units", std::move(units)}};
  if (spec.targetTimes == 1 && session.behavior) {
    own["target_mean"] = session.scale.mean;
    own["target_std"] = session.scale.deviation;
    own["output_units"] = session.behavior->unit;
  }
  return own;
}

} // namespace

Result<ModelDescription> describeModel(const Recipe &recipe,
                                       const Dataset &dataset) {
  const DataSpec &spec = dataset.spec();
  std::map<std::string, std::string> keys = recipe.model;
  keys["max_neurons"] = fmt::to_string(dataset.neurons());
  keys["max_time_bins"] = fmt::to_string(spec.historyBins);
  keys["value_buckets"] = fmt::to_string(spec.valueBuckets);
  keys["behavior_dim"] =
      fmt::to_string(std::max<int64_t>(dataset.outputs(), 1));
  keys["bin_ms"] = fmt::to_string(spec.binMs);
  keys["window_bins"] = fmt::to_string(spec.historyBins);
  keys["stride_bins"] = fmt::to_string(spec.strideBins);
  Json sessions = Json::array();
  for (int64_t i = 0; i < dataset.sessions(); ++i)
    sessions.push_back(describeSession(dataset.session(i), spec));
  if (sessions.size() == 1)
    for (const auto &[key, value] : sessions.front().items())
      if (key != "name")
        keys[key] = value.dump();
  keys["sessions"] = sessions.dump();
  return readModelMetadata(keys, "[model]");
}

passes::TrainingOptions trainingOptions(const Recipe &recipe) {
  passes::TrainingOptions options;
  options.narrow = recipe.precision == "bf16";
  options.beta1 = recipe.beta1;
  options.beta2 = recipe.beta2;
  options.weightDecay = recipe.weightDecay;
  options.clip = recipe.clip;
  return options;
}

std::map<std::string, std::string>
weightsMetadata(const ModelDescription &model) {
  std::map<std::string, std::string> metadata = model.metadata;
  const Result<Json> config = parseJson(toProgramMetadata(model).at("config"));
  for (const auto &[key, value] : config->items())
    metadata[key] = value.is_string() ? value.get<std::string>() : value.dump();
  return metadata;
}

std::string bestTarget(const Device &device) {
  for (const char *architecture : {"sm_90a", "sm_80"})
    if (const auto target = fmt::format("cuda:{}", architecture);
        device.supports(target, architecture))
      return target;
  return device.supports("cuda:sm_80", "compute_80") ? "cuda:sm_80" : "cpu";
}

Result<std::shared_ptr<const Program>>
compileStep(mlir::ModuleOp model, const passes::TrainingOptions &options,
            const std::string &target, int64_t batch, int64_t maxEvents) {
  BETZ_ASSIGN_OR_RETURN(passes::TrainingModule step,
                        passes::makeTrainingModule(model, options));
  CompileOptions compile;
  compile.targets = {target};
  compile.precision = DType::F32; // the module says where it is narrow
  compile.batches = {batch};
  compile.maxEvents = maxEvents;
  // A level that is forced by name may be another than the best.
  compile.forThisMachine = !std::getenv("BETZ_CPU_ISA");
  return compileModule(*step.module, {}, compile);
}

} // namespace betz::train
