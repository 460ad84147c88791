//===- Json.h - JSON whose errors are Statuses ----------------------------===//
#pragma once

#include "runtime/base/Status.h"

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string_view>

namespace betz {

/// Objects keep the order in which keys were added, so that reports read as
/// written and serialised programs are deterministic.
using Json = nlohmann::ordered_json;

/// Parses one JSON document. Nesting deeper than 64 is an error.
Result<Json> parseJson(std::string_view text);

/// Member `key` of `object` as T (integers, double, bool, std::string); a clear
/// error if `object` is no object or the member is missing or of another type.
template <typename T> Result<T> getMember(const Json &object, const char *key);

/// Member `key` as an array or object.
Result<const Json *> getArray(const Json &object, const char *key);
Result<const Json *> getObject(const Json &object, const char *key);

/// `--json FILE`: pretty-printed to FILE by rename, or to stdout for "-".
Status writeJsonReport(const Json &report, const std::filesystem::path &path);

} // namespace betz
