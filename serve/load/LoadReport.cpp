#include "serve/load/LoadReport.h"

#include <fmt/format.h>

namespace betz::serve {
namespace {

struct Percentile {
  const char *name;
  double part;
};
constexpr Percentile kPercentiles[] = {{"p50", .5},       {"p90", .9},
                                       {"p99", .99},      {"p99.9", .999},
                                       {"p99.99", .9999}, {"max", 1}};

double toMilliseconds(std::chrono::nanoseconds time) {
  return double(time.count()) * 1e-6;
}

double meanBatch(const LoadResult &result) {
  return result.latencies.empty()
             ? 0
             : double(result.batchWindows) / double(result.latencies.size());
}

} // namespace

Json toJson(const LoadResult &result) {
  Json report = {
      {"name", result.name},
      {"elapsed_s", double(result.elapsed.count()) * 1e-9},
      {"sent", result.sent},
      {"answered", result.latencies.size()},
      {"on_time", result.onTime},
      {"per_s", result.perSecond(result.latencies.size())},
      {"on_time_per_s", result.perSecond(result.onTime)},
      {"mean_batch", meanBatch(result)},
  };
  for (const Percentile &percentile : kPercentiles)
    report["latency_ms"][percentile.name] =
        toMilliseconds(result.quantile(percentile.part));
  report["errors"] = Json::object();
  for (size_t kind = 0; kind < kErrorKinds; ++kind)
    if (result.errors[kind] > 0)
      report["errors"][std::string(toString(ErrorKind(kind)))] =
          result.errors[kind];
  if (result.lost > 0)
    report["errors"]["connection"] = result.lost;
  return report;
}

void printTable(std::span<const LoadResult> results) {
  fmt::print("{:<30} {:>8} {:>8} {:>9} {:>6}", "one window a request", "sent",
             "on time", "windows/s", "batch");
  for (const Percentile &percentile : kPercentiles)
    fmt::print(" {:>8}", percentile.name);
  fmt::print("  ms\n");
  for (const LoadResult &result : results) {
    fmt::print("{:<30} {:>8} {:>8} {:>9.1f} {:>6.1f}", result.name, result.sent,
               result.onTime, result.perSecond(result.latencies.size()),
               meanBatch(result));
    for (const Percentile &percentile : kPercentiles)
      fmt::print(" {:>8.3f}", toMilliseconds(result.quantile(percentile.part)));
    for (size_t kind = 0; kind < kErrorKinds; ++kind)
      if (result.errors[kind] > 0)
        fmt::print("  {} {}", result.errors[kind], toString(ErrorKind(kind)));
    if (result.lost > 0)
      fmt::print("  {} connection", result.lost);
    fmt::print("\n");
  }
}

} // namespace betz::serve
