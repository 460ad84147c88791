#include "runtime/program/CudaImages.h"

#include <algorithm>
#include <cstring>
#include <gtest/gtest.h>
#include <random>

namespace betz {
namespace {

std::vector<std::byte> bytesOf(std::string_view text) {
  auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

/// A cubin, which may end in anything, or PTX of `size` bytes.
std::vector<std::byte> makeImage(bool cubin, size_t size,
                                 std::mt19937 &random) {
  std::vector<std::byte> image = bytesOf(cubin ? "\177ELF" : ".ver");
  image.resize(size);
  for (size_t i = 4; i < size; ++i)
    image[i] = std::byte(random() % 256);
  if (!cubin)
    image.back() = std::byte(0);
  return image;
}

void expectUnpacksTo(std::span<const std::byte> code,
                     const std::vector<std::vector<std::byte>> &images) {
  auto got = unpackCudaImages(code);
  ASSERT_TRUE(got.isOk()) << got.status().message();
  ASSERT_EQ(got->size(), images.size());
  for (size_t i = 0; i < images.size(); ++i) {
    EXPECT_TRUE(std::ranges::equal((*got)[i], images[i])) << i;
    EXPECT_EQ(((*got)[i].data() - code.data()) % 16, 0) << i;
  }
}

template <typename T>
void poke(std::vector<std::byte> &code, size_t offset, T value) {
  std::memcpy(code.data() + offset, &value, sizeof(value));
}

class CudaImages : public testing::Test {
protected:
  std::string errorOf(std::span<const std::byte> bytes) {
    auto images = unpackCudaImages(bytes);
    return images.isOk() ? "" : images.status().message();
  }

  std::mt19937 random{std::random_device{}()};
  const std::vector<std::vector<std::byte>> images = {
      makeImage(true, 101, random), makeImage(false, 33, random),
      makeImage(true, 4, random)};
  const std::vector<std::byte> code = packCudaImages(images);
};

TEST_F(CudaImages, RoundTrip) {
  expectUnpacksTo(code, images);
  expectUnpacksTo(packCudaImages({}), {});
  EXPECT_EQ(packCudaImages(images), code);
  EXPECT_TRUE(isCubin(images[0]));
  EXPECT_FALSE(isCubin(images[1]));
  EXPECT_FALSE(isCubin({}));
}

TEST_F(CudaImages, EveryTruncationIsFound) {
  for (size_t size = 0; size < code.size(); ++size)
    EXPECT_NE(errorOf(std::span(code).first(size)), "") << size;
}

TEST_F(CudaImages, FlippedBitsNeverReachOutside) {
  for (size_t bit = 0; bit < code.size() * 8; ++bit) {
    std::vector<std::byte> flipped = code;
    flipped[bit / 8] ^= std::byte(1 << bit % 8);
    auto got = unpackCudaImages(flipped);
    if (bit < 8 * 12)
      EXPECT_FALSE(got.isOk()) << bit;
    if (!got.isOk())
      continue;
    for (std::span<const std::byte> image : *got) {
      EXPECT_GE(image.data(), flipped.data() + 16);
      EXPECT_LE(image.data() + image.size(), flipped.data() + flipped.size());
      EXPECT_TRUE(isCubin(image) || image.back() == std::byte(0));
    }
  }
}

TEST_F(CudaImages, WrongNumbersAreNamed) {
  EXPECT_EQ(errorOf({}), "0 bytes are no CUDA code");
  EXPECT_EQ(errorOf(bytesOf("\177ELF............")), "this is no CUDA code");
  std::vector<std::byte> bad = code;
  poke<uint32_t>(bad, 8, 3);
  EXPECT_EQ(errorOf(bad), "the CUDA code has format 3, not 2");
  bad = code;
  poke<uint32_t>(bad, 12, UINT32_MAX);
  EXPECT_NE(errorOf(bad).find("cannot list 4294967295 images"),
            std::string::npos);
  auto expectBad = [&](size_t field, uint64_t value) {
    bad = code;
    poke(bad, field, value);
    EXPECT_NE(errorOf(bad).find("image 1 of the CUDA code"), std::string::npos)
        << value << " at " << field << ": " << errorOf(bad);
  };
  const uint64_t end = code.size() / 16 * 16 + 16;
  for (uint64_t offset : {uint64_t(0), uint64_t(48), uint64_t(177), end,
                          UINT64_MAX / 16 * 16, UINT64_MAX})
    expectBad(32, offset);
  for (uint64_t size : {uint64_t(0), end, UINT64_MAX - 175, UINT64_MAX})
    expectBad(40, size);
}

TEST_F(CudaImages, PtxMustEnd) {
  std::vector<std::vector<std::byte>> open = {bytesOf(".version 7.8")};
  EXPECT_EQ(errorOf(packCudaImages(open)),
            "image 0 of the CUDA code is neither a cubin nor PTX that ends");
}

} // namespace
} // namespace betz
