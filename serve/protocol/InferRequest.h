//===- InferRequest.h - The Open Inference Protocol's infer request -------===//
#pragma once

#include "runtime/base/Status.h"
#include "serve/protocol/EventArrays.h"

#include <optional>
#include <string>

namespace betz::serve {

/// What `POST /v2/models/M/infer` asks for.
struct InferRequest {
  /// The client's, to be given back; may be empty.
  std::string id;
  EventArrays events;
  Priority priority = Priority::Normal;
  /// From arrival; absent where the client named none.
  std::optional<std::chrono::nanoseconds> timeout;
  /// Whether `behavior` goes back as bytes behind the JSON.
  bool isBinaryOutput = false;
};

/// Reads a body: JSON, then the bytes of the tensors that say
/// `binary_data_size`, in their order (empty without the binary extension).
/// Inputs may have any integer type whose values fit i32. Without `row_splits`
/// all events are one window; `offsets` is its other name. Checks types, shapes
/// and sizes; ids and splits are the engine's to check. An InvalidArgument says
/// which tensor or byte is wrong.
Result<InferRequest> parseInferRequest(std::string_view json,
                                       std::string_view binary);

/// The priority that the protocol's number stands for: 0 the default, 1 the
/// highest.
Priority priorityOf(int64_t level);

} // namespace betz::serve
