//===- DecoderPorts.h - What a decoder's inputs and outputs are -----------===//
#pragma once

#include "runtime/program/Program.h"

namespace betz::serve {

/// Numbers of a program's inputs and outputs that decoders have.
struct DecoderPorts {
  uint32_t neuronId = 0, timeBin = 0, value = 0, rowSplits = 0;
  std::optional<uint32_t> windowStart;
  /// f32 [windows, columns].
  uint32_t behavior = 0;
  int64_t columns = 0;
  /// Of one window.
  int64_t maxEvents = INT64_MAX;
};

/// An InvalidArgument says what a program that is no decoder lacks.
Result<DecoderPorts> findDecoderPorts(const Program &program);

/// What an input holds is below it.
int32_t indexLimit(const Program &program, uint32_t input);

} // namespace betz::serve
