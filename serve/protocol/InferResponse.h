//===- InferResponse.h - The Open Inference Protocol's answers ------------===//
#pragma once

#include "serve/engine/Engine.h"

#include <string>

namespace betz::serve {

/// An infer response: JSON of `jsonBytes`, then the output's bytes where it is
/// binary.
struct InferResponse {
  std::string body;
  size_t jsonBytes = 0;
};

/// The answer to the request `id` of `model`, with its times as parameters.
InferResponse writeInferResponse(std::string_view model, std::string_view id,
                                 const Decoded &decoded, bool isBinary);

/// `GET /v2`.
std::string writeServerMetadata();
/// `GET /v2/models/M`, of one version. Its parameters are what its events may
/// be: ids are below "neurons", "time_bins" and "values", a window has at most
/// "max_events", a request "max_windows"; a bin lasts "bin_ms".
std::string writeModelMetadata(const ModelInfo &model);
/// `GET /v2/models/M/stats`: of the models and versions given.
std::string writeStatistics(std::span<const ModelStatistics> models);
/// `POST /v2/repository/index`.
std::string writeRepositoryIndex(std::span<const ModelInfo> models,
                                 bool onlyReady);

} // namespace betz::serve
