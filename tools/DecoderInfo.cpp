#include "tools/DecoderInfo.h"

#include <fmt/format.h>

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
