#include "train/build/TrainingPrograms.h"

#include <cstdlib>
#include <fmt/format.h>

namespace betz::train {

namespace {

/// Unit id -> neuron of a session; of several sessions a list.
Json unitTables(const Dataset &dataset) {
  Json tables = Json::array();
  for (int64_t i = 0; i < dataset.sessions(); ++i) {
    const Session &session = dataset.session(i);
    Json table = Json::object();
    for (size_t unit = 0; unit < session.unitIds.size(); ++unit)
      table[fmt::to_string(session.unitIds[unit])] =
          session.firstNeuron + int32_t(unit);
    tables.push_back(std::move(table));
  }
  return tables.size() == 1 ? tables.front() : tables;
}

} // namespace

Result<ModelDescription> describeModel(const Recipe &recipe,
                                       const Dataset &dataset) {
  const DataSpec &spec = dataset.spec();
  const Session &first = dataset.session(0);
  std::map<std::string, std::string> keys = recipe.model;
  keys["max_neurons"] = fmt::to_string(dataset.neurons());
  keys["max_time_bins"] = fmt::to_string(spec.historyBins);
  keys["value_buckets"] = fmt::to_string(spec.valueBuckets);
  keys["behavior_dim"] =
      fmt::to_string(std::max<int64_t>(dataset.outputs(), 1));
  keys["bin_ms"] = fmt::to_string(spec.binMs);
  keys["window_bins"] = fmt::to_string(spec.historyBins);
  keys["stride_bins"] = fmt::to_string(spec.strideBins);
  if (dataset.sessions() == 1) {
    keys["units"] = unitTables(dataset).dump();
    if (spec.targetTimes == 1 && first.behavior) {
      keys["target_mean"] = Json(first.scale.mean).dump();
      keys["target_std"] = Json(first.scale.deviation).dump();
      keys["output_units"] = Json(first.behavior->unit).dump();
    }
  }
  return readModelMetadata(keys, "[model]");
}

passes::TrainingOptions trainingOptions(const Recipe &recipe) {
  passes::TrainingOptions options;
  options.losses = {{"behavior", "target"}};
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
