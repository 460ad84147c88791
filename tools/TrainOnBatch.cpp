#include "runtime/io/HostTensor.h"
#include "runtime/session/OpenDevice.h"
#include "runtime/session/Session.h"
#include "tools/Compare.h"
#include "tools/TrainOptions.h"
#include "train/build/TrainingPrograms.h"
#include "train/loop/Parameters.h"
#include "train/loop/Schedule.h"
#include "train/loop/StepInputs.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <fmt/format.h>

namespace betz {
namespace {

using Metadata = std::map<std::string, std::string>;

/// The numbers in a metadata entry's text, such as "0.9,0.95" or "global norm
/// 1.0, before the step".
Result<std::vector<double>> numbersIn(const Metadata &metadata,
                                      const std::string &key) {
  const auto found = metadata.find(key);
  if (found == metadata.end())
    return invalidArgument(fmt::format("its metadata lacks \"{}\"", key));
  std::vector<double> numbers;
  const char *at = found->second.data(), *end = at + found->second.size();
  while (at != end) {
    double value;
    const auto [next, error] = std::from_chars(at, end, value);
    if (error == std::errc())
      numbers.push_back(value);
    at = error == std::errc() ? next : at + 1;
  }
  if (numbers.empty())
    return invalidArgument(
        fmt::format("its \"{}\" has no number: {}", key, found->second));
  return numbers;
}

struct BatchRecipe {
  int64_t steps = 0;
  double learningRate = 0;
  passes::TrainingOptions options;
};

Result<BatchRecipe> readBatchRecipe(const Metadata &metadata) {
  BatchRecipe recipe;
  BETZ_ASSIGN_OR_RETURN(auto steps, numbersIn(metadata, "steps"));
  BETZ_ASSIGN_OR_RETURN(auto rate, numbersIn(metadata, "lr"));
  BETZ_ASSIGN_OR_RETURN(auto betas, numbersIn(metadata, "betas"));
  BETZ_ASSIGN_OR_RETURN(auto eps, numbersIn(metadata, "eps"));
  BETZ_ASSIGN_OR_RETURN(auto decay, numbersIn(metadata, "weight_decay"));
  BETZ_ASSIGN_OR_RETURN(auto clip, numbersIn(metadata, "clip"));
  if (betas.size() < 2 || steps[0] < 1 || steps[0] > 1e6)
    return invalidArgument("its \"betas\" or \"steps\" make no sense");
  recipe.steps = int64_t(steps[0]);
  recipe.learningRate = rate[0];
  recipe.options.beta1 = betas[0];
  recipe.options.beta2 = betas[1];
  recipe.options.eps = eps[0];
  recipe.options.weightDecay = decay[0];
  recipe.options.clip = clip[0];
  return recipe;
}

/// Longest row of the batch, by its row splits.
int64_t longestRow(const std::vector<HostTensor> &tensors) {
  int64_t longest = 1;
  for (const HostTensor &tensor : tensors)
    if ((tensor.name == "row_splits" || tensor.name == "offsets") &&
        tensor.dtype == DType::I32) {
      const std::span<const int32_t> splits = tensor.as<int32_t>();
      for (size_t i = 1; i < splits.size(); ++i)
        longest = std::max<int64_t>(longest, splits[i] - splits[i - 1]);
    }
  return longest;
}

Result<std::vector<HostTensor>> readBatch(const std::filesystem::path &path) {
  BETZ_ASSIGN_OR_RETURN(SafetensorsFile file, SafetensorsFile::open(path));
  std::vector<HostTensor> tensors;
  for (const SafeTensor &tensor : file.tensors()) {
    if (tensor.name.starts_with("grad.") || tensor.dtype == "F64")
      continue;
    Result<HostTensor> host = toHost(tensor);
    if (!host.isOk())
      return std::move(host).status().withContext(path.string());
    tensors.push_back(std::move(host).value());
  }
  return tensors;
}

/// The queries of masked spikes as dense rows, as long as the longest: the rest
/// are place 0 without a label. Returns their length; 0 if there are none.
Result<int64_t> padQueries(std::vector<HostTensor> &batch) {
  const auto offsets =
      std::ranges::find(batch, "query_offsets", &HostTensor::name);
  if (offsets == batch.end())
    return 0;
  const std::vector<int32_t> ends(offsets->as<int32_t>().begin(),
                                  offsets->as<int32_t>().end());
  int64_t length = 1;
  for (size_t row = 1; row < ends.size(); ++row)
    length = std::max<int64_t>(length, ends[row] - ends[row - 1]);
  const int64_t rows = int64_t(ends.size()) - 1;
  for (HostTensor &tensor : batch) {
    if (!tensor.name.starts_with("query_") || tensor.name == "query_offsets")
      continue;
    const std::span<const int32_t> flat = tensor.as<int32_t>();
    if (rows < 0 || !std::ranges::is_sorted(ends) || ends.front() != 0 ||
        size_t(ends.back()) != flat.size())
      return invalidArgument(
          fmt::format("query_offsets do not cut the {} queries of {} into rows",
                      flat.size(), tensor.name));
    std::vector<int32_t> padded(size_t(rows * length),
                                tensor.name == "query_value" ? -1 : 0);
    for (int64_t row = 0; row < rows; ++row)
      std::copy(flat.begin() + ends[size_t(row)],
                flat.begin() + ends[size_t(row) + 1],
                padded.begin() + row * length);
    tensor.shape = {rows, length};
    tensor.data.resize(padded.size() * sizeof(int32_t));
    std::memcpy(tensor.data.data(), padded.data(), tensor.data.size());
  }
  return length;
}

/// One tensor of an output of a step of `extents`.
struct Output {
  uint32_t number = 0;
  std::vector<int64_t> shape;
  std::vector<float> values;

