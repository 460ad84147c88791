#include "serve/http/ApiKeys.h"

#include "runtime/base/File.h"

#include <fmt/format.h>

namespace betz::serve {
namespace {

constexpr size_t kLeastLength = 16;

bool isEqual(std::string_view key, std::string_view given) {
  unsigned char difference = key.size() != given.size();
  for (size_t i = 0; i < key.size(); ++i)
    difference |= key[i] ^ (given.empty() ? 0 : given[i % given.size()]);
  return difference == 0;
}

} // namespace

Result<ApiKeys> ApiKeys::read(const std::filesystem::path &path) {
  ApiKeys result;
  if (path.empty())
    return result;
  BETZ_ASSIGN_OR_RETURN(const std::string text, readTextFile(path));
  size_t number = 0;
  for (size_t at = 0; at < text.size(); ++number) {
    const size_t end = std::min(text.find('\n', at), text.size());
    std::string line = text.substr(at, end - at);
    at = end + 1;
    if (!line.empty() && line.back() == '\r')
      line.pop_back();
    if (line.empty() || line[0] == '#')
      continue;
    if (line.size() < kLeastLength)
      return invalidArgument(
          fmt::format("{}:{}: a key has at least {} characters", path.string(),
                      number + 1, kLeastLength));
    result.keys.push_back(std::move(line));
  }
  if (result.keys.empty())
    return invalidArgument(path.string() + ": has no key");
  return result;
}

bool ApiKeys::allow(std::string_view authorization,
                    std::string_view apiKey) const {
  static constexpr std::string_view kScheme = "Bearer ";
  std::string_view given = apiKey;
  if (authorization.starts_with(kScheme))
    given = authorization.substr(kScheme.size());
  bool isKnown = keys.empty();
  for (const std::string &key : keys)
    isKnown |= isEqual(key, given);
  return isKnown;
}

} // namespace betz::serve
