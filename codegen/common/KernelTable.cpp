#include "codegen/common/KernelTable.h"

#include <fmt/format.h>

namespace betz {

namespace {

/// "_64x128x4": rows, columns and stages.
std::string tileSuffix(const TileConfig &tile) {
  return fmt::format("_{}x{}x{}", tile.rows, tile.columns, tile.stages);
}

} // namespace

uint32_t KernelTable::add(const std::string &name, const std::string &section,
                          const KernelSpec &spec) {
  KernelSpecEntry entry;
  entry.name = name;
  entry.section = section;
  entry.code = codeName(spec);
  auto [known, isNew] =
      numbers.try_emplace({name, entry.code}, uint32_t(kernels.size()));
  if (!isNew)
    return known->second;
  if (!names.insert(name).second)
    entry.name += tileSuffix(spec.tile);
  entry.tasks = taskSpace(spec);
  entry.spec = toJson(spec).dump();
  bySpec.emplace(entry.code, spec);
  kernels.push_back(std::move(entry));
  return known->second;
}

std::string kernelNameOf(const KernelSpecEntry &entry, const KernelSpec &spec) {
  const std::string suffix = tileSuffix(spec.tile);
  return entry.name.ends_with(suffix)
             ? entry.name.substr(0, entry.name.size() - suffix.size())
             : entry.name;
}

} // namespace betz
