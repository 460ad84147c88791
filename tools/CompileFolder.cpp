// What `betz eval DIR` compiles.
#include "tools/CompileFolder.h"
#include "frontend/Gru.h"
#include "runtime/base/Progress.h"
#include "tools/Model.h"
#include "train/build/TrainingPrograms.h"

namespace betz {
namespace {

namespace fs = std::filesystem;

CompileOptions optionsFor(const Device &device, int64_t rows) {
  CompileOptions options;
  options.targets = {train::bestTarget(device)};
  options.precision = DType::F32;
  options.batches = {rows};
  return options;
}

} // namespace

Result<std::shared_ptr<const Program>>
CompileFolder::compileDecoder(const fs::path &folder,
                              const Device &device) const {
  ModelRequest request;
  request.weights = folder / "decoder.safetensors";
  BETZ_ASSIGN_OR_RETURN(LoadedModel model, loadModel(request));
  BETZ_RETURN_IF_ERROR(loadWeights(request, model));
  BusyLine busy("compiling the decoder");
  return compileModule(*model.module, model.weights, optionsFor(device, 64));
}

Result<std::shared_ptr<const Program>>
CompileFolder::compileGru(const fs::path &folder, const Device &device,
                          const train::Dataset &dataset) const {
  ModelRequest request;
  request.weights = folder / "gru" / "gru.safetensors";
  std::error_code error;
  if (!fs::exists(request.weights, error))
    return std::shared_ptr<const Program>();
  GruConfig config;
  config.units = dataset.neurons();
  config.bins = dataset.spec().historyBins;
  config.outputs = dataset.outputs();
  LoadedModel model;
  model.context = ir::makeContext();
  model.module = buildGru(*model.context, config);
  BETZ_RETURN_IF_ERROR(loadWeights(request, model));
  BusyLine busy("compiling the recurrent baseline");
  return compileModule(*model.module, model.weights,
                       optionsFor(device, kGruRows));
}

} // namespace betz
