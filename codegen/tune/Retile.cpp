#include "codegen/tune/Retile.h"
#include "codegen/common/KernelTable.h"
#include "codegen/cuda/CudaCode.h"

#include <algorithm>

namespace betz::tune {

namespace {

/// Of each launch of each plan.
using LaunchTiles = std::vector<std::vector<TileConfig>>;

LaunchTiles spread(const TargetVariant &target, const std::vector<Task> &tasks,
                   const std::vector<TileConfig> &tiles) {
  LaunchTiles spread;
  for (const LaunchPlan &plan : target.plans)
    spread.emplace_back(plan.launches.size());
  for (size_t i = 0; i < tasks.size(); ++i)
    for (size_t launch : tasks[i].launches)
      spread[tasks[i].plan][launch] = tiles[i];
  return spread;
}

Section own(Program &program, std::string name, std::vector<std::byte> bytes) {
  auto shared =
      std::make_shared<const std::vector<std::byte>>(std::move(bytes));
  program.ownedBytes.push_back(shared);
  return {std::move(name), *shared};
}

} // namespace

Result<std::shared_ptr<Program>> retile(const Program &program, size_t target,
                                        const std::vector<Task> &tasks,
                                        const std::vector<TileConfig> &tiles) {
  auto retiled = std::make_shared<Program>(program);
  TargetVariant &variant = retiled->targets[target];
  const cuda::Architecture *architecture =
      cuda::findArchitecture(variant.target);
  if (!architecture)
    return invalidArgument("only CUDA targets can have other tiles, not " +
                           variant.target);
  const LaunchTiles wanted = spread(variant, tasks, tiles);
  // In the compiler's order, launch by launch, so that names come out as its.
  KernelTable table;
  size_t most = 0;
  for (const LaunchPlan &plan : variant.plans)
    most = std::max(most, plan.launches.size());
  for (size_t launch = 0; launch < most; ++launch)
    for (size_t plan = 0; plan < variant.plans.size(); ++plan) {
      if (launch >= variant.plans[plan].launches.size())
        continue;
      uint32_t &kernel = variant.plans[plan].launches[launch].kernel;
      const KernelSpecEntry &entry = variant.kernels[kernel];
      BETZ_ASSIGN_OR_RETURN(Json json, parseJson(entry.spec));
      BETZ_ASSIGN_OR_RETURN(KernelSpec spec, kernelSpecFromJson(json));
      const std::string name = kernelNameOf(entry, spec);
      spec.tile = wanted[plan][launch];
      kernel = table.add(name, entry.section, spec);
    }
  variant.kernels = table.entries();
  BETZ_ASSIGN_OR_RETURN(
      auto executables,
      cuda::buildExecutables(table.specs(), *architecture, ignoreCompile()));
  variant.executables.clear();
  for (auto &[isa, code] : executables)
    variant.executables.push_back(
        {isa, own(*retiled, "code." + isa, std::move(code))});
  return retiled;
}

} // namespace betz::tune
