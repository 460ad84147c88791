#include "tests/numerics/TrainingFixtures.h"

#include "tests/numerics/Fixtures.h"

#include <algorithm>

namespace betz {

using passes::ParameterPlace;
using reference::Tensor;
using reference::TensorMap;

/// The queries of a `masked` fixture as dense rows, three longer than the
/// longest window needs: the rest are place 0 without a label. Returns their
/// length; 0 if the fixture has none.
static int64_t padQueries(TensorMap &cases) {
  if (!cases.contains("query_offsets"))
    return 0;
  const std::vector<int32_t> ends = cases.at("query_offsets").integer;
  const int64_t windows = int64_t(ends.size()) - 1;
  int64_t length = 0;
  for (int64_t b = 0; b < windows; ++b)
    length = std::max<int64_t>(length, ends[b + 1] - ends[b] + 3);
  for (const char *name : {"query_neuron", "query_time", "query_value"}) {
    const std::vector<int32_t> flat = cases.at(name).integer;
    const bool isLabel = std::string(name) == "query_value";
    Tensor padded{{windows, length}, {}, {}};
    padded.integer.assign(size_t(windows * length), isLabel ? -1 : 0);
    for (int64_t b = 0; b < windows; ++b)
      std::copy(flat.begin() + ends[b], flat.begin() + ends[b + 1],
                padded.integer.begin() + b * length);
    cases[name] = std::move(padded);
  }
  return length;
}

Result<Fixture> readFixture(const std::string &weightsPath,
                            const std::string &casesPath) {
  Fixture fixture;
  BETZ_ASSIGN_OR_RETURN(auto weightsFile, SafetensorsFile::open(weightsPath));
  BETZ_ASSIGN_OR_RETURN(auto casesFile, SafetensorsFile::open(casesPath));
  BETZ_ASSIGN_OR_RETURN(fixture.weights, readTensors(weightsFile));
  BETZ_ASSIGN_OR_RETURN(fixture.cases, readTensors(casesFile));
  BETZ_ASSIGN_OR_RETURN(fixture.model,
                        readModelMetadata(weightsFile.metadata(), weightsPath));
  fixture.queries = padQueries(fixture.cases);
  return fixture;
}

Result<passes::TrainingModule> makeStep(mlir::MLIRContext &context,
                                        const Fixture &fixture,
                                        passes::TrainingOptions options) {
  BETZ_ASSIGN_OR_RETURN(auto module,
                        buildDecoder(context, fixture.model, {"behavior"},
                                     {.spikeQueries = fixture.queries}));
  options.losses = {{"behavior", "target"}};
  if (fixture.queries > 0)
    options.losses.push_back({"spike_logits", "query_value",
                              passes::TrainingLoss::Kind::CrossEntropy});
  return passes::makeTrainingModule(*module, options);
}

Tensor zeros(int64_t size) {
  return {{size}, std::vector<double>(size_t(size)), {}};
}

Tensor flatten(const passes::TrainingModule &step, const TensorMap &weights,
               bool frozen) {
  Tensor flat = zeros(frozen ? step.frozenSize : step.size);
  for (const ParameterPlace &place : step.parameters)
    if (place.frozen == frozen) {
      const std::vector<double> &values = weights.at(place.name).real;
      std::copy(values.begin(), values.end(), flat.real.begin() + place.offset);
    }
  return flat;
}

TensorMap unflatten(const passes::TrainingModule &step, const Tensor &flat,
                    const std::string &prefix) {
  TensorMap tensors;
  for (const ParameterPlace &place : step.parameters)
    if (!place.frozen) {
      Tensor tensor{place.shape, {}, {}};
      auto first = flat.real.begin() + place.offset;
      tensor.real.assign(first, first + tensor.rows() * tensor.columns());
      tensors[prefix + place.name] = std::move(tensor);
    }
  return tensors;
}

} // namespace betz
