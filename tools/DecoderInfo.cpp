#include "tools/DecoderInfo.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace betz {

Result<Json> readMetadata(const Metadata &metadata, const std::string &key) {
  auto found = metadata.find(key);
  if (found == metadata.end())
    return Json();
  Result<Json> value = parseJson(found->second);
  if (!value.isOk())
    return std::move(value).status().withContext(
        fmt::format("the model's metadata \"{}\"", key));
  return value;
}

Result<std::vector<double>> readNumbers(const Metadata &metadata,
                                        const std::string &key, size_t count) {
  BETZ_ASSIGN_OR_RETURN(Json json, readMetadata(metadata, key));
  std::vector<double> numbers;
  if (json.is_array())
    for (const Json &value : json)
      if (value.is_number())
        numbers.push_back(value.get<double>());
  if (!json.is_null() && numbers.size() != count)
    return dataLoss(fmt::format("the program's metadata \"{}\" is not {} "
                                "numbers",
                                key, count));
  return numbers;
}

Result<Metadata> metadataOfSession(const Metadata &metadata,
                                   const std::string &session) {
  BETZ_ASSIGN_OR_RETURN(Json sessions, readMetadata(metadata, "sessions"));
  if (!sessions.is_array() || sessions.size() < 2)
    return metadata;
  std::vector<std::string> names;
  for (const Json &entry : sessions) {
    BETZ_ASSIGN_OR_RETURN(std::string name,
                          getMember<std::string>(entry, "name"));
    if (name == session) {
      Metadata own = metadata;
      for (const auto &[key, value] : entry.items())
        own[key] = value.dump();
      return own;
    }
    names.push_back(std::move(name));
  }
  return invalidArgument(fmt::format(
      "this decoder knows no session \"{}\"; name one of {} by --session",
      session, fmt::join(names, ", ")));
}

Result<DecoderWindows> readDecoderWindows(const Metadata &metadata) {
  BETZ_ASSIGN_OR_RETURN(Json config, readMetadata(metadata, "config"));
  if (config.is_null())
    return invalidArgument("the metadata has no model configuration, so the "
                           "windows are not known; compile from a model file");
  DecoderWindows info;
  WindowSpec &windows = info.windows;
  BETZ_ASSIGN_OR_RETURN(windows.binMs, getMember<double>(config, "bin_ms"));
  BETZ_ASSIGN_OR_RETURN(windows.windowBins,
                        getMember<int32_t>(config, "window_bins"));
  BETZ_ASSIGN_OR_RETURN(windows.valueBuckets,
                        getMember<int32_t>(config, "value_buckets"));
  BETZ_ASSIGN_OR_RETURN(info.maxNeurons,
                        getMember<int32_t>(config, "max_neurons"));
  BETZ_ASSIGN_OR_RETURN(Json stride, readMetadata(metadata, "stride_bins"));
  Json strideMember = {{"stride_bins", stride.is_null() ? Json(1) : stride}};
  BETZ_ASSIGN_OR_RETURN(windows.strideBins,
                        getMember<int32_t>(strideMember, "stride_bins"));
  if (auto map = metadata.find("units"); map != metadata.end()) {
    BETZ_ASSIGN_OR_RETURN(info.unitMap, UnitMap::parse(map->second));
  }
  return info;
}

} // namespace betz
