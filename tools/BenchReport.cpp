#include "tools/BenchReport.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace betz {
namespace {

constexpr size_t kNameColumns = 36;
constexpr size_t kSectionColumns = 20;

template <typename KeyOf>
std::vector<WorkTotal> sumBy(const StepProfile &profile, const KeyOf &keyOf,
                             std::string KernelTime::*label) {
  std::vector<WorkTotal> totals;
  std::vector<std::string> keys;
  for (const KernelTime &kernel : profile.kernels) {
    auto found = std::ranges::find(keys, keyOf(kernel));
    size_t index = size_t(found - keys.begin());
    if (found == keys.end()) {
      keys.push_back(keyOf(kernel));
      totals.push_back({.label = kernel.*label});
    }
    WorkTotal &total = totals[index];
    total.calls += kernel.calls;
    total.seconds += kernel.seconds;
    total.flops += kernel.flops();
    total.bytes += kernel.bytes();
  }
  return totals;
}

std::string percent(std::optional<double> fraction) {
  return fraction ? fmt::format("{:.1f}%", 100 * *fraction) : "";
}

std::string gigaRate(double amount, double seconds) {
  return amount > 0 && seconds > 0
             ? fmt::format("{:.1f}", amount / seconds * 1e-9)
             : "";
}

/// The columns that kernels and sections share.
std::string rateColumns(double seconds, double flops, double bytes,
                        double total, const MachineLimits &limits) {
  return fmt::format("{:>10.1f} {:>6} {:>9} {:>7} {:>8} {:>7}", seconds * 1e6,
                     percent(fractionOf(seconds, 1, total)),
                     gigaRate(flops, seconds),
                     percent(fractionOf(flops, seconds, limits.flops)),
                     gigaRate(bytes, seconds),
                     percent(fractionOf(bytes, seconds, limits.copyBytes)));
}

constexpr std::string_view kRateHeader =
    "        us  share   GFLOP/s    peak     GB/s    copy";

std::optional<double> windowsPerSecond(const StepProfile &profile) {
  if (!profile.inFlight)
    return std::nullopt;
  return double(profile.batch) / *profile.inFlight;
}

void printStep(const Program &program, const StepProfile &profile,
               const MachineLimits &limits) {
  std::vector<std::string> extents;
  for (size_t i = 0; i < profile.extents.size(); ++i)
    extents.push_back(
        fmt::format("{} {}", program.symbols[i], profile.extents[i]));
  fmt::print("{}: {:.1f} us a step (median of {}), p99 {:.1f} us",
             fmt::join(extents, ", "), profile.median * 1e6, profile.steps,
             profile.p99 * 1e6);
  if (std::string rate = gigaRate(profile.flops(), profile.median);
      !rate.empty())
    fmt::print(", {} GFLOP/s", rate);
  if (auto peak = fractionOf(profile.flops(), profile.median, limits.flops))
    fmt::print(", {} of peak", percent(peak));
  if (profile.inFlight)
    fmt::print("\ntwo steps in flight: {:.1f} us a step, {:.0f} windows/s",
               *profile.inFlight * 1e6, *windowsPerSecond(profile));
  fmt::print("\n\n");
}

void printGraph(const GraphTime &graph, double kernelSeconds) {
  const double gap = graph.seconds - kernelSeconds;
  fmt::print("{:<36} {:<20} {:>5} {:>10.1f}\n", "their graph, one replay", "",
             graph.nodes, graph.seconds * 1e6);
  fmt::print("{:<36} {:<20} {:>5} {:>10.1f}\n",
             gap < 0 ? "gap (kernels overlap)" : "gap (between kernels)", "",
             "", gap * 1e6);
  fmt::print("{:<36} {:<20} {:>5} {:>10.1f}\n", "the same, launched one by one",
             "", "", graph.separateSeconds * 1e6);
}

void printKernels(const StepProfile &profile, const MachineLimits &limits) {
  fmt::print("{:<36} {:<20} {:>5} {} {:>10}\n", "kernel", "section", "calls",
             kRateHeader, "alone, us");
  const double total = profile.kernelSeconds();
  double alone = 0;
  for (const KernelTime &kernel : profile.kernels) {
    alone += kernel.aloneSeconds;
    fmt::print("{:<36} {:<20} {:>5} {} {:>10.1f}\n",
               shorten(kernel.name, kNameColumns),
               shorten(kernel.section, kSectionColumns), kernel.calls,
               rateColumns(kernel.seconds, kernel.flops(), kernel.bytes(),
                           total, limits),
               kernel.aloneSeconds * 1e6);
  }
  fmt::print("{:<36} {:<20} {:>5} {:>10.1f} {:>52.1f}\n", "all kernels", "", "",
             total * 1e6, alone * 1e6);
  if (profile.graph)
    printGraph(*profile.graph, total);
  fmt::print("{:<36} {:<20} {:>5} {:>10.1f}\n\n",
             profile.graph ? "host and copies" : "host, between kernels", "",
             "", profile.hostSeconds() * 1e6);
}

void printSections(const StepProfile &profile, const MachineLimits &limits) {
  fmt::print("{:<36} {:>26} {}\n", "section", "calls", kRateHeader);
  const double total = profile.kernelSeconds();
  for (const WorkTotal &section : sumBySection(profile))
    fmt::print("{:<36} {:>26} {}\n", shorten(section.label, kNameColumns),
               section.calls,
               rateColumns(section.seconds, section.flops, section.bytes, total,
                           limits));
  fmt::print("\n");
}

/// Adds `key` unless the value is unknown.
template <typename Value>
void addKnown(Json &json, const char *key, std::optional<Value> value) {
  if (value)
    json[key] = *value;
}

void addWork(Json &json, double seconds, double flops, double bytes,
             const MachineLimits &limits) {
  json["us"] = seconds * 1e6;
  json["flops"] = flops;
  json["bytes"] = bytes;
  addKnown(json, "gflops", fractionOf(flops, seconds, 1e9));
  addKnown(json, "peak_fraction", fractionOf(flops, seconds, limits.flops));
  addKnown(json, "copy_fraction", fractionOf(bytes, seconds, limits.copyBytes));
}

Json stateToJson(const DeviceState &state) {
  Json json = Json::object();
  addKnown(json, "utilization", state.utilization);
  addKnown(json, "memory_used_bytes", state.memoryUsed);
  addKnown(json, "memory_total_bytes", state.memoryTotal);
  addKnown(json, "watts", state.watts);
  addKnown(json, "core_hz", state.coreHertz);
  addKnown(json, "memory_hz", state.memoryHertz);
  return json;
}

Json kernelsToJson(const StepProfile &profile, const MachineLimits &limits) {
  Json kernels = Json::array();
  for (const KernelTime &kernel : profile.kernels) {
    Json json = {{"name", kernel.name},
                 {"code", kernel.code},
                 {"section", kernel.section},
                 {"calls", kernel.calls}};
    addWork(json, kernel.seconds, kernel.flops(), kernel.bytes(), limits);
    json["alone_us"] = kernel.aloneSeconds * 1e6;
    kernels.push_back(std::move(json));
  }
  return kernels;
}

Json sectionsToJson(const StepProfile &profile, const MachineLimits &limits) {
  Json sections = Json::array();
  for (const WorkTotal &section : sumBySection(profile)) {
    Json json = {{"name", section.label}, {"calls", section.calls}};
    addWork(json, section.seconds, section.flops, section.bytes, limits);
    sections.push_back(std::move(json));
  }
  return sections;
}

} // namespace

