#include "train/loop/DecoderFile.h"

#include <algorithm>

namespace betz::train {
namespace {

/// The values of a parameter within the vector of its kind.
template <typename T>
std::span<T> valuesOf(const Parameter &parameter, std::span<T> trained,
                      std::span<T> frozen) {
  return (parameter.frozen ? frozen : trained)
      .subspan(size_t(parameter.offset), size_t(parameter.elements()));
}

void addSessionRows(const Dataset &dataset, std::span<const float> sessions,
                    std::span<float> neurons, size_t columns) {
  for (int64_t i = 0; i < dataset.sessions(); ++i) {
    const Session &session = dataset.session(i);
    const std::span<const float> row =
        sessions.subspan(size_t(i) * columns, columns);
    for (int64_t unit = 0; unit < session.units(); ++unit)
      for (size_t column = 0; column < columns; ++column)
        neurons[size_t(session.firstNeuron + unit) * columns + column] +=
            row[column];
  }
}

} // namespace

Status writeDecoder(std::span<const Parameter> parameters,
                    std::span<const float> trained,
                    std::span<const float> frozen, const Dataset &dataset,
                    const std::map<std::string, std::string> &metadata,
                    const std::filesystem::path &path) {
  const auto sessions =
      std::ranges::find(parameters, "session_emb.weight", &Parameter::name);
  if (sessions == parameters.end())
    return writeWeights(parameters, trained, frozen, metadata, path);
  const auto neurons =
      std::ranges::find(parameters, "neuron_emb.weight", &Parameter::name);
  std::vector<float> ownTrained(trained.begin(), trained.end());
  std::vector<float> ownFrozen(frozen.begin(), frozen.end());
  addSessionRows(
      dataset, valuesOf(*sessions, trained, frozen),
      valuesOf(*neurons, std::span(ownTrained), std::span(ownFrozen)),
      size_t(neurons->shape.back()));
  std::vector<Parameter> kept(parameters.begin(), parameters.end());
  kept.erase(kept.begin() + (sessions - parameters.begin()));
  return writeWeights(kept, ownTrained, ownFrozen, metadata, path);
}

} // namespace betz::train
