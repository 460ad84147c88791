#include "tools/Model.h"

#include "passes/Passes.h"
#include "runtime/base/Hash.h"
#include "runtime/base/Log.h"
#include "runtime/io/HostTensor.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fmt/format.h>
#include <numbers>
#include <unistd.h>

namespace betz {

using namespace ir;

namespace {

std::string join(const std::vector<std::string> &items) {
  return fmt::format("{}", fmt::join(items, ", "));
}

/// The model that a weights file's metadata describes.
Result<ModelDescription> describeWeights(const std::filesystem::path &path) {
  BETZ_ASSIGN_OR_RETURN(SafetensorsFile file, SafetensorsFile::open(path));
  return readModelMetadata(file.metadata(), path.string());
}

/// From the TOML, the weights' metadata, or both where they agree; units and
/// target scales come from the metadata unless the TOML sets them.
Result<ModelDescription> describe(const ModelRequest &request) {
  if (request.model.empty()) {
    if (request.weights.empty())
      return invalidArgument("no model: give a model TOML or .mlir file, or "
                             "--weights whose metadata describes one");
    return describeWeights(request.weights);
  }
  BETZ_ASSIGN_OR_RETURN(ModelDescription model, readModelToml(request.model));
  if (request.weights.empty())
    return model;
  Result<ModelDescription> other = describeWeights(request.weights);
  if (!other.isOk()) {
    if (other.status().getCode() == StatusCode::NotFound)
      return model; // weights of another tool, without a configuration
    return std::move(other).status();
  }
  BETZ_RETURN_IF_ERROR(checkAgreement(model, request.model.string(), *other,
                                      request.weights.string()));
  model.metadata.merge(other->metadata);
  return model;
}

Result<LoadedModel> loadDecoder(const ModelRequest &request) {
  BETZ_ASSIGN_OR_RETURN(ModelDescription description, describe(request));
  LoadedModel model;
  model.context = makeContext();
  BETZ_ASSIGN_OR_RETURN(
      model.module, buildDecoder(*model.context, description, request.outputs));
  model.parameters = countParameters(*model.module, description.config);
  for (const WeightShape &weight : carriedWeights(description.config))
    model.carried.push_back(weight.name);
  return model;
}

Result<LoadedModel> loadModule(const ModelRequest &request) {
  BETZ_ASSIGN_OR_RETURN(std::string text, readTextFile(request.model));
  LoadedModel model;
  model.context = makeContext();
  BETZ_ASSIGN_OR_RETURN(
      model.module, parseModule(*model.context, text, request.model.string()));
  BETZ_RETURN_IF_ERROR(
      passes::verifyPhase(*model.module).withContext(request.model.string()));
  for (mlir::Type type : getPrepare(*model.module).getArgumentTypes())
    model.parameters += llvm::cast<Tensor>(type).getNumElements();
  return model;
}

//===----------------------------------------------------------------------===//
// Weights
//===----------------------------------------------------------------------===//

/// splitmix64 (Steele et al., 2014): a stream a weight, by name and seed.
class RandomStream {
public:
  RandomStream(uint64_t seed, std::string_view name)
      : state(hashBytes(name, seed)) {}

