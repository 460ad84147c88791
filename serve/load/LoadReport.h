//===- LoadReport.h - Runs side by side -----------------------------------===//
#pragma once

#include "runtime/base/Json.h"
#include "serve/load/LoadRun.h"

namespace betz::serve {

/// {"name", "elapsed_s", "sent", "answered", "on_time", "per_s",
/// "on_time_per_s", "mean_batch", "latency_ms": {"p50", ..., "max"}, "errors":
/// {"late": 3}}; "connection" counts those lost.
Json toJson(const LoadResult &result);

/// One line a run, on standard output.
void printTable(std::span<const LoadResult> results);

} // namespace betz::serve
