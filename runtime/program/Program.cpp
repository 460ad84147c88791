#include "runtime/program/Program.h"

namespace betz {

int64_t TensorSpec::elements(std::span<const int64_t> extents) const {
  int64_t count = 1;
  for (const Dim &dim : shape)
    count *= dim.evaluate(extents);
  return count;
}

int64_t TensorSpec::bytes(std::span<const int64_t> extents) const {
  return elements(extents) * int64_t(sizeOf(dtype));
}

int64_t TaskSpace::count(std::span<const int64_t> extents) const {
  int64_t tasks = 1;
  for (const Term &term : terms)
    tasks *= (term.dim.evaluate(extents) + term.tile - 1) / term.tile;
  return tasks;
}

const TargetVariant *Program::findTarget(std::string_view name) const {
  for (const TargetVariant &target : targets)
    if (target.target == name)
      return &target;
  return nullptr;
}

} // namespace betz
