#include "codegen/cuda/CubinStack.h"
#include "runtime/program/CudaImages.h"

#include <algorithm>
#include <cstring>
#include <elf.h>
#include <string_view>

namespace betz::cuda {

namespace {

/// The value at `offset`, zeros where the bytes end before it does.
template <typename T>
T valueAt(std::span<const std::byte> bytes, uint64_t offset) {
  T value = {};
  if (offset <= bytes.size() && sizeof(T) <= bytes.size() - offset)
    std::memcpy(&value, bytes.data() + offset, sizeof(T));
  return value;
}

std::span<const std::byte> contentOf(std::span<const std::byte> image,
                                     const Elf64_Shdr &section) {
  if (section.sh_offset > image.size() ||
      section.sh_size > image.size() - section.sh_offset)
    return {};
  return image.subspan(section.sh_offset, section.sh_size);
}

bool startsWith(std::span<const std::byte> names, uint64_t offset,
                std::string_view name) {
  return offset <= names.size() && name.size() < names.size() - offset &&
         std::memcmp(names.data() + offset, name.data(), name.size() + 1) == 0;
}

/// Of a .nv.info section: a list of a format, an attribute, a 16-bit number
/// and, in format 4, as many bytes as that says.
uint32_t largestFrame(std::span<const std::byte> info) {
  constexpr uint8_t kSized = 4, kFrameSize = 0x11;
  uint32_t largest = 0;
  for (uint64_t at = 0; at + 4 <= info.size();) {
    const auto format = valueAt<uint8_t>(info, at);
    const auto attribute = valueAt<uint8_t>(info, at + 1);
    const auto number = valueAt<uint16_t>(info, at + 2);
    // The function's symbol, then its size.
    if (format == kSized && attribute == kFrameSize && number >= 8)
      largest = std::max(largest, valueAt<uint32_t>(info, at + 8));
    at += 4 + (format == kSized ? number : 0);
  }
  return largest;
}

} // namespace

uint32_t stackBytes(std::span<const std::byte> image) {
  if (!isCubin(image))
    return 0;
  const auto header = valueAt<Elf64_Ehdr>(image, 0);
  auto sectionAt = [&](uint64_t index) {
    return valueAt<Elf64_Shdr>(image,
                               header.e_shoff + index * sizeof(Elf64_Shdr));
  };
  const std::span<const std::byte> names =
      contentOf(image, sectionAt(header.e_shstrndx));
  uint32_t largest = 0;
  for (uint64_t i = 0; i < header.e_shnum; ++i) {
    const Elf64_Shdr section = sectionAt(i);
    if (startsWith(names, section.sh_name, ".nv.info"))
      largest = std::max(largest, largestFrame(contentOf(image, section)));
  }
  return largest;
}

} // namespace betz::cuda
