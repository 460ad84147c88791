// Feeds bytes to the program reader: as they are, and as the header of a file
// whose frame is right, so that the header's parser and checks are reached.
#include "runtime/base/Hash.h"
#include "runtime/program/Program.h"

#include <cstring>

using namespace betz;

namespace {

std::vector<std::byte> frameHeader(const uint8_t *data, size_t size) {
  // The first byte says how many pages of sections follow.
  size_t pages = size > 0 ? data[0] % 8 : 0;
  size_t headerBytes = size > 0 ? size - 1 : 0;
  size_t headerEnd = (64 + headerBytes + kSectionAlignment - 1) /
                     kSectionAlignment * kSectionAlignment;
  std::vector<std::byte> file(headerEnd + pages * kSectionAlignment);
  uint64_t fileBytes = file.size(), headerLength = headerBytes;
  std::memcpy(file.data(), "BETZPROG", 8);
  std::memcpy(file.data() + 8, &kProgramVersion, 4);
  std::memcpy(file.data() + 16, &headerLength, 8);
  std::memcpy(file.data() + 24, &fileBytes, 8);
  if (headerBytes > 0)
    std::memcpy(file.data() + 64, data + 1, headerBytes);
  uint64_t hash =
      hashBytes(file.data() + 40, file.size() - 40, hashBytes(file.data(), 32));
  std::memcpy(file.data() + 32, &hash, 8);
  return file;
}

void parse(std::vector<std::byte> bytes) {
  auto shared =
      std::make_shared<const std::vector<std::byte>>(std::move(bytes));
  auto program = parseProgram(shared, "fuzz");
  if (!program.isOk())
    return;
  // What was accepted can be written and read again.
  auto again = std::make_shared<const std::vector<std::byte>>(
      serializeProgram(**program));
  if (!parseProgram(again, "again").isOk())
    __builtin_trap();
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const auto *bytes = reinterpret_cast<const std::byte *>(data);
  parse({bytes, bytes + size});
  parse(frameHeader(data, size));
  return 0;
}
