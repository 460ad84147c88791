//===- DType.h - Element types that cross the compiler/runtime border -----===//
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace betz {

/// Element types of buffers and files. The numbers are written into programs:
/// append, never renumber.
enum class DType : uint8_t { F32 = 0, BF16 = 1, I8 = 2, I32 = 3, F64 = 4 };

/// Bytes of one element.
size_t sizeOf(DType type);
/// Lower-case name as IR and reports print it: "f32", "bf16", "i8", ...
std::string_view toString(DType type);
/// The inverse of toString; nothing for an unknown name.
std::optional<DType> parseDType(std::string_view name);

} // namespace betz
