#include "codegen/tune/Tasks.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>

namespace betz::tune {

namespace {

Result<KernelSpec> specOf(const KernelSpecEntry &kernel) {
  auto parse = [&]() -> Result<KernelSpec> {
    BETZ_ASSIGN_OR_RETURN(Json json, parseJson(kernel.spec));
    BETZ_ASSIGN_OR_RETURN(KernelSpec spec, kernelSpecFromJson(json));
    BETZ_RETURN_IF_ERROR(checkNumbers(spec));
    return spec;
  };
  Result<KernelSpec> spec = parse();
  if (!spec.isOk())
    return std::move(spec).status().withContext("kernel " + kernel.name);
  return spec;
}

std::string withoutTile(KernelSpec spec) {
  spec.tile = {};
  return toJson(spec).dump();
}

} // namespace

Result<std::vector<Task>> listTasks(const TargetVariant &target) {
  std::vector<KernelSpec> specs;
  for (const KernelSpecEntry &kernel : target.kernels) {
    BETZ_ASSIGN_OR_RETURN(KernelSpec spec, specOf(kernel));
    specs.push_back(std::move(spec));
  }
  std::vector<Task> tasks;
  for (size_t plan = 0; plan < target.plans.size(); ++plan) {
    std::map<std::string, size_t> numbers;
    const std::vector<Launch> &launches = target.plans[plan].launches;
    for (size_t i = 0; i < launches.size(); ++i) {
      const uint32_t kernel = launches[i].kernel;
      if (launches[i].operands.size() != specs[kernel].operands.size())
        return dataLoss(fmt::format("kernel {}: its launch has {} operands, "
                                    "its spec {}; recompile the program",
                                    target.kernels[kernel].name,
                                    launches[i].operands.size(),
                                    specs[kernel].operands.size()));
      auto [known, isNew] =
          numbers.try_emplace(withoutTile(specs[kernel]), tasks.size());
      if (isNew)
        tasks.push_back({plan,
                         {},
                         target.kernels[kernel].name,
                         target.kernels[kernel].section,
                         specs[kernel]});
      tasks[known->second].launches.push_back(i);
    }
  }
  return tasks;
}

size_t pickWinner(const std::vector<Trial> &trials) {
  size_t winner = 0;
  for (size_t i = 1; i < trials.size(); ++i) {
    if (!trials[i].isMeasured())
      continue;
    if (!trials[winner].isMeasured() ||
        trials[i].seconds < trials[winner].seconds)
      winner = i;
  }
  const Trial &first = trials.front();
  return first.isMeasured() &&
                 trials[winner].seconds > first.seconds * (1 - kNoise)
             ? 0
             : winner;
}

size_t addTrial(std::vector<Trial> &trials, const TileConfig &tile) {
  auto known = std::ranges::find(trials, tile, &Trial::tile);
  const size_t number = size_t(known - trials.begin());
  if (known == trials.end())
    trials.push_back({tile});
  return number;
}

std::string verdict(const std::vector<Trial> &trials, size_t winner,
                    size_t trial) {
  if (!trials[trial].isMeasured())
    return trials[trial].rejected;
  if (trial == winner)
    return "won";
  const double change = trials[trial].seconds / trials[winner].seconds - 1;
  return change >= 0
             ? fmt::format("{:.1f} % slower", 100 * change)
             : fmt::format("{:.1f} % faster, which is noise", -100 * change);
}

int64_t reachBytes(const OperandSpec &operand,
                   std::span<const int64_t> extents) {
  const int64_t rows = std::max<int64_t>(operand.rows.evaluate(extents), 1);
  return (operand.offset + (rows - 1) * operand.rowStride + operand.columns) *
         int64_t(sizeOf(operand.dtype));
}

Result<int64_t> workingSetBytes(const TargetVariant &target,
                                const LaunchPlan &plan,
                                std::span<const int64_t> extents) {
  std::map<std::tuple<BufferKind, uint32_t, int64_t>, int64_t> bytes;
  for (const Launch &launch : plan.launches) {
    BETZ_ASSIGN_OR_RETURN(KernelSpec spec,
                          specOf(target.kernels[launch.kernel]));
    for (size_t i = 0; i < launch.operands.size(); ++i) {
      const BufferRef &ref = launch.operands[i];
      int64_t &most = bytes[{ref.kind, ref.index, ref.offset}];
      most = std::max(most, reachBytes(spec.operands[i], extents));
    }
  }
  int64_t total = 0;
  for (const auto &[ref, size] : bytes)
    total += size;
  return total;
}

} // namespace betz::tune
