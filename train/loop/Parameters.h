//===- Parameters.h - Named weights in a flat vector ----------------------===//
#pragma once

#include "runtime/base/Status.h"
#include "runtime/program/Program.h"

#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace betz::train {

/// Where a weight lies in the flat f32 vector of a training program.
struct Parameter {
  std::string name;
  std::vector<int64_t> shape;
  int64_t offset = 0; // elements
  bool frozen = false;

  int64_t elements() const;
};

/// The table that the compiler left in the program's metadata ("parameters").
Result<std::vector<Parameter>> readParameters(const Program &program);

/// Elements of the flat vector of trained (or of frozen) weights.
int64_t flatSize(std::span<const Parameter> parameters, bool frozen);

/// The weights of a file in their places, zeros between them. One error lists
/// all that are missing or have another shape.
Result<std::vector<float>> readWeights(std::span<const Parameter> parameters,
                                       bool frozen,
                                       const std::filesystem::path &path);

/// Writes named weights as safetensors, with the names of the file's reader;
/// `frozen` may be empty where nothing is.
Status writeWeights(std::span<const Parameter> parameters,
                    std::span<const float> trained,
                    std::span<const float> frozen,
                    const std::map<std::string, std::string> &metadata,
                    const std::filesystem::path &path);

} // namespace betz::train
