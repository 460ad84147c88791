//===- ProgramHeader.h - A program's header as JSON -----------------------===//
#pragma once

#include "runtime/program/Program.h"

#include <string>

namespace betz {

/// A program's bytes in the order in which the file holds them: the IR text,
/// then for each target its derived data and its executables.
std::vector<std::span<const std::byte>> listSections(const Program &program);

/// Bytes that a section of `size` bytes takes in the file.
inline uint64_t paddedSize(uint64_t size) {
  return (size + kSectionAlignment - 1) / kSectionAlignment * kSectionAlignment;
}

/// The header: everything except the sections' bytes.
std::string encodeHeader(const Program &program);

/// Fills `program` from a header and the file's section area. References and
/// sizes are not checked here (see ProgramChecks.h), but every section lies
/// inside `sections`.
Status decodeHeader(std::string_view header,
                    std::span<const std::byte> sections, Program &program);

} // namespace betz
