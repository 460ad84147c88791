//===- Retile.h - A program with other tiles ------------------------------===//
#pragma once

#include "codegen/tune/Tasks.h"

#include <memory>

namespace betz::tune {

/// `program` with these tiles, one a task of target number `target`, and the
/// code for them; its other targets stay. Needs NVRTC for code that the kernel
/// cache does not hold.
Result<std::shared_ptr<Program>> retile(const Program &program, size_t target,
                                        const std::vector<Task> &tasks,
                                        const std::vector<TileConfig> &tiles);

} // namespace betz::tune
