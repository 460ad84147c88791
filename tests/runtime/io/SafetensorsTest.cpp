#include "runtime/io/Safetensors.h"
#include "runtime/base/File.h"
#include "runtime/io/HostTensor.h"
#include "tests/runtime/io/TestFiles.h"

#include <cstring>
#include <gmock/gmock.h>
#include <random>

using namespace betz;
using testing::HasSubstr;

namespace {

std::string framed(std::string_view header, std::string_view data = "") {
  uint64_t length = header.size();
  std::string file(reinterpret_cast<const char *>(&length), sizeof(length));
  return file.append(header).append(data);
}

Result<SafetensorsFile> parseText(const std::string &file) {
  return SafetensorsFile::parse(std::as_bytes(std::span(file)), "x.st");
}

template <typename T>
std::span<const std::byte> bytesOf(const std::vector<T> &values) {
  return std::as_bytes(std::span(values));
}

TEST(Safetensors, RoundTrip) {
  test::TemporaryFolder folder;
  std::mt19937 random(std::random_device{}());
  std::vector<float> weights(3 * 5);
  for (float &weight : weights)
    weight = float(random()) / 1e9f;
  std::vector<int64_t> ids = {-7, 2147483647};
  std::vector<uint16_t> halves = {0x3f80, 0xc000, 1};
  std::vector<SafeTensor> tensors = {
      {"z.weight", "F32", {3, 5}, bytesOf(weights)},
      {"empty", "F64", {0, 4}, {}},
      {"a.ids", "I64", {2}, bytesOf(ids)},
      {"h", "BF16", {3}, bytesOf(halves)}};
  auto path = folder / "x.safetensors";
  ASSERT_TRUE(
      writeSafetensors(path, tensors, {{"dim", "5"}, {"a", "\"é\n"}}).isOk());
  Result<SafetensorsFile> file = SafetensorsFile::open(path);
  ASSERT_TRUE(file.isOk()) << file.status().message();
  ASSERT_EQ(file->tensors().size(), 4u);
  EXPECT_EQ(file->tensors()[0].name, "a.ids");
  EXPECT_EQ(file->tensors()[3].name, "z.weight");
  EXPECT_EQ(file->metadata().at("a"), "\"é\n");
  EXPECT_EQ(file->find("y"), nullptr);
  Result<HostTensor> back = toHost(*file->find("z.weight"));
  ASSERT_TRUE(back.isOk());
  EXPECT_EQ(back->shape, (std::vector<int64_t>{3, 5}));
  EXPECT_EQ(back->elements(), 15);
  EXPECT_EQ(std::memcmp(back->data.data(), weights.data(), 60), 0);
  Result<HostTensor> narrowed = toHost(*file->find("a.ids"));
  ASSERT_TRUE(narrowed.isOk());
  EXPECT_EQ(narrowed->dtype, DType::I32);
  EXPECT_EQ(narrowed->as<int32_t>()[0], -7);
  EXPECT_EQ(narrowed->as<int32_t>()[1], 2147483647);
  EXPECT_EQ(toHost(*file->find("empty"))->elements(), 0);
  EXPECT_EQ(toHost(*file->find("h"))->as<uint16_t>()[1], 0xc000);
}

TEST(Safetensors, SameArgumentsGiveTheSameAlignedBytes) {
  test::TemporaryFolder folder;
  std::vector<int8_t> values = {1, 2, 3};
  std::vector<SafeTensor> tensors = {{"t", "I8", {3}, bytesOf(values)}};
  ASSERT_TRUE(writeSafetensors(folder / "a", tensors, {{"k", "v"}}).isOk());
  ASSERT_TRUE(writeSafetensors(folder / "b", tensors, {{"k", "v"}}).isOk());
  std::string bytes = *readTextFile(folder / "a");
  EXPECT_EQ(bytes, *readTextFile(folder / "b"));
  uint64_t length;
  std::memcpy(&length, bytes.data(), sizeof(length));
  EXPECT_EQ(length % 8, 0u);
  EXPECT_EQ(bytes.size(), 8 + length + 3);
}

TEST(Safetensors, WriterRefusesWhatItCouldNotReadBack) {
  test::TemporaryFolder folder;
  std::vector<float> values = {1, 2};
  SafeTensor good{"t", "F32", {2}, bytesOf(values)};
  SafeTensor wrongSize{"u", "F32", {3}, bytesOf(values)};
  SafeTensor negative{"u", "F32", {-1, -2}, bytesOf(values)};
  EXPECT_FALSE(writeSafetensors(folder / "x", {good, good}, {}).isOk());
  EXPECT_FALSE(writeSafetensors(folder / "x", {wrongSize}, {}).isOk());
  EXPECT_FALSE(writeSafetensors(folder / "x", {negative}, {}).isOk());
  EXPECT_FALSE(std::filesystem::exists(folder / "x"));
}

struct BadFile {
  const char *why;
  std::string file;
  const char *message;
};

TEST(Safetensors, EveryCorruptionIsOneClearError) {
  const std::string f4(4, '\0'), f8(8, '\0'), f12(12, '\0');
  const std::string one =
      R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})";
  const std::vector<BadFile> files = {
      {"empty file", "", "too few"},
      {"short length", "1234567", "too few"},
      {"length past the end", std::string(8, '\x7f'), "does not fit"},
      {"all ones length", std::string(8, '\xff') + "{}", "does not fit"},
      {"no brace", framed(" {}"), "does not start"},
      {"not JSON", framed("{\"a\""), "not a JSON object"},
      {"not UTF-8", framed("{\"\xff\":1}"), "not a JSON object"},
      {"two documents", framed("{}{}"), "not a JSON object"},
      {"entry no object", framed(R"({"a":3})"), "tensor \"a\""},
      {"no dtype", framed(R"({"a":{"shape":[],"data_offsets":[0,4]}})", f4),
       "\"dtype\" is missing"},
      {"unknown dtype",
       framed(R"({"a":{"dtype":"F3","shape":[1],"data_offsets":[0,4]}})", f4),
       "unknown dtype \"F3\""},
      {"negative extent",
       framed(R"({"a":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}})", f4),
       "\"shape\" holds -1"},
      {"fractional extent",
       framed(R"({"a":{"dtype":"F32","shape":[1.0],"data_offsets":[0,4]}})",
              f4),
       "\"shape\" holds 1.0"},
      {"one offset",
       framed(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[4]}})", f4),
       "[begin, end]"},
      {"falling offsets",
       framed(R"({"a":{"dtype":"F32","shape":[0],"data_offsets":[4,0]}})", f4),
       "[begin, end]"},
      {"past the end",
       framed(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})", f4),
       "reach past the 4 bytes"},
      {"size differs",
       framed(R"({"a":{"dtype":"F64","shape":[1],"data_offsets":[0,4]}})", f4),
       "needs 8"},
      {"size overflows",
       framed(R"({"a":{"dtype":"F32","shape":[4294967296,4294967297],)"
              R"("data_offsets":[0,4]}})",
              f4),
       "more than fits"},
      {"huge extent",
       framed(R"({"a":{"dtype":"F32","shape":[18446744073709551615],)"
              R"("data_offsets":[0,4]}})",
              f4),
       "not a size"},
      {"overlap",
       framed(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)"
              R"("b":{"dtype":"F32","shape":[2],"data_offsets":[4,12]}})",
              f12),
       "tensor \"b\": its data at byte 4 overlaps"},
      {"the same bytes twice",
       framed(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},)"
              R"("b":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})",
              f4),
       "overlaps"},
      {"hole",
       framed(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},)"
              R"("b":{"dtype":"F32","shape":[1],"data_offsets":[8,12]}})",
              f12),
       "bytes 4 to 8"},
      {"trailing bytes", framed(one, f8), "4 bytes follow the last"},
      {"data without tensors", framed("{}", f4), "4 bytes follow the last"},
      {"name twice",
       framed(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},)"
              R"("a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})",
              f8),
       "\"a\" is in the header twice"},
      {"member twice",
       framed(R"({"a":{"dtype":"F32","dtype":"I32","shape":[1],)"
              R"("data_offsets":[0,4]}})",
              f4),
       "\"dtype\" is in the header twice"},
      {"metadata no object", framed(R"({"__metadata__":[]})"),
       "\"__metadata__\" is not an object"},
      {"metadata number", framed(R"({"__metadata__":{"k":1}})"),
       "metadata \"k\" is not a string"},
      {"nested deep", framed("{\"a\":" + std::string(100000, '[')),
       "not a JSON object"},
  };
  for (const BadFile &bad : files) {
    Result<SafetensorsFile> file = parseText(bad.file);
    ASSERT_FALSE(file.isOk()) << bad.why;
    EXPECT_THAT(file.status().message(), HasSubstr(bad.message)) << bad.why;
    EXPECT_THAT(file.status().message(), HasSubstr("x.st: ")) << bad.why;
    EXPECT_EQ(file.status().message().find('\n'), std::string::npos) << bad.why;
  }
}