  /// In (0, 1).
  double uniform() {
    uint64_t z = (state += 0x9E3779B97F4A7C15ull);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    return (double((z ^ (z >> 31)) >> 11) + 0.5) * 0x1p-53;
  }
  /// Box-Muller.
  double normal() {
    double radius = std::sqrt(-2.0 * std::log(uniform()));
    return radius * std::cos(2.0 * std::numbers::pi * uniform());
  }

private:
  uint64_t state;
};

/// Initial values as PyTorch's modules start: embeddings N(0, 0.02), linear
/// layers uniform within 1 / sqrt(fan-in), norms at one and zero.
reference::Tensor randomWeight(uint64_t seed, llvm::StringRef name,
                               llvm::StringRef init, Tensor type) {
  reference::Tensor tensor;
  tensor.shape = type.getShape().vec();
  tensor.real.resize(size_t(type.getNumElements()));
  RandomStream random(seed, name.str());
  double bound = 1.0 / std::sqrt(double(std::max<int64_t>(
                           1, type.getRank() ? columnsOf(type) : 1)));
  for (double &value : tensor.real) {
    if (init == "ones")
      value = 1.0;
    else if (init == "zeros")
      value = 0.0;
    else if (init == "normal")
      value = 0.02 * random.normal();
    else
      value = bound * (2.0 * random.uniform() - 1.0);
    value = double(float(value));
  }
  return tensor;
}

/// Weights in f64, what is derived from them in f64 and then in f32, and the
/// program file's bytes.
constexpr double kBytesPerParameter = 24;

/// A model that this machine cannot hold is refused before memory is taken for
/// its random weights. (Those of a file are there.)
Status checkFits(const ModelRequest &request, const LoadedModel &model) {
  double parameters = 0;
  for (mlir::Type type : getPrepare(*model.module).getArgumentTypes()) {
    double elements = 1;
    for (int64_t size : llvm::cast<Tensor>(type).getShape())
      elements *= double(size);
    parameters += elements;
  }
  double memory =
      double(::sysconf(_SC_PHYS_PAGES)) * double(::sysconf(_SC_PAGESIZE));
  double needed = parameters * kBytesPerParameter;
  if (needed <= memory)
    return Status::ok();
  return resourceExhausted(fmt::format(
      "{}: has {:.4g} parameters, which need some {:.0f} GB of memory; this "
      "machine has {:.0f} GB",
      request.model.string(), parameters, needed / 1e9, memory / 1e9));
}

std::string shapeText(llvm::ArrayRef<int64_t> shape) {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

/// Appends what is wrong with a weight to `faults`, or converts it.
void takeWeight(const SafetensorsFile &file, llvm::StringRef name, Tensor type,
                reference::TensorMap &weights,
                std::vector<std::string> &faults) {
  const SafeTensor *tensor = file.find(name.str());
  if (!tensor) {
    faults.push_back(fmt::format("{} is missing", name.str()));
    return;
  }
  if (tensor->dtype != "F32") {
    faults.push_back(
        fmt::format("{} is {}, not F32", name.str(), tensor->dtype));
    return;
  }
  if (llvm::ArrayRef<int64_t>(tensor->shape) != type.getShape()) {
    faults.push_back(fmt::format("{} is {}, not {}", name.str(),
                                 shapeText(tensor->shape),
                                 shapeText(type.getShape())));
    return;
  }
  reference::Tensor &weight = weights[name.str()];
  weight.shape = tensor->shape;
  weight.real.resize(size_t(type.getNumElements()));
  for (size_t i = 0; i < weight.real.size(); ++i) {
    float value;
    std::memcpy(&value, tensor->bytes.data() + i * sizeof(float),
                sizeof(float));
    weight.real[i] = value;
  }
}

Status reportUnused(const ModelRequest &request, const LoadedModel &model,
                    const SafetensorsFile &file) {
  std::vector<std::string> unused;
  for (const SafeTensor &tensor : file.tensors())
    if (!model.weights.count(tensor.name) &&
        std::find(model.carried.begin(), model.carried.end(), tensor.name) ==
            model.carried.end())
      unused.push_back(tensor.name);
  if (unused.empty())
    return Status::ok();
  std::string text = fmt::format("{}: the graph does not use {}",
                                 request.weights.string(), join(unused));
  if (request.strict)
    return invalidArgument(text + "; drop --strict to leave them out");
  logWarn("weights", "{}", text);
  return Status::ok();
}

} // namespace

Result<LoadedModel> loadModel(const ModelRequest &request) {
  Result<LoadedModel> model = request.model.extension() == ".mlir"
                                  ? loadModule(request)
                                  : loadDecoder(request);
  if (model.isOk()) {
    model->name = (request.model.empty() ? request.weights : request.model)
                      .stem()
                      .string();
    if (model->name.ends_with(".weights"))
      model->name.resize(model->name.size() - 8);
  }
  return model;
}

// The same weights whatever phase the module is in: the init hint travels on
// @prepare's arguments.
reference::TensorMap randomWeights(mlir::ModuleOp module, uint64_t seed) {
  reference::TensorMap weights;
  mlir::func::FuncOp prepare = getPrepare(module);
  for (unsigned i = 0; i < prepare.getNumArguments(); ++i) {
    llvm::StringRef name = getArgName(prepare, i, kWeightAttr);
    weights[name.str()] =
        randomWeight(seed, name, getArgName(prepare, i, kInitAttr),
                     llvm::cast<Tensor>(prepare.getArgumentTypes()[i]));
  }
  return weights;
}

Status loadWeights(const ModelRequest &request, LoadedModel &model) {
  if (request.weights.empty()) {
    BETZ_RETURN_IF_ERROR(checkFits(request, model));
    fmt::print(stderr, "betz: note: no --weights: random ones from seed {}\n",
               request.seed);
    model.weights = randomWeights(*model.module, request.seed);
    return Status::ok();
  }
  BETZ_ASSIGN_OR_RETURN(SafetensorsFile file,
                        SafetensorsFile::open(request.weights));
  mlir::func::FuncOp prepare = getPrepare(*model.module);
  std::vector<std::string> faults;
  for (unsigned i = 0; i < prepare.getNumArguments(); ++i)
    takeWeight(file, getArgName(prepare, i, kWeightAttr),
               llvm::cast<Tensor>(prepare.getArgumentTypes()[i]), model.weights,
               faults);
  if (!faults.empty())
    return invalidArgument(
        fmt::format("{}: these weights do not fit the model: {}",
                    request.weights.string(), join(faults)));
  return reportUnused(request, model, file);
}

Status writeText(std::string_view text, const std::filesystem::path &path) {
  if (path != "-")
    return writeFileAtomically(path, text);
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size())
    return resourceExhausted("cannot write to standard output");
  return Status::ok();
}

Result<reference::TensorMap> readTensors(const std::filesystem::path &path) {
  BETZ_ASSIGN_OR_RETURN(SafetensorsFile file, SafetensorsFile::open(path));
  reference::TensorMap tensors;
  for (const SafeTensor &tensor : file.tensors()) {
    if (tensor.dtype != "F32" && tensor.dtype != "F64" &&
        tensor.dtype != "I32" && tensor.dtype != "I64")
      continue;
    Result<HostTensor> host = toHost(tensor);
    if (!host.isOk())
      return std::move(host).status().withContext(path.string());
    reference::Tensor &value = tensors[tensor.name];
    value.shape = host->shape;
    if (host->dtype == DType::I32)
      value.integer.assign(host->as<int32_t>().begin(),
                           host->as<int32_t>().end());
    else if (host->dtype == DType::F32)
      value.real.assign(host->as<float>().begin(), host->as<float>().end());
    else
      value.real.assign(host->as<double>().begin(), host->as<double>().end());
  }
  return tensors;
}

} // namespace betz
