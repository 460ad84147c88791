#include "tools/TuneReport.h"
#include "tools/BenchReport.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace betz {
namespace {

constexpr size_t kNameColumns = 30;

Json tileJson(const TileConfig &tile) {
  return Json::array({tile.rows, tile.columns, tile.depth, tile.stages});
}

std::string extentsText(const Program &program,
                        const std::vector<int64_t> &extents) {
  std::vector<std::string> parts;
  for (size_t i = 0; i < extents.size(); ++i)
    parts.push_back(fmt::format("{} {}", program.symbols[i], extents[i]));
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string microseconds(const tune::Trial &trial) {
  return trial.isMeasured() ? fmt::format("{:.2f}", trial.seconds * 1e6) : "-";
}

void printKernel(const TunedKernel &kernel) {
  const tune::Trial &winner = kernel.trials[kernel.winner];
  const tune::Trial &untuned = kernel.trials[kernel.untuned];
  fmt::print(
      "{:<30} {:>3} {:>9} {:>9} {:>9}  {}\n",
      shorten(kernel.task.kernel, kNameColumns), kernel.task.launches.size(),
      microseconds(winner), microseconds(untuned),
      kernel.cublasSeconds ? fmt::format("{:.2f}", *kernel.cublasSeconds * 1e6)
                           : "",
      tileText(winner.tile));
  for (size_t i = 0; i < kernel.trials.size(); ++i)
    if (i != kernel.winner)
      fmt::print("{:<34} {:>9}            {}: {}{}\n", "",
                 microseconds(kernel.trials[i]),
                 tileText(kernel.trials[i].tile),
                 tune::verdict(kernel.trials, kernel.winner, i),
                 i == kernel.untuned ? " (untuned)" : "");
}

void printBucket(const Program &program, const TuningReport &report,
                 size_t plan) {
  const StepTimes &step = report.steps[plan];
  fmt::print("\n{}: a step touches {:.1f} MB; kernels are timed {} L2 cache "
             "({:.1f} MB)\n\n",
             extentsText(program, step.extents), double(step.bytes) * 1e-6,
             step.bytes > int64_t(report.cacheBytes) ? "outside the"
                                                     : "inside the",
             double(report.cacheBytes) * 1e-6);
  fmt::print("{:<30} {:>3} {:>9} {:>9} {:>9}  {}\n", "kernel", "×", "us",
             "untuned", "cuBLASLt", "tile");
  for (const TunedKernel &kernel : report.kernels)
    if (kernel.task.plan == plan)
      printKernel(kernel);
  fmt::print("\nstep: {:.1f} us tuned, {:.1f} us before, {:.1f} us with "
             "untuned tiles\n",
             step.tuned * 1e6, step.given * 1e6, step.untuned * 1e6);
}

Json trialsJson(const TunedKernel &kernel) {
  Json trials = Json::array();
  for (size_t i = 0; i < kernel.trials.size(); ++i) {
    const tune::Trial &trial = kernel.trials[i];
    Json json = {{"tile", tileJson(trial.tile)}};
    if (trial.isMeasured())
      json["us"] = trial.seconds * 1e6;
    json["verdict"] = tune::verdict(kernel.trials, kernel.winner, i);
    trials.push_back(std::move(json));
  }
  return trials;
}

/// What the report and the record share.
Json kernelJson(const TunedKernel &kernel) {
  const tune::Trial &winner = kernel.trials[kernel.winner];
  const tune::Trial &untuned = kernel.trials[kernel.untuned];
  return {{"kernel", kernel.task.kernel},
          {"bucket", kernel.task.plan},
          {"extents", kernel.extents},
          {"launches", kernel.task.launches.size()},
          {"tile", tileJson(winner.tile)},
          {"us", winner.seconds * 1e6},
          {"untuned_tile", tileJson(untuned.tile)},
          {"untuned_us", untuned.seconds * 1e6},
          {"buffer_sets", kernel.sets}};
}

Json headJson(const TuningReport &report) {
  return {{"device", report.device},      {"driver", report.driver},
          {"time", report.time},          {"version", BETZ_VERSION},
          {"target", report.target},      {"isa", report.isa},
          {"l2_bytes", report.cacheBytes}};
}

} // namespace

std::string tileText(const TileConfig &tile) {
  if (tile.columns == 0)
    return fmt::format("{} rows", tile.rows);
  return tile.stages == 0 ? fmt::format("{}x{}", tile.rows, tile.columns)
                          : fmt::format("{}x{}, {} stages", tile.rows,
                                        tile.columns, tile.stages);
}

void printTuning(const Program &program, const TuningReport &report) {
  fmt::print("tuned {} ({}) on {}, CUDA driver {}\n", report.target, report.isa,
             report.device, report.driver);
  if (!report.startedFrom.empty())
    fmt::print("started from the program's recorded tiles\n");
  if (!report.withoutCublas.empty())
    fmt::print("cuBLASLt is not compared: {}\n", report.withoutCublas);
  for (size_t plan = 0; plan < report.steps.size(); ++plan)
    printBucket(program, report, plan);
  fmt::print("\nuntuned defaults are within {:.1f} % of tuned\n",
             100 * std::max(report.untunedLoss(), 0.0));
}

Json toJson(const Program &program, const TuningReport &report) {
  Json json = headJson(report);
  if (!report.startedFrom.empty()) {
    Result<Json> record = parseJson(report.startedFrom);
    json["started_from"] = record.isOk() ? *record : Json(report.startedFrom);
  }
  if (!report.withoutCublas.empty())
    json["without_cublaslt"] = report.withoutCublas;
  json["untuned_within"] = report.untunedLoss();
  json["symbols"] = program.symbols;
  Json steps = Json::array();
  for (const StepTimes &step : report.steps)
    steps.push_back({{"extents", step.extents},
                     {"bytes", step.bytes},
                     {"outside_l2", step.bytes > int64_t(report.cacheBytes)},
                     {"tuned_us", step.tuned * 1e6},
                     {"before_us", step.given * 1e6},
                     {"untuned_us", step.untuned * 1e6}});
  json["steps"] = std::move(steps);
  Json kernels = Json::array();
  for (const TunedKernel &kernel : report.kernels) {
    Json entry = kernelJson(kernel);
    if (kernel.cublasSeconds)
      entry["cublaslt_us"] = *kernel.cublasSeconds * 1e6;
    entry["trials"] = trialsJson(kernel);
    kernels.push_back(std::move(entry));
  }
  json["kernels"] = std::move(kernels);
  return json;
}

Json tuningRecord(const TuningReport &report) {
  Json record = headJson(report);
  Json kernels = Json::array();
  for (const TunedKernel &kernel : report.kernels)
    kernels.push_back(kernelJson(kernel));
  record["kernels"] = std::move(kernels);
  return record;
}

} // namespace betz
