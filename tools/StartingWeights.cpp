#include "tools/StartingWeights.h"
#include "runtime/base/Json.h"
#include "runtime/io/Safetensors.h"
#include "tools/Model.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace betz {
namespace {

constexpr const char *kUnits = "neuron_emb.weight";
constexpr const char *kSessions = "session_emb.weight";

/// Weights that a decoder's file may lack, or have for other outputs.
bool isOptional(const std::string &name) {
  return name == kSessions || name.starts_with("spike_head.") ||
         name.starts_with("masked_spike_head.") ||
         name.starts_with("behavior_head.");
}

/// Session name -> unit id -> row, as the file says; empty where it does not.
Result<Json> readUnitTables(const SafetensorsFile &file) {
  const auto found = file.metadata().find("sessions");
  Json tables = Json::object();
  if (found == file.metadata().end())
    return tables;
  BETZ_ASSIGN_OR_RETURN(Json sessions, parseJson(found->second));
  for (const Json &session : sessions) {
    BETZ_ASSIGN_OR_RETURN(std::string name,
                          getMember<std::string>(session, "name"));
    tables[name] = session.value("units", Json::object());
  }
  return tables;
}

/// Takes the file's weights over the random ones.
class Overlay {
public:
  Overlay(const SafetensorsFile &file, StartingWeights &weights)
      : file(file), weights(weights) {}

  Status run(const train::Dataset &dataset) {
    BETZ_ASSIGN_OR_RETURN(Json tables, readUnitTables(file));
    for (auto &[name, value] : weights.values)
      if (name == kUnits && !tables.empty())
        BETZ_RETURN_IF_ERROR(takeUnits(tables, dataset, value));
      else
        take(name, value);
    if (faults.empty())
      return Status::ok();
    return invalidArgument(fmt::format(
        "these weights do not fit the model: {}; their window, size and kind "
        "must be those of the recipe",
        fmt::join(faults, ", ")));
  }

private:
  void take(const std::string &name, reference::Tensor &value) {
    const SafeTensor *tensor = file.find(name);
    const bool fits =
        tensor && tensor->dtype == "F32" && tensor->shape == value.shape;
    if (fits) {
      value.real = realOf(*tensor);
      if (name != kUnits && name != kSessions)
        weights.trunk.push_back(name);
    } else if (!isOptional(name)) {
      faults.push_back(tensor ? fmt::format("{} is {} {}, not F32 {}", name,
                                            tensor->dtype, tensor->shape,
                                            value.shape)
                              : name + " is missing");
    }
  }

  static std::vector<double> realOf(const SafeTensor &tensor) {
    std::vector<float> values(tensor.bytes.size() / sizeof(float));
    std::memcpy(values.data(), tensor.bytes.data(), tensor.bytes.size());
    return {values.begin(), values.end()};
  }

  Status takeUnits(const Json &tables, const train::Dataset &dataset,
                   reference::Tensor &value) {
    const SafeTensor *tensor = file.find(kUnits);
    const size_t columns = size_t(value.columns());
    if (!tensor || tensor->dtype != "F32" || tensor->shape.size() != 2 ||
        tensor->shape[1] != value.columns() || tensor->shape[0] < 1) {
      take(kUnits, value);
      return Status::ok();
    }
    const std::vector<double> rows = realOf(*tensor);
    const std::vector<double> mean = meanRow(rows, columns);
    int64_t known = 0;
    for (int64_t i = 0; i < dataset.sessions(); ++i) {
      const train::Session &session = dataset.session(i);
      const Json units = tables.value(session.name(), Json::object());
      for (int64_t unit = 0; unit < session.units(); ++unit) {
        const int64_t row = units.value(
            fmt::to_string(session.unitIds[size_t(unit)]), int64_t(-1));
        double *to =
            value.real.data() + size_t(session.firstNeuron + unit) * columns;
        const bool isKnown = row >= 0 && row < tensor->shape[0];
        known += isKnown;
        for (size_t column = 0; column < columns; ++column)
          to[column] = isKnown ? rows[size_t(row) * columns + column]
                               : to[column] + mean[column];
      }
    }
    fmt::print(stderr,
               "betz: note: {} of {} units start from rows of the weights, the "
               "others near their mean\n",
               known, dataset.neurons());
    return Status::ok();
  }

  static std::vector<double> meanRow(const std::vector<double> &rows,
                                     size_t columns) {
    std::vector<double> mean(columns, 0.0);
    for (size_t i = 0; i < rows.size(); ++i)
      mean[i % columns] += rows[i] / double(rows.size() / columns);
    return mean;
  }

  const SafetensorsFile &file;
  StartingWeights &weights;
  std::vector<std::string> faults;
};

} // namespace

Result<StartingWeights> startingWeights(mlir::ModuleOp module,
                                        const train::Dataset &dataset,
                                        const std::filesystem::path &file,
                                        uint64_t seed) {
  StartingWeights weights;
  weights.values = randomWeights(module, seed);
  if (file.empty())
    return weights;
  BETZ_ASSIGN_OR_RETURN(SafetensorsFile opened, SafetensorsFile::open(file));
  BETZ_RETURN_IF_ERROR(
      Overlay(opened, weights).run(dataset).withContext(file.string()));
  return weights;
}

} // namespace betz