std::vector<WorkTotal> sumBySection(const StepProfile &profile) {
  return sumBy(
      profile, [](const KernelTime &kernel) { return kernel.section; },
      &KernelTime::section);
}

std::vector<WorkTotal> sumByCode(const StepProfile &profile) {
  return sumBy(
      profile, [](const KernelTime &kernel) { return kernel.code; },
      &KernelTime::name);
}

std::optional<double> fractionOf(double amount, double seconds, double limit) {
  if (amount <= 0 || seconds <= 0 || limit <= 0)
    return std::nullopt;
  return amount / seconds / limit;
}

std::string shorten(std::string_view text, size_t columns) {
  if (text.size() <= columns)
    return std::string(text);
  return std::string(text.substr(0, columns - 1)) + "…";
}

void printProfile(const Program &program, const StepProfile &profile,
                  const MachineLimits &limits) {
  printStep(program, profile, limits);
  if (profile.launches.empty())
    return;
  printKernels(profile, limits);
  printSections(profile, limits);
}

Json toJson(const StepProfile &profile, const MachineLimits &limits) {
  Json json = {
      {"batch", profile.batch},      {"extents", profile.extents},
      {"steps", profile.steps},      {"median_us", profile.median * 1e6},
      {"p99_us", profile.p99 * 1e6}, {"flops", profile.flops()}};
  addKnown(json, "gflops", fractionOf(profile.flops(), profile.median, 1e9));
  addKnown(json, "peak_fraction",
           fractionOf(profile.flops(), profile.median, limits.flops));
  if (profile.inFlight)
    json["in_flight_us"] = *profile.inFlight * 1e6;
  addKnown(json, "windows_per_s", windowsPerSecond(profile));
  if (Json state = stateToJson(profile.device); !state.empty())
    json["device_state"] = std::move(state);
  if (profile.launches.empty())
    return json;
  json["kernels_us"] = profile.kernelSeconds() * 1e6;
  json["host_us"] = profile.hostSeconds() * 1e6;
  if (const std::optional<GraphTime> &graph = profile.graph)
    json["graph"] = {
        {"nodes", graph->nodes},
        {"us", graph->seconds * 1e6},
        {"gap_us", (graph->seconds - profile.kernelSeconds()) * 1e6},
        {"separate_us", graph->separateSeconds * 1e6}};
  json["kernels"] = kernelsToJson(profile, limits);
  json["sections"] = sectionsToJson(profile, limits);
  return json;
}

Json toJson(const MachineLimits &limits) {
  Json json = {{"threads", limits.threads}};
  addKnown(json, "fma_gflops", fractionOf(limits.flops, 1, 1e9));
  addKnown(json, "copy_gbps", fractionOf(limits.copyBytes, 1, 1e9));
  if (!limits.flopsBy.empty())
    json["fma_by"] = limits.flopsBy;
  return json;
}

} // namespace betz
