#include "tools/ProgramDecoder.h"
#include "runtime/base/Progress.h"
#include "runtime/session/BatchedRun.h"
#include "train/data/Batches.h"
#include "train/loop/StepInputs.h"

#include <algorithm>
#include <fmt/format.h>
#include <numeric>

namespace betz {
namespace {

using namespace train;

/// Leaves out the events of neurons that the program does not know.
void translate(const std::vector<int32_t> &neuronOf, Batch &batch) {
  size_t kept = 0, read = 0;
  for (size_t row = 1; row < batch.rowSplits.size(); ++row) {
    for (; read < size_t(batch.rowSplits[row]); ++read) {
      const int32_t neuron = neuronOf[size_t(batch.neuronId[read])];
      if (neuron < 0)
        continue;
      batch.neuronId[kept] = neuron;
      batch.timeBin[kept] = batch.timeBin[read];
      batch.value[kept++] = batch.value[read];
    }
    batch.rowSplits[row] = int32_t(kept);
  }
  batch.neuronId.resize(kept);
  batch.timeBin.resize(kept);
  batch.value.resize(kept);
}

Result<TargetScale> readScale(const Metadata &metadata, size_t columns) {
  TargetScale scale;
  BETZ_ASSIGN_OR_RETURN(scale.mean,
                        readNumbers(metadata, "target_mean", columns));
  BETZ_ASSIGN_OR_RETURN(scale.deviation,
                        readNumbers(metadata, "target_std", columns));
  return scale;
}

} // namespace

Result<DataSpec> readDataSpec(const Program &program) {
  BETZ_ASSIGN_OR_RETURN(DecoderWindows info,
                        readDecoderWindows(program.metadata));
  DataSpec spec;
  spec.binMs = info.windows.binMs;
  spec.historyBins = info.windows.windowBins;
  spec.strideBins = info.windows.strideBins;
  spec.valueBuckets = info.windows.valueBuckets;
  return spec;
}

Result<ProgramDecoder>
ProgramDecoder::create(std::unique_ptr<betz::Session> session,
                       const Dataset &dataset) {
  const Program &program = session->program();
  for (const char *name : {"neuron_id", "time_bin", "value", "row_splits"})
    if (std::none_of(program.inputs.begin(), program.inputs.end(),
                     [&](const InputSpec &input) {
                       return input.tensor.name == name || input.alias == name;
                     }))
      return invalidArgument(fmt::format(
          "the program has no input {}, so it is no decoder of spikes", name));
  BETZ_ASSIGN_OR_RETURN(uint32_t output, findOutput(program, "behavior"));
  const TensorSpec &spec = program.outputs[output];
  if (spec.dtype != DType::F32 || spec.shape.size() != 2 ||
      spec.shape[1].symbol >= 0)
    return invalidArgument("the program's output behavior is not "
                           "f32 [windows, columns]");
  ProgramDecoder decoder(std::move(session), output);
  decoder.outputs = spec.shape[1].plus;
  const int64_t columns = dataset.session(0).columns();
  if (columns == 0 || decoder.outputs % columns != 0)
    return invalidArgument(fmt::format(
        "the recording's behaviour has {} columns, but the program decodes "
        "{}; name the series by --series",
        columns, decoder.outputs));
  BETZ_RETURN_IF_ERROR(decoder.readSessions(dataset));
  return decoder;
}

Status ProgramDecoder::readSessions(const Dataset &dataset) {
  neuronOf.assign(size_t(dataset.neurons()), -1);
  int64_t unknown = 0;
  bool scalesKnown = true;
  for (int64_t i = 0; i < dataset.sessions(); ++i) {
    const train::Session &from = dataset.session(i);
    BETZ_ASSIGN_OR_RETURN(
        Metadata metadata,
        metadataOfSession(session->program().metadata, from.name()));
    BETZ_ASSIGN_OR_RETURN(DecoderWindows info, readDecoderWindows(metadata));
    unknown += mapNeurons(from, info);
    BETZ_ASSIGN_OR_RETURN(TargetScale scale,
                          readScale(metadata, size_t(from.columns())));
    const bool isKnown = !scale.mean.empty() && !scale.deviation.empty();
    scales.push_back(isKnown ? scale : from.scale);
    scalesKnown &= isKnown;
  }
  if (unknown == dataset.neurons())
    return invalidArgument(fmt::format(
        "{}: the program knows none of its {} units; is it the recording that "
        "the decoder was trained on?",
        dataset.session(0).file.string(), unknown));
  if (unknown > 0)
    lines.push_back(fmt::format("The program does not know {} of {} units; "
                                "their spikes are left out.",
                                unknown, dataset.neurons()));
  if (!scalesKnown)
    lines.push_back("The program does not say its targets' mean and "
                    "deviation; those of the recording's train bins are "
                    "taken.");
  return Status::ok();
}

int64_t ProgramDecoder::mapNeurons(const train::Session &from,
                                   const DecoderWindows &info) {
  int64_t unknown = 0;
  for (int64_t row = 0; row < from.units(); ++row) {
    const int64_t neuron = from.firstNeuron + row;
    int64_t to = neuron;
    if (info.unitMap) {
      auto found = info.unitMap->neuronOfUnit.find(from.unitIds[size_t(row)]);
      to = found == info.unitMap->neuronOfUnit.end() ? -1 : found->second;
    }
    const bool isKnown = to >= 0 && to < info.maxNeurons;
    neuronOf[size_t(neuron)] = isKnown ? int32_t(to) : -1;
    unknown += !isKnown;
  }
  return unknown;
}

Result<Table> ProgramDecoder::predict(const Dataset &dataset,
                                      Split split) const {
  constexpr int64_t kRows = 64;
  const std::span<const Sample> samples = dataset.samples(split);
  const int64_t columns = dataset.session(0).columns();
  Table table(int64_t(samples.size()), columns);
  Progress progress("decoding", table.rows, "samples");
  Batch batch;
  std::vector<int64_t> numbers;
  std::vector<float> behavior;
  for (int64_t first = 0; first < table.rows; first += kRows) {
    numbers.resize(size_t(std::min(kRows, table.rows - first)));
    std::iota(numbers.begin(), numbers.end(), first);
    readBatch(dataset, split, numbers, batch);
    translate(neuronOf, batch);
    behavior.resize(numbers.size() * size_t(outputs));
    StepInputs inputs(session->program());
    inputs.bindBatch(batch, outputs);
    const std::vector<int64_t> shape = {batch.rows(), outputs};
    const OutputBinding result = {output, DType::F32, behavior.data(), shape};
    BETZ_RETURN_IF_ERROR(
        runBatched(*session, inputs.bindings(), std::span(&result, 1)));
    for (size_t i = 0; i < numbers.size(); ++i) {
      const TargetScale &scale =
          scales[size_t(samples[size_t(numbers[i])].session)];
      for (int64_t column = 0; column < columns; ++column)
        table.at(numbers[i], column) =
            double(behavior[i * size_t(outputs) +
                            size_t(outputs - columns + column)]) *
                scale.deviation[size_t(column)] +
            scale.mean[size_t(column)];
    }
    progress.update(first + int64_t(numbers.size()));
  }
  return table;
}

} // namespace betz
