//===- ApiKeys.h - Who may use a server -----------------------------------===//
#pragma once

#include "runtime/base/Status.h"

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace betz::serve {

/// Keys, each at least 16 characters; none lets everybody in.
class ApiKeys {
public:
  /// One key a line; blank lines and lines that begin with # are left out. An
  /// empty path: no keys. A file without keys is an error.
  static Result<ApiKeys> read(const std::filesystem::path &path);

  /// Whether a request with these headers may pass: "Bearer KEY", or the key
  /// alone in `x-api-key`. Takes as long for a wrong key as for a right one.
  bool allow(std::string_view authorization, std::string_view apiKey) const;

private:
  std::vector<std::string> keys;
};

} // namespace betz::serve
