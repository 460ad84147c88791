#include "train/loop/NetworkDecoder.h"
#include "runtime/base/Progress.h"
#include "train/data/Batches.h"
#include "train/loop/Parameters.h"
#include "train/loop/StepInputs.h"

#include <algorithm>
#include <numeric>

namespace betz::train {

Result<std::shared_ptr<NetworkDecoder>>
NetworkDecoder::create(std::shared_ptr<const Program> program,
                       std::shared_ptr<Device> device, int32_t rows) {
  BETZ_ASSIGN_OR_RETURN(uint32_t output, findOutput(*program, "behavior"));
  BETZ_ASSIGN_OR_RETURN(
      std::unique_ptr<betz::Session> session,
      betz::Session::create(std::move(program), std::move(device)));
  std::shared_ptr<NetworkDecoder> decoder(
      new NetworkDecoder(std::move(session), rows, output));
  for (const TensorSpec &state : decoder->session->program().states)
    (state.name == "frozen" ? decoder->frozenSize : decoder->trainedSize) =
        size_t(state.shape.back().plus);
  return decoder;
}

Status NetworkDecoder::setWeights(std::span<const float> trained,
                                  std::span<const float> frozen) {
  BETZ_RETURN_IF_ERROR(session->writeState(
      "weights", std::as_bytes(trained.first(trainedSize))));
  return frozenSize == 0
             ? Status::ok()
             : session->writeState("frozen",
                                   std::as_bytes(frozen.first(frozenSize)));
}

Result<double> NetworkDecoder::scoreVal(const Dataset &dataset) const {
  BETZ_ASSIGN_OR_RETURN(Table predictions, predict(dataset, Split::Val));
  return meanR2(scoreSessions(dataset, Split::Val, predictions));
}

Status NetworkDecoder::predictBatch(const Batch &batch,
                                    std::vector<float> &behavior) const {
  const int64_t columns = int64_t(behavior.size()) / batch.rows();
  StepInputs inputs(session->program());
  inputs.bindBatch(batch, columns);
  const std::vector<int64_t> shape = {batch.rows(), columns};
  const OutputBinding result = {output, DType::F32, behavior.data(), shape};
  return session->run(inputs.bindings(), std::span(&result, 1));
}

Result<Table> NetworkDecoder::predict(const Dataset &dataset,
                                      Split split) const {
  const std::span<const Sample> samples = dataset.samples(split);
  const int64_t all = dataset.outputs();
  // The behaviour at the window's last bin is the last of the target times.
  const int64_t columns = dataset.session(0).columns();
  Table table(int64_t(samples.size()), columns);
  Progress progress("decoding", table.rows, "samples");
  Batch batch;
  std::vector<int64_t> numbers;
  for (int64_t first = 0; first < table.rows; first += rows) {
    numbers.resize(size_t(std::min<int64_t>(rows, table.rows - first)));
    std::iota(numbers.begin(), numbers.end(), first);
    readBatch(dataset, split, numbers, batch);
    std::vector<float> behavior(numbers.size() * size_t(all));
    BETZ_RETURN_IF_ERROR(predictBatch(batch, behavior));
    for (size_t i = 0; i < numbers.size(); ++i) {
      const TargetScale &scale =
          dataset.session(samples[size_t(numbers[i])].session).scale;
      for (int64_t column = 0; column < columns; ++column)
        table.at(numbers[i], column) =
            double(behavior[i * size_t(all) + size_t(all - columns + column)]) *
                scale.deviation[size_t(column)] +
            scale.mean[size_t(column)];
    }
    progress.update(first + int64_t(numbers.size()));
  }
  return table;
}

} // namespace betz::train
