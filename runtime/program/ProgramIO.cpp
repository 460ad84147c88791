// The file's frame: magic, version, lengths and hash around header and
// sections. docs/program.md describes the layout byte by byte.
#include "runtime/base/Hash.h"
#include "runtime/program/Program.h"
#include "runtime/program/ProgramChecks.h"
#include "runtime/program/ProgramHeader.h"

#include <bit>
#include <cstring>
#include <fmt/format.h>

namespace betz {
namespace {

static_assert(std::endian::native == std::endian::little,
              "programs are written as they lie in memory");

constexpr char kMagic[8] = {'B', 'E', 'T', 'Z', 'P', 'R', 'O', 'G'};
constexpr uint64_t kMaxHeaderBytes = 64 << 20;

/// The first bytes of a file.
struct Frame {
  char magic[8];
  uint32_t version;
  uint32_t zero;
  uint64_t headerBytes;
  uint64_t fileBytes;
  uint64_t hash;
  std::byte padding[24];
};
static_assert(sizeof(Frame) == 64);
constexpr size_t kHashOffset = offsetof(Frame, hash);
constexpr size_t kHashEnd = kHashOffset + sizeof(uint64_t);

/// Covers every bit but the hash's own field: the bytes before it seed the hash
/// of those after it.
uint64_t hashFile(std::span<const std::byte> file) {
  return hashBytes(file.data() + kHashEnd, file.size() - kHashEnd,
                   hashBytes(file.data(), kHashOffset));
}

Result<Frame> checkFrame(std::span<const std::byte> file) {
  if (file.size() < sizeof(kMagic) ||
      std::memcmp(file.data(), kMagic, sizeof(kMagic)) != 0)
    return invalidArgument("not a Betz program; make one with betz compile");
  if (file.size() < sizeof(Frame))
    return dataLoss(fmt::format("truncated: {} bytes are too few for a "
                                "program; copy or compile it again",
                                file.size()));
  Frame frame;
  std::memcpy(&frame, file.data(), sizeof(frame));
  if (frame.version != kProgramVersion)
    return invalidArgument(fmt::format(
        "program format {} is {} than this betz, which reads {}; recompile it "
        "with betz compile",
        frame.version, frame.version < kProgramVersion ? "older" : "newer",
        kProgramVersion));
  if (file.size() < frame.fileBytes)
    return dataLoss(fmt::format("truncated: {} of {} bytes are there; copy or "
                                "compile it again",
                                file.size(), frame.fileBytes));
  if (file.size() > frame.fileBytes)
    return dataLoss(fmt::format("corrupt: {} bytes follow the program's {}; "
                                "copy or compile it again",
                                file.size() - frame.fileBytes,
                                frame.fileBytes));
  if (uint64_t hash = hashFile(file); hash != frame.hash)
    return dataLoss(fmt::format("corrupt: its content hashes to {}, not to {}; "
                                "copy or compile it again",
                                toHex(hash), toHex(frame.hash)));
  return frame;
}

/// Fills `program` from a whole file, whose bytes outlive it.
Status parse(std::span<const std::byte> file, Program &program) {
  BETZ_ASSIGN_OR_RETURN(Frame frame, checkFrame(file));
  uint64_t room = file.size() - sizeof(Frame);
  if (file.size() % kSectionAlignment != 0 ||
      frame.headerBytes > std::min(room, kMaxHeaderBytes))
    return dataLoss(fmt::format("malformed: a header of {} bytes in a file of "
                                "{}; recompile it with betz compile",
                                frame.headerBytes, file.size()));
  std::string_view header(reinterpret_cast<const char *>(file.data()) +
                              sizeof(Frame),
                          frame.headerBytes);
  // The file is a multiple of the alignment, so this is no further than its
  // end.
  uint64_t sectionStart = paddedSize(sizeof(Frame) + frame.headerBytes);
  Status status = decodeHeader(header, file.subspan(sectionStart), program);
  if (status.isOk())
    status = checkProgram(program);
  if (!status.isOk())
    return dataLoss(fmt::format("malformed: {}; recompile it with betz compile",
                                status.message()));
  return Status::ok();
}

} // namespace

Result<std::shared_ptr<const Program>>
readProgram(const std::filesystem::path &path) {
  BETZ_ASSIGN_OR_RETURN(MappedFile file,
                        MappedFile::open(path, /*prefault=*/true));
  auto program = std::make_shared<Program>();
  program->file = std::make_shared<const MappedFile>(std::move(file));
  if (Status status = parse(program->file->bytes(), *program); !status.isOk())
    return std::move(status).withContext(path.string());
  return std::shared_ptr<const Program>(std::move(program));
}

Result<std::shared_ptr<const Program>>
parseProgram(std::shared_ptr<const std::vector<std::byte>> bytes,
             std::string_view origin) {
  auto program = std::make_shared<Program>();
  program->ownedBytes.push_back(std::move(bytes));
  if (Status status = parse(*program->ownedBytes.front(), *program);
      !status.isOk())
    return std::move(status).withContext(origin);
  return std::shared_ptr<const Program>(std::move(program));
}

std::vector<std::byte> serializeProgram(const Program &program) {
  std::string header = encodeHeader(program);
  std::vector<std::span<const std::byte>> sections = listSections(program);
  uint64_t size = paddedSize(sizeof(Frame) + header.size());
  for (std::span<const std::byte> section : sections)
    size += paddedSize(section.size());

  std::vector<std::byte> file(size);
  auto put = [&](uint64_t at, const void *data, size_t bytes) {
    if (bytes > 0)
      std::memcpy(file.data() + at, data, bytes);
  };
  put(sizeof(Frame), header.data(), header.size());
  uint64_t at = paddedSize(sizeof(Frame) + header.size());
  for (std::span<const std::byte> section : sections) {
    put(at, section.data(), section.size());
    at += paddedSize(section.size());
  }
  Frame frame = {};
  std::memcpy(frame.magic, kMagic, sizeof(kMagic));
  frame.version = kProgramVersion;
  frame.headerBytes = header.size();
  frame.fileBytes = size;
  put(0, &frame, sizeof(frame));
  frame.hash = hashFile(file);
  put(0, &frame, sizeof(frame));
  return file;
}

Status writeProgram(const Program &program, const std::filesystem::path &path) {
  std::vector<std::byte> file = serializeProgram(program);
  return writeFileAtomically(
      path, [&](int fd) { return writeAll(fd, file.data(), file.size()); });
}

std::string programHash(const Program &program) {
  std::vector<std::byte> file = serializeProgram(program);
  uint64_t hash;
  std::memcpy(&hash, file.data() + kHashOffset, sizeof(hash));
  return toHex(hash);
}

} // namespace betz
