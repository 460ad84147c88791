//===- ModelOptions.h - Options that compile, dump and interpret share ----===//
#pragma once

#include "tools/Model.h"

#include <CLI/CLI.hpp>

namespace betz {

/// MODEL, --weights, --seed, --outputs, --strict.
void addModelOptions(CLI::App &command, ModelRequest &request);
/// --target, --precision, --batch, --max-events.
void addTargetOptions(CLI::App &command, CompileOptions &options);

} // namespace betz
