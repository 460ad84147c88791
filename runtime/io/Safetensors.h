//===- Safetensors.h - Named tensors in one mapped file -------------------===//
#pragma once

#include "runtime/base/File.h"
#include "runtime/base/Status.h"

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace betz {

/// One tensor as the file holds it: dense, row-major, little-endian.
struct SafeTensor {
  std::string name;
  /// As in the file: "F32", "I64", "BF16", ...
  std::string dtype;
  std::vector<int64_t> shape;
  /// Exactly shape × width bytes; not aligned for the element type.
  std::span<const std::byte> bytes;
};

/// A validated safetensors file. The tensors' bytes live as long as this
/// object. Reading from several threads is safe.
class SafetensorsFile {
public:
  /// Maps `path` and checks all of its header. Fails with DataLoss, naming the
  /// file and the tensor, when anything about it is out of the format.
  static Result<SafetensorsFile> open(const std::filesystem::path &path);
  /// The same over bytes that outlive the result; `name` stands for the path
  /// in errors.
  static Result<SafetensorsFile> parse(std::span<const std::byte> file,
                                       std::string_view name);

  /// The tensor, or null. The pointer lives as long as this object.
  const SafeTensor *find(std::string_view name) const;
  /// All tensors, by name.
  const std::vector<SafeTensor> &tensors() const { return sorted; }
  const std::map<std::string, std::string> &metadata() const { return texts; }

private:
  SafetensorsFile() = default;
  std::optional<MappedFile> mapping;
  std::vector<SafeTensor> sorted;
  std::map<std::string, std::string> texts;
};

/// Bytes of one element of a safetensors type; nothing for an unknown type.
std::optional<size_t> safetensorsWidth(std::string_view dtype);

/// Writes the tensors' data in the given order under an 8-byte-aligned header;
/// the same arguments give the same bytes. Fails with InvalidArgument when a
/// name repeats or a tensor's bytes do not match its shape.
Status writeSafetensors(const std::filesystem::path &path,
                        const std::vector<SafeTensor> &tensors,
                        const std::map<std::string, std::string> &metadata);

} // namespace betz
