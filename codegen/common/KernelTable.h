//===- KernelTable.h - The kernels of a target, each once -----------------===//
#pragma once

#include "codegen/common/KernelSpec.h"

#include <map>
#include <set>

namespace betz {

/// Fills a target's kernels as its launches ask for them: launches of one
/// kernel whose tiles agree share an entry, entries whose specs agree their
/// code.
class KernelTable {
public:
  /// The number of the entry for kernel `name` with `spec`. A tile that is not
  /// the first of its kernel is part of the entry's name.
  uint32_t add(const std::string &name, const std::string &section,
               const KernelSpec &spec);

  const std::vector<KernelSpecEntry> &entries() const { return kernels; }
  /// By code name.
  const std::map<std::string, KernelSpec> &specs() const { return bySpec; }

private:
  std::vector<KernelSpecEntry> kernels;
  std::map<std::string, KernelSpec> bySpec;
  /// By kernel and code name.
  std::map<std::pair<std::string, std::string>, uint32_t> numbers;
  std::set<std::string> names;
};

/// The kernel that an entry of a KernelTable was added for.
std::string kernelNameOf(const KernelSpecEntry &entry, const KernelSpec &spec);

} // namespace betz
