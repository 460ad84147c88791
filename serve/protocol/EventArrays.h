//===- EventArrays.h - Windows of events that a request owns --------------===//
#pragma once

#include "serve/engine/Request.h"

#include <vector>

namespace betz::serve {

/// The arrays that Windows views.
struct EventArrays {
  std::vector<int32_t> neuronId, timeBin, value; // [events]
  std::vector<int32_t> rowSplits;                // [windows + 1]
  std::vector<int32_t> windowStart;              // [windows], or empty

  Windows windows() const {
    return {neuronId, timeBin, value, rowSplits, windowStart};
  }
};

} // namespace betz::serve
