//===- DecoderFile.h - Trained weights as those of a decoder --------------===//
#pragma once

#include "train/data/Dataset.h"
#include "train/loop/Parameters.h"

namespace betz::train {

/// Writes trained weights as safetensors that decode without knowing sessions:
/// each unit's row of `neuron_emb.weight` takes the row of its session, and
/// `session_emb.weight`, if there is one, is left out. `frozen` may be empty.
Status writeDecoder(std::span<const Parameter> parameters,
                    std::span<const float> trained,
                    std::span<const float> frozen, const Dataset &dataset,
                    const std::map<std::string, std::string> &metadata,
                    const std::filesystem::path &path);

} // namespace betz::train