  OutputBinding binding() { return {number, DType::F32, values.data(), shape}; }
};

class BatchTraining {
public:
  BatchTraining(std::unique_ptr<Session> session, BatchRecipe recipe,
                std::vector<HostTensor> batch)
      : session(std::move(session)), recipe(std::move(recipe)),
        batch(std::move(batch)) {}

  Status run(std::vector<float> weights) {
    const std::vector<float> zeros(weights.size());
    for (const char *state : {"moment1", "moment2"})
      BETZ_RETURN_IF_ERROR(session->writeState(
          state, std::as_bytes(std::span<const float>(zeros))));
    BETZ_RETURN_IF_ERROR(session->writeState(
        "weights", std::as_bytes(std::span<const float>(weights))));
    BETZ_RETURN_IF_ERROR(findBehavior());
    for (int64_t step = 0; step < recipe.steps; ++step)
      BETZ_RETURN_IF_ERROR(runStep(step));
    // The outputs after the last step: those of one that changes nothing more.
    return runStep(recipe.steps);
  }

  std::vector<NamedValues> results() const {
    auto values = [](const std::string &name, const std::vector<double> &all,
                     std::vector<int64_t> shape) {
      return NamedValues{name, std::move(shape), all};
    };
    const std::vector<int64_t> steps = {recipe.steps};
    auto first = [&](std::vector<double> all) {
      all.resize(size_t(recipe.steps));
      return all;
    };
    return {values("loss", first(losses), steps),
            values("grad_norm", first(norms), steps),
            values("behavior_after",
                   {behavior.values.begin(), behavior.values.end()},
                   behavior.shape)};
  }

private:
  Status findBehavior() {
    const Program &program = session->program();
    BETZ_ASSIGN_OR_RETURN(behavior.number,
                          train::findOutput(program, "behavior"));
    for (const HostTensor &tensor : batch)
      if (tensor.name == "target")
        behavior.shape = tensor.shape;
    if (behavior.shape.empty())
      return invalidArgument("the batch has no \"target\" of type F32");
    int64_t elements = 1;
    for (int64_t size : behavior.shape)
      elements *= size;
    behavior.values.resize(size_t(elements));
    return Status::ok();
  }

  Status runStep(int64_t step) {
    const Program &program = session->program();
    train::Schedule rates;
    rates.constant = true;
    rates.learningRate = recipe.learningRate;
    const std::array<float, 4> schedule = train::scheduleInput(
        rates, step, recipe.options.beta1, recipe.options.beta2);
    train::StepInputs inputs(program);
    inputs.bind("schedule", DType::F32, schedule.data(), {4});
    for (const HostTensor &tensor : batch)
      inputs.bind(tensor.name, tensor.dtype, tensor.data.data(), tensor.shape);
    Output loss{.shape = {1}, .values = {0}}, squares = loss;
    BETZ_ASSIGN_OR_RETURN(loss.number, train::findOutput(program, "loss"));
    BETZ_ASSIGN_OR_RETURN(squares.number,
                          train::findOutput(program, "grad_squares"));
    const OutputBinding outputs[] = {loss.binding(), squares.binding(),
                                     behavior.binding()};
    BETZ_RETURN_IF_ERROR(session->run(inputs.bindings(), outputs));
    losses.push_back(double(loss.values[0]));
    norms.push_back(std::sqrt(double(squares.values[0])));
    return Status::ok();
  }