TEST(Safetensors, EveryTruncationFails) {
  std::string good = framed(
      R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})", "01234567");
  ASSERT_TRUE(parseText(good).isOk());
  for (size_t size = 0; size < good.size(); ++size)
    EXPECT_FALSE(parseText(good.substr(0, size)).isOk()) << size;
}

TEST(Safetensors, LegalOddities) {
  EXPECT_TRUE(parseText(framed("{}")).isOk());
  EXPECT_TRUE(parseText(framed("{}      ")).isOk());
  // Two empty tensors and a scalar share no byte.
  EXPECT_TRUE(
      parseText(
          framed(R"({"e":{"dtype":"F32","shape":[0],"data_offsets":[0,0]},)"
                 R"("s":{"dtype":"F32","shape":[],"data_offsets":[0,4]},)"
                 R"("f":{"dtype":"F32","shape":[5,0],"data_offsets":[4,4]}})",
                 "0123"))
          .isOk());
}

TEST(Safetensors, ToHostNamesWhatDoesNotFit) {
  std::vector<int64_t> ids = {1, int64_t(1) << 31};
  Result<HostTensor> host = toHost({"ids", "I64", {2}, bytesOf(ids)});
  ASSERT_FALSE(host.isOk());
  EXPECT_THAT(host.status().message(),
              HasSubstr("\"ids\": element 1 is 2147483648"));
  std::vector<uint16_t> halves = {0};
  host = toHost({"h", "F16", {1}, bytesOf(halves)});
  ASSERT_FALSE(host.isOk());
  EXPECT_THAT(host.status().message(), HasSubstr("\"h\" is F16"));
}

TEST(Safetensors, SharedFixturesParse) {
  BETZ_NEED_SHARED(fixtures, "fixtures");
  int files = 0;
  for (const auto &entry : std::filesystem::directory_iterator(fixtures)) {
    if (entry.path().extension() != ".safetensors")
      continue;
    Result<SafetensorsFile> file = SafetensorsFile::open(entry.path());
    ASSERT_TRUE(file.isOk()) << file.status().message();
    for (const SafeTensor &tensor : file->tensors())
      EXPECT_TRUE(toHost(tensor).isOk()) << tensor.name;
    ++files;
  }
  EXPECT_GT(files, 0);
}

} // namespace
