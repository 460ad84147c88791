#include "runtime/base/Json.h"
#include "runtime/base/File.h"

#include <cstdio>
#include <fmt/format.h>

namespace betz {
namespace {

constexpr int kMaxDepth = 64;

Result<const Json *> findMember(const Json &object, const char *key) {
  if (!object.is_object())
    return dataLoss(fmt::format("expected an object with \"{}\"", key));
  auto it = object.find(key);
  if (it == object.end())
    return dataLoss(fmt::format("\"{}\" is missing", key));
  return &*it;
}

template <typename T> bool holds(const Json &value) {
  if constexpr (std::is_same_v<T, bool>)
    return value.is_boolean();
  else if constexpr (std::is_same_v<T, std::string>)
    return value.is_string();
  else if constexpr (std::is_floating_point_v<T>)
    return value.is_number();
  else if constexpr (std::is_unsigned_v<T>)
    return value.is_number_unsigned() &&
           value.get<uint64_t>() <= std::numeric_limits<T>::max();
  else
    return value.is_number_integer() &&
           !(value.is_number_unsigned() &&
             value.get<uint64_t>() > uint64_t(INT64_MAX)) &&
           value.get<int64_t>() >= std::numeric_limits<T>::min() &&
           value.get<int64_t>() <= std::numeric_limits<T>::max();
}

} // namespace

Result<Json> parseJson(std::string_view text) {
  bool tooDeep = false;
  auto limitDepth = [&](int depth, Json::parse_event_t, Json &) {
    tooDeep |= depth > kMaxDepth;
    return !tooDeep;
  };
  Json value = Json::parse(text, limitDepth, /*allow_exceptions=*/false);
  if (tooDeep)
    return dataLoss(fmt::format("JSON nests deeper than {}", kMaxDepth));
  if (value.is_discarded())
    return dataLoss("not valid JSON");
  return value;
}

template <typename T> Result<T> getMember(const Json &object, const char *key) {
  BETZ_ASSIGN_OR_RETURN(const Json *value, findMember(object, key));
  if (!holds<T>(*value))
    return dataLoss(fmt::format("\"{}\" has the wrong type or range", key));
  return value->get<T>();
}

template Result<bool> getMember(const Json &, const char *);
template Result<int32_t> getMember(const Json &, const char *);
template Result<uint32_t> getMember(const Json &, const char *);
template Result<int64_t> getMember(const Json &, const char *);
template Result<uint64_t> getMember(const Json &, const char *);
template Result<double> getMember(const Json &, const char *);
template Result<std::string> getMember(const Json &, const char *);

Result<const Json *> getArray(const Json &object, const char *key) {
  BETZ_ASSIGN_OR_RETURN(const Json *value, findMember(object, key));
  if (!value->is_array())
    return dataLoss(fmt::format("\"{}\" is not an array", key));
  return value;
}

Result<const Json *> getObject(const Json &object, const char *key) {
  BETZ_ASSIGN_OR_RETURN(const Json *value, findMember(object, key));
  if (!value->is_object())
    return dataLoss(fmt::format("\"{}\" is not an object", key));
  return value;
}

Status writeJsonReport(const Json &report, const std::filesystem::path &path) {
  std::string text =
      report.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
  if (path != "-")
    return writeFileAtomically(path, text);
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() ||
      std::fflush(stdout) != 0)
    return resourceExhausted("cannot write the report to standard output");
  return Status::ok();
}

} // namespace betz
