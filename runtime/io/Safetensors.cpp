#include "runtime/io/Safetensors.h"
#include "runtime/base/Json.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <set>

namespace betz {
namespace {

/// The reference implementation refuses longer headers too.
constexpr uint64_t kMaxHeaderBytes = 100'000'000;
constexpr const char *kMetadataKey = "__metadata__";
constexpr const char *kRemedy =
    "the file is damaged or not safetensors: export it again";

struct Width {
  std::string_view dtype;
  size_t bytes;
};
constexpr std::array<Width, 17> kWidths = {{{"F64", 8},
                                            {"F32", 4},
                                            {"F16", 2},
                                            {"BF16", 2},
                                            {"I64", 8},
                                            {"I32", 4},
                                            {"I16", 2},
                                            {"I8", 1},
                                            {"U64", 8},
                                            {"U32", 4},
                                            {"U16", 2},
                                            {"U8", 1},
                                            {"BOOL", 1},
                                            {"C64", 8},
                                            {"F8_E4M3", 1},
                                            {"F8_E5M2", 1},
                                            {"F8_E8M0", 1}}};

/// A tensor's place in the data section, which starts after the header.
struct Extent {
  uint64_t begin;
  uint64_t end;
  size_t tensor;
};

/// Shape × width; nothing when it overflows.
std::optional<uint64_t> byteSize(const std::vector<int64_t> &shape,
                                 size_t width) {
  uint64_t bytes = width;
  for (int64_t extent : shape)
    if (__builtin_mul_overflow(bytes, static_cast<uint64_t>(extent), &bytes))
      return std::nullopt;
  return bytes;
}

/// nlohmann keeps the last of two equal keys; here that would hide a tensor,
/// so the keys are collected while parsing.
Result<Json> parseHeader(std::string_view text) {
  std::vector<std::set<std::string>> openObjects;
  std::string repeated;
  auto watchKeys = [&](int depth, Json::parse_event_t event, Json &value) {
    using Event = Json::parse_event_t;
    if (event == Event::object_start)
      openObjects.emplace_back();
    else if (event == Event::object_end)
      openObjects.pop_back();
    else if (event == Event::key && repeated.empty() &&
             !openObjects.back().insert(value.get<std::string>()).second)
      repeated = value.get<std::string>();
    return true;
  };
  Json header = Json::parse(text, watchKeys, /*allow_exceptions=*/false);
  if (header.is_discarded() || !header.is_object())
    return dataLoss(
        fmt::format("the header is not a JSON object; {}", kRemedy));
  if (!repeated.empty())
    return dataLoss(
        fmt::format("\"{}\" is in the header twice; {}", repeated, kRemedy));
  return header;
}

Result<std::string_view> headerText(std::span<const std::byte> file) {
  uint64_t length = 0;
  if (file.size() < sizeof(length))
    return dataLoss(fmt::format("{} bytes are too few for a header; {}",
                                file.size(), kRemedy));
  std::memcpy(&length, file.data(), sizeof(length));
  uint64_t room = file.size() - sizeof(length);
  if (length > room || length > kMaxHeaderBytes)
    return dataLoss(fmt::format("a header of {} bytes does not fit ({} bytes "
                                "follow, {} are allowed); {}",
                                length, room, kMaxHeaderBytes, kRemedy));
  std::string_view text(
      reinterpret_cast<const char *>(file.data()) + sizeof(length), length);
  if (!text.starts_with('{'))
    return dataLoss(
        fmt::format("the header does not start with '{{'; {}", kRemedy));
  return text;
}

Result<std::map<std::string, std::string>> readMetadata(const Json &value) {
  if (!value.is_object())
    return dataLoss(
        fmt::format("\"{}\" is not an object; {}", kMetadataKey, kRemedy));
  std::map<std::string, std::string> metadata;
  for (const auto &[key, text] : value.items()) {
    if (!text.is_string())
      return dataLoss(
          fmt::format("metadata \"{}\" is not a string; {}", key, kRemedy));
    metadata.emplace(key, text.get<std::string>());
  }
  return metadata;
}

Result<std::vector<uint64_t>> readSizes(const Json &entry, const char *key) {
  BETZ_ASSIGN_OR_RETURN(const Json *array, getArray(entry, key));
  std::vector<uint64_t> sizes;
  for (const Json &value : *array) {
    if (!value.is_number_unsigned() || value.get<uint64_t>() > INT64_MAX)
      return dataLoss(
          fmt::format("\"{}\" holds {}, not a size", key, value.dump()));
    sizes.push_back(value.get<uint64_t>());
  }
  return sizes;
}

/// Fills `tensor` but for its bytes and gives their extent.
Result<Extent> readEntry(const Json &entry, uint64_t dataBytes,
                         SafeTensor &tensor) {
  BETZ_ASSIGN_OR_RETURN(tensor.dtype, getMember<std::string>(entry, "dtype"));
  BETZ_ASSIGN_OR_RETURN(std::vector<uint64_t> shape, readSizes(entry, "shape"));
  BETZ_ASSIGN_OR_RETURN(std::vector<uint64_t> offsets,
                        readSizes(entry, "data_offsets"));
  tensor.shape.assign(shape.begin(), shape.end());
  std::optional<size_t> width = safetensorsWidth(tensor.dtype);
  if (!width)
    return dataLoss(
        fmt::format("unknown dtype \"{}\"; convert it to F32", tensor.dtype));
  if (offsets.size() != 2 || offsets[0] > offsets[1])
    return dataLoss(
        fmt::format("data_offsets {} are no [begin, end]", offsets));
  if (offsets[1] > dataBytes)
    return dataLoss(fmt::format("data_offsets {} reach past the {} bytes of "
                                "data",
                                offsets, dataBytes));
  std::optional<uint64_t> needed = byteSize(tensor.shape, *width);
  if (!needed || *needed != offsets[1] - offsets[0])
    return dataLoss(fmt::format(
        "data_offsets {} hold {} bytes, but {} of shape {} needs {}", offsets,
        offsets[1] - offsets[0], tensor.dtype, tensor.shape,
        needed ? std::to_string(*needed) : "more than fits in 64 bits"));
  return Extent{offsets[0], offsets[1], 0};
}

/// The extents must tile the data: no overlap, no hole, nothing after.
Status checkTiling(std::vector<Extent> extents, uint64_t dataBytes,
                   const std::vector<SafeTensor> &tensors) {
  std::sort(extents.begin(), extents.end(),
            [](const Extent &a, const Extent &b) {
              return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
            });
  uint64_t at = 0;
  for (const Extent &extent : extents) {
    const std::string &name = tensors[extent.tensor].name;
    if (extent.begin < at)
      return dataLoss(fmt::format(
          "tensor \"{}\": its data at byte {} overlaps the tensor before it, "
          "which ends at {}; {}",
          name, extent.begin, at, kRemedy));
    if (extent.begin > at)
      return dataLoss(fmt::format(
          "tensor \"{}\": bytes {} to {} before its data belong to no tensor; "
          "{}",
          name, at, extent.begin, kRemedy));
    at = extent.end;
  }
  if (at != dataBytes)
    return dataLoss(fmt::format("{} bytes follow the last tensor's data; {}",
                                dataBytes - at, kRemedy));
  return Status::ok();
}

Status readTensors(const Json &header, std::span<const std::byte> data,
                   std::vector<SafeTensor> &tensors,
                   std::map<std::string, std::string> &metadata) {
  std::vector<Extent> extents;
  for (const auto &[name, entry] : header.items()) {
    if (name == kMetadataKey) {
      BETZ_ASSIGN_OR_RETURN(metadata, readMetadata(entry));
      continue;
    }
    SafeTensor tensor;
    tensor.name = name;
    Result<Extent> extent = readEntry(entry, data.size(), tensor);
    if (!extent.isOk())
      return dataLoss(fmt::format("tensor \"{}\": {}; {}", name,
                                  extent.status().message(), kRemedy));
    extent->tensor = tensors.size();
    tensor.bytes = data.subspan(extent->begin, extent->end - extent->begin);
    extents.push_back(*extent);
    tensors.push_back(std::move(tensor));
  }
  return checkTiling(std::move(extents), data.size(), tensors);
}

Status checkWritable(const std::vector<SafeTensor> &tensors) {
  std::set<std::string_view> names;
  for (const SafeTensor &tensor : tensors) {
    if (tensor.name == kMetadataKey || !names.insert(tensor.name).second)
      return invalidArgument(fmt::format(
          "tensor name \"{}\" is reserved or given twice", tensor.name));
    std::optional<size_t> width = safetensorsWidth(tensor.dtype);
    bool negative = std::any_of(tensor.shape.begin(), tensor.shape.end(),
                                [](int64_t extent) { return extent < 0; });
    if (!width || negative ||
        byteSize(tensor.shape, *width) != tensor.bytes.size())
      return invalidArgument(fmt::format(
          "tensor \"{}\": {} bytes do not match {} of shape {}", tensor.name,
          tensor.bytes.size(), tensor.dtype, tensor.shape));
  }
  return Status::ok();
}

std::string makeHeader(const std::vector<SafeTensor> &tensors,
                       const std::map<std::string, std::string> &metadata) {
  Json header = Json::object();
  if (!metadata.empty())
    header[kMetadataKey] = metadata;
  uint64_t at = 0;
  for (const SafeTensor &tensor : tensors) {
    header[tensor.name] = {{"dtype", tensor.dtype},
                           {"shape", tensor.shape},
                           {"data_offsets", {at, at + tensor.bytes.size()}}};
    at += tensor.bytes.size();
  }
  std::string text =
      header.dump(-1, ' ', false, Json::error_handler_t::replace);
  text.resize((text.size() + 7) / 8 * 8, ' ');
  return text;
}

} // namespace

std::optional<size_t> safetensorsWidth(std::string_view dtype) {
  for (const Width &width : kWidths)
    if (width.dtype == dtype)
      return width.bytes;
  return std::nullopt;
}

Result<SafetensorsFile>
SafetensorsFile::open(const std::filesystem::path &path) {
  BETZ_ASSIGN_OR_RETURN(MappedFile mapping, MappedFile::open(path));
  BETZ_ASSIGN_OR_RETURN(SafetensorsFile file,
                        parse(mapping.bytes(), path.string()));
  file.mapping = std::move(mapping);
  return file;
}

Result<SafetensorsFile> SafetensorsFile::parse(std::span<const std::byte> bytes,
                                               std::string_view name) {
  auto located = [&](Status status) {
    return std::move(status).withContext(name);
  };
  Result<std::string_view> text = headerText(bytes);
  if (!text.isOk())
    return located(text.status());
  Result<Json> header = parseHeader(*text);
  if (!header.isOk())
    return located(header.status());
  SafetensorsFile file;
  Status read =
      readTensors(*header, bytes.subspan(sizeof(uint64_t) + text->size()),
                  file.sorted, file.texts);
  if (!read.isOk())
    return located(std::move(read));
  std::sort(
      file.sorted.begin(), file.sorted.end(),
      [](const SafeTensor &a, const SafeTensor &b) { return a.name < b.name; });
  return file;
}

const SafeTensor *SafetensorsFile::find(std::string_view name) const {
  auto it =
      std::lower_bound(sorted.begin(), sorted.end(), name,
                       [](const SafeTensor &tensor, std::string_view key) {
                         return tensor.name < key;
                       });
  return it != sorted.end() && it->name == name ? &*it : nullptr;
}

Status writeSafetensors(const std::filesystem::path &path,
                        const std::vector<SafeTensor> &tensors,
                        const std::map<std::string, std::string> &metadata) {
  if (Status status = checkWritable(tensors); !status.isOk())
    return std::move(status).withContext(path.string());
  std::string header = makeHeader(tensors, metadata);
  return writeFileAtomically(path, [&](int fd) {
    uint64_t length = header.size();
    BETZ_RETURN_IF_ERROR(writeAll(fd, &length, sizeof(length)));
    BETZ_RETURN_IF_ERROR(writeAll(fd, header.data(), header.size()));
    for (const SafeTensor &tensor : tensors)
      BETZ_RETURN_IF_ERROR(
          writeAll(fd, tensor.bytes.data(), tensor.bytes.size()));
    return Status::ok();
  });
}

} // namespace betz
