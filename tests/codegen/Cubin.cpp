#include "tests/codegen/Cubin.h"

#include <algorithm>
#include <cstring>
#include <elf.h>
#include <optional>
#include <string_view>

namespace betz::cuda {
namespace {

// An entry is a format, an attribute, u16 bytes of value, and the value: here
// the kernel's symbol and a number.
constexpr uint8_t kSizedValue = 4;
constexpr uint8_t kRegisters = 0x2f;
constexpr uint8_t kFrameSize = 0x11;
constexpr uint8_t kStackSize = 0x12;

template <typename T>
std::optional<T> readAt(std::span<const std::byte> bytes, size_t at) {
  T value;
  if (at > bytes.size() || sizeof(T) > bytes.size() - at)
    return std::nullopt;
  std::memcpy(&value, bytes.data() + at, sizeof(T));
  return value;
}

std::optional<std::span<const std::byte>>
findSection(std::span<const std::byte> elf, std::string_view wanted) {
  auto header = readAt<Elf64_Ehdr>(elf, 0);
  if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0)
    return std::nullopt;
  auto section = [&](size_t i) {
    return readAt<Elf64_Shdr>(elf, header->e_shoff + i * sizeof(Elf64_Shdr));
  };
  auto contents =
      [&](const Elf64_Shdr &at) -> std::optional<std::span<const std::byte>> {
    if (at.sh_offset > elf.size() || at.sh_size > elf.size() - at.sh_offset)
      return std::nullopt;
    return elf.subspan(at.sh_offset, at.sh_size);
  };
  auto names = section(header->e_shstrndx);
  auto text = names ? contents(*names) : std::nullopt;
  for (size_t i = 0; text && i < header->e_shnum; ++i) {
    auto candidate = section(i);
    if (!candidate || candidate->sh_name >= text->size())
      return std::nullopt;
    std::string_view name(reinterpret_cast<const char *>(text->data()) +
                              candidate->sh_name,
                          text->size() - candidate->sh_name);
    if (name.substr(0, name.find('\0')) == wanted)
      return contents(*candidate);
  }
  return std::nullopt;
}

} // namespace

Result<CubinUse> readCubinUse(std::span<const std::byte> cubin) {
  auto info = findSection(cubin, ".nv.info");
  if (!info)
    return dataLoss("not a cubin with a section .nv.info");
  CubinUse use;
  for (size_t at = 0; at < info->size();) {
    auto format = readAt<uint8_t>(*info, at);
    auto attribute = readAt<uint8_t>(*info, at + 1);
    auto bytes = readAt<uint16_t>(*info, at + 2);
    if (!format || !attribute || !bytes)
      return dataLoss(".nv.info ends inside an entry");
    if (*format == kSizedValue) {
      auto value = readAt<uint32_t>(*info, at + 8).value_or(0);
      if (*attribute == kRegisters)
        use.registers = std::max(use.registers, value);
      if (*attribute == kFrameSize || *attribute == kStackSize)
        use.stackBytes = std::max(use.stackBytes, value);
    }
    // Other formats keep their value in the place of its size.
    at += 4 + (*format == kSizedValue ? *bytes : 0);
  }
  if (use.registers == 0)
    return dataLoss(".nv.info names no kernel's registers");
  return use;
}

} // namespace betz::cuda
