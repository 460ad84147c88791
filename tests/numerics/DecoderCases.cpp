#include "tests/numerics/DecoderCases.h"

#include <fmt/format.h>

namespace betz {
namespace {

int64_t pick(Random &random, std::initializer_list<int64_t> values) {
  return values.begin()[random() % values.size()];
}

int32_t uniform(Random &random, int32_t low, int32_t high) {
  return std::uniform_int_distribution<int32_t>(low, high)(random);
}

reference::Tensor indices(std::vector<int32_t> values) {
  return {{int64_t(values.size())}, {}, std::move(values)};
}

} // namespace

ModelConfig randomConfig(Random &random) {
  ModelConfig config;
  config.norm = random() % 2 ? "layernorm" : "rmsnorm";
  config.time = random() % 2 ? "table" : "rotary";
  int64_t headSize = config.time == "rotary"
                         ? pick(random, {2, 6, 8, 16, 18})
                         : pick(random, {1, 3, 5, 8, 17, 32});
  // Rows of a few columns would hardly have a variance.
  config.heads =
      std::max(pick(random, {1, 2, 3, 5}), (5 + headSize) / headSize);
  config.dim = config.heads * headSize;
  config.layers = pick(random, {1, 1, 2});
  config.latents = pick(random, {1, 2, 7, 16, 33, 50});
  config.maxNeurons = pick(random, {1, 5, 96});
  config.valueBuckets = pick(random, {2, 8});
  config.behaviorDim = pick(random, {1, 2, 3, 17});
  config.mlpRatio = pick(random, {1, 3, 4});
  config.windowBins = pick(random, {1, 12, 60});
  config.maxTimeBins = config.windowBins + pick(random, {0, 9});
  config.binMs = double(pick(random, {5, 20}));
  // From seeing next to nothing to seeing all.
  if (random() % 2)
    config.reachBins =
        double(config.windowBins) * 0.01 * double(uniform(random, 1, 110));
  return config;
}

std::string describe(const ModelConfig &c) {
  return fmt::format("dim {} heads {} layers {} latents {} neurons {} buckets "
                     "{} behavior {} mlp {} bins {} of {} {} {} reach {}",
                     c.dim, c.heads, c.layers, c.latents, c.maxNeurons,
                     c.valueBuckets, c.behaviorDim, c.mlpRatio, c.windowBins,
                     c.maxTimeBins, c.norm, c.time, c.reachBins);
}

Result<mlir::OwningOpRef<mlir::ModuleOp>>
buildDecoder(mlir::MLIRContext &context, const ModelConfig &config) {
  ModelDescription model;
  model.config = config;
  return buildDecoder(context, model, {"behavior", "latents_out"});
}

reference::TensorMap randomWeights(mlir::ModuleOp module, Random &random) {
  std::normal_distribution<double> normal;
  reference::TensorMap weights;
  mlir::func::FuncOp prepare = ir::getPrepare(module);
  for (unsigned i = 0; i < prepare.getNumArguments(); ++i) {
    auto type = llvm::cast<ir::Tensor>(prepare.getArgumentTypes()[i]);
    llvm::StringRef init = ir::getArgName(prepare, i, ir::kInitAttr);
    double mean = init == "ones" ? 1.0 : 0.0;
    double deviation = 0.3;
    if (init == "normal")
      deviation = 0.5;
    else if (init == "uniform")
      deviation = 0.6 / std::sqrt(double(ir::columnsOf(type)));
    reference::Tensor tensor{type.getShape().vec(), {}, {}};
    for (int64_t e = 0; e < type.getNumElements(); ++e)
      tensor.real.push_back(float(mean + deviation * normal(random)));
    weights[ir::getArgName(prepare, i, ir::kWeightAttr).str()] =
        std::move(tensor);
  }
  return weights;
}

reference::TensorMap randomBatch(const ModelConfig &config,
                                 const std::vector<int32_t> &lengths,
                                 Random &random) {
  std::vector<int32_t> neurons, times, values, splits{0}, starts;
  for (int32_t length : lengths) {
    starts.push_back(uniform(random, -1000, 1000000));
    for (int32_t e = 0; e < length; ++e) {
      neurons.push_back(uniform(random, 0, int32_t(config.maxNeurons) - 1));
      times.push_back(starts.back() +
                      uniform(random, 0, int32_t(config.windowBins) - 1));
      values.push_back(uniform(random, 0, int32_t(config.valueBuckets) - 1));
    }
    splits.push_back(int32_t(times.size()));
  }
  return {{"neuron_id", indices(std::move(neurons))},
          {"time_bin", indices(std::move(times))},
          {"value", indices(std::move(values))},
          {"row_splits", indices(std::move(splits))},
          {"window_start", indices(std::move(starts))}};
}

reference::TensorMap pickWindows(const reference::TensorMap &batch,
                                 const std::vector<size_t> &windows) {
  const std::vector<int32_t> &from = batch.at("row_splits").integer;
  std::map<std::string, std::vector<int32_t>> picked = {{"row_splits", {0}}};
  for (size_t window : windows) {
    for (const char *name : {"neuron_id", "time_bin", "value"}) {
      const std::vector<int32_t> &all = batch.at(name).integer;
      picked[name].insert(picked[name].end(), all.begin() + from[window],
                          all.begin() + from[window + 1]);
    }
    picked["window_start"].push_back(batch.at("window_start").integer[window]);
    picked["row_splits"].push_back(int32_t(picked["value"].size()));
  }
  reference::TensorMap result;
  for (auto &[name, values] : picked)
    result[name] = indices(std::move(values));
  return result;
}

reference::Tensor pickRow(const reference::Tensor &output, size_t window) {
  std::vector<int64_t> shape = output.shape;
  auto size = output.real.size() / size_t(shape[0]);
  shape[0] = 1;
  auto first = output.real.begin() + int64_t(window * size);
  return {std::move(shape), {first, first + int64_t(size)}, {}};
}

} // namespace betz