  std::unique_ptr<Session> session;
  BatchRecipe recipe;
  std::vector<HostTensor> batch;
  Output behavior;
  std::vector<double> losses, norms;
};

Result<std::vector<NamedValues>> readExpected(const SafetensorsFile &file) {
  std::vector<NamedValues> expected;
  for (const SafeTensor &tensor : file.tensors()) {
    BETZ_ASSIGN_OR_RETURN(HostTensor host, toHost(tensor));
    NamedValues values{host.name, host.shape, {}};
    if (host.dtype == DType::F64)
      values.values.assign(host.as<double>().begin(), host.as<double>().end());
    else if (host.dtype == DType::F32)
      values.values.assign(host.as<float>().begin(), host.as<float>().end());
    else
      continue;
    expected.push_back(std::move(values));
  }
  return expected;
}

} // namespace

Status trainOnBatch(const TrainOptions &options) {
  BETZ_ASSIGN_OR_RETURN(SafetensorsFile expectedFile,
                        SafetensorsFile::open(options.expected));
  Result<BatchRecipe> recipe = readBatchRecipe(expectedFile.metadata());
  if (!recipe.isOk())
    return std::move(recipe).status().withContext(options.expected.string());
  recipe->options.losses = {{"behavior", "target"}};
  BETZ_ASSIGN_OR_RETURN(std::vector<HostTensor> batch,
                        readBatch(options.input));
  Result<int64_t> queries = padQueries(batch);
  if (!queries.isOk())
    return std::move(queries).status().withContext(options.input.string());
  if (*queries > 0)
    recipe->options.losses.push_back(
        {"spike_logits", "query_value",
         passes::TrainingLoss::Kind::CrossEntropy});

  BETZ_ASSIGN_OR_RETURN(SafetensorsFile weightsFile,
                        SafetensorsFile::open(options.weights));
  BETZ_ASSIGN_OR_RETURN(
      ModelDescription description,
      readModelMetadata(weightsFile.metadata(), options.weights.string()));
  const std::unique_ptr<mlir::MLIRContext> context = ir::makeContext();
  BETZ_ASSIGN_OR_RETURN(auto model,
                        buildDecoder(*context, description, {"behavior"},
                                     {.spikeQueries = *queries}));
  int64_t rows = 1;
  for (const HostTensor &tensor : batch)
    if (tensor.name == "target" && !tensor.shape.empty())
      rows = std::max<int64_t>(rows, tensor.shape[0]);
  BETZ_ASSIGN_OR_RETURN(
      std::shared_ptr<Device> device,
      openDevice(options.device, {.threads = options.threads}));
  BETZ_ASSIGN_OR_RETURN(std::shared_ptr<const Program> program,
                        train::compileStep(*model, recipe->options,
                                           train::bestTarget(*device), rows,
                                           longestRow(batch)));
  BETZ_ASSIGN_OR_RETURN(std::vector<train::Parameter> parameters,
                        train::readParameters(*program));
  BETZ_ASSIGN_OR_RETURN(std::vector<float> weights,
                        train::readWeights(parameters, false, options.weights));
  BETZ_ASSIGN_OR_RETURN(std::unique_ptr<Session> session,
                        Session::create(program, device));
  BatchTraining training(std::move(session), *recipe, std::move(batch));
  BETZ_RETURN_IF_ERROR(
      training.run(std::move(weights)).withContext(options.input.string()));

  BETZ_ASSIGN_OR_RETURN(std::vector<NamedValues> expected,
                        readExpected(expectedFile));
  Json report = {{"steps", recipe->steps}, {"device", options.device}};
  Status status =
      compareOutputs(training.results(), expected, options.tolerance, report);
  if (options.json != "-")
    printComparison(report, options.tolerance);
  if (!options.json.empty())
    BETZ_RETURN_IF_ERROR(writeJsonReport(report, options.json));
  return status;
}

} // namespace betz
