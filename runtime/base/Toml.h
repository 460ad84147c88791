//===- Toml.h - TOML files whose errors are Statuses ----------------------===//
//
// The one place that includes toml++, so that its options agree everywhere.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/base/File.h"

#define TOML_EXCEPTIONS 0
#include <fmt/format.h>
#include <toml++/toml.h>

namespace betz {

/// "file:line", where an error about `region` points.
inline std::string tomlPlace(const std::filesystem::path &path,
                             const toml::source_region &region) {
  return fmt::format("{}:{}", path.string(), region.begin.line);
}

/// The root table of a file. The error names file and line.
inline Result<toml::table> readToml(const std::filesystem::path &path) {
  BETZ_ASSIGN_OR_RETURN(std::string text, readTextFile(path));
  toml::parse_result parsed = toml::parse(text);
  if (!parsed)
    return invalidArgument(fmt::format("{}: not valid TOML: {}",
                                       tomlPlace(path, parsed.error().source()),
                                       parsed.error().description()));
  return std::move(parsed).table();
}

} // namespace betz
