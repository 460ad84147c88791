#include "train/loop/SpikeScorer.h"
#include "runtime/base/Progress.h"
#include "train/loop/StepInputs.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace betz::train {

Result<std::shared_ptr<SpikeScorer>>
SpikeScorer::create(std::shared_ptr<const Program> program,
                    std::shared_ptr<Device> device, int32_t rows,
                    const Masking &masking, uint64_t seed) {
  std::shared_ptr<SpikeScorer> scorer(new SpikeScorer());
  BETZ_ASSIGN_OR_RETURN(scorer->output, findOutput(*program, "spike_logits"));
  BETZ_ASSIGN_OR_RETURN(
      scorer->session,
      betz::Session::create(std::move(program), std::move(device)));
  scorer->rows = rows;
  scorer->masking = masking;
  scorer->seed = seed;
  return scorer;
}

Status SpikeScorer::setWeights(std::span<const float> trained,
                               std::span<const float> frozen) {
  BETZ_RETURN_IF_ERROR(session->writeState("weights", std::as_bytes(trained)));
  return frozen.empty() ? Status::ok()
                        : session->writeState("frozen", std::as_bytes(frozen));
}

Result<std::vector<float>> SpikeScorer::logits(const Batch &batch) const {
  const TensorSpec &spec = session->program().outputs[output];
  const int64_t buckets = spec.shape.back().plus;
  const std::vector<int64_t> shape = {batch.rows(), masking.queries, buckets};
  std::vector<float> values(size_t(shape[0] * shape[1] * shape[2]));
  StepInputs inputs(session->program());
  inputs.bindBatch(batch, 0);
  const OutputBinding result = {output, DType::F32, values.data(), shape};
  BETZ_RETURN_IF_ERROR(session->run(inputs.bindings(), std::span(&result, 1)));
  return values;
}

Result<double> SpikeScorer::scoreVal(const Dataset &dataset) const {
  const int64_t samples = int64_t(dataset.samples(Split::Val).size());
  Progress progress("guessing masked spikes", samples, "samples");
  Batch batch;
  double sum = 0;
  int64_t places = 0;
  for (int64_t first = 0; first < samples; first += rows) {
    std::vector<int64_t> numbers(
        size_t(std::min<int64_t>(rows, samples - first)));
    std::iota(numbers.begin(), numbers.end(), first);
    readMaskedBatch(dataset, Split::Val, numbers, masking, seed, batch);
    BETZ_ASSIGN_OR_RETURN(std::vector<float> values, logits(batch));
    sum += sumLogLikelihood(values,
                            int64_t(values.size() / batch.queryValue.size()),
                            batch.queryValue);
    places += std::ranges::count_if(batch.queryValue,
                                    [](int32_t label) { return label >= 0; });
    progress.update(first + int64_t(numbers.size()));
  }
  return sum / double(std::max<int64_t>(places, 1));
}

double sumLogLikelihood(std::span<const float> logits, int64_t buckets,
                        std::span<const int32_t> labels) {
  double total = 0;
  for (size_t i = 0; i < labels.size(); ++i) {
    if (labels[i] < 0)
      continue;
    const std::span<const float> row =
        logits.subspan(i * size_t(buckets), size_t(buckets));
    const double largest = double(*std::ranges::max_element(row));
    double sum = 0;
    for (float logit : row)
      sum += std::exp(double(logit) - largest);
    total += double(row[size_t(labels[i])]) - largest - std::log(sum);
  }
  return total;
}

} // namespace betz::train
