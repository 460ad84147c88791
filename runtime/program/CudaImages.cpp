#include "runtime/program/CudaImages.h"

#include <bit>
#include <cstring>
#include <fmt/format.h>

namespace betz {
namespace {

static_assert(std::endian::native == std::endian::little);

constexpr char kMagic[8] = {'B', 'E', 'T', 'Z', 'C', 'U', 'D', 'A'};
constexpr uint32_t kVersion = 2;
constexpr size_t kImageAlignment = 16;

struct Header {
  char magic[8];
  uint32_t version;
  uint32_t count;
};
static_assert(sizeof(Header) == 16);

struct ImageEntry {
  uint64_t offset;
  uint64_t size;
};
static_assert(sizeof(ImageEntry) == 16);

size_t alignUp(size_t offset) {
  return (offset + kImageAlignment - 1) / kImageAlignment * kImageAlignment;
}

Status checkEntry(const ImageEntry &entry, size_t index, size_t headerBytes,
                  std::span<const std::byte> code) {
  if (entry.offset % kImageAlignment != 0 || entry.offset < headerBytes ||
      entry.offset > code.size() || entry.size > code.size() - entry.offset)
    return dataLoss(fmt::format("image {} of the CUDA code has {} bytes at {} "
                                "of {}",
                                index, entry.size, entry.offset, code.size()));
  std::span<const std::byte> image = code.subspan(entry.offset, entry.size);
  if (!isCubin(image) && (image.empty() || image.back() != std::byte(0)))
    return dataLoss(fmt::format("image {} of the CUDA code is neither a cubin "
                                "nor PTX that ends",
                                index));
  return Status::ok();
}

} // namespace

bool isCubin(std::span<const std::byte> image) {
  return image.size() >= 4 && std::memcmp(image.data(), "\177ELF", 4) == 0;
}

std::vector<std::byte>
packCudaImages(std::span<const std::vector<std::byte>> images) {
  std::vector<ImageEntry> entries;
  size_t end = sizeof(Header) + images.size() * sizeof(ImageEntry);
  for (const std::vector<std::byte> &image : images) {
    entries.push_back({alignUp(end), image.size()});
    end = entries.back().offset + image.size();
  }
  std::vector<std::byte> code(end);
  Header header = {{}, kVersion, uint32_t(images.size())};
  std::memcpy(header.magic, kMagic, sizeof(kMagic));
  std::memcpy(code.data(), &header, sizeof(header));
  for (size_t i = 0; i < images.size(); ++i) {
    std::memcpy(code.data() + sizeof(Header) + i * sizeof(ImageEntry),
                &entries[i], sizeof(ImageEntry));
    if (!images[i].empty())
      std::memcpy(code.data() + entries[i].offset, images[i].data(),
                  images[i].size());
  }
  return code;
}

Result<std::vector<std::span<const std::byte>>>
unpackCudaImages(std::span<const std::byte> code) {
  Header header;
  if (code.size() < sizeof(header))
    return dataLoss(fmt::format("{} bytes are no CUDA code", code.size()));
  std::memcpy(&header, code.data(), sizeof(header));
  if (std::memcmp(header.magic, kMagic, sizeof(kMagic)) != 0)
    return dataLoss("this is no CUDA code");
  if (header.version != kVersion)
    return dataLoss(fmt::format("the CUDA code has format {}, not {}",
                                header.version, kVersion));
  if (header.count > (code.size() - sizeof(Header)) / sizeof(ImageEntry))
    return dataLoss(fmt::format("{} bytes of CUDA code cannot list {} images",
                                code.size(), header.count));
  const size_t headerBytes = sizeof(Header) + header.count * sizeof(ImageEntry);
  std::vector<std::span<const std::byte>> images;
  for (size_t i = 0; i < header.count; ++i) {
    ImageEntry entry;
    std::memcpy(&entry, code.data() + sizeof(Header) + i * sizeof(ImageEntry),
                sizeof(entry));
    BETZ_RETURN_IF_ERROR(checkEntry(entry, i, headerBytes, code));
    images.push_back(code.subspan(entry.offset, entry.size));
  }
  return images;
}

} // namespace betz
