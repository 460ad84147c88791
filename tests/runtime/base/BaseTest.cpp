#include "runtime/base/DType.h"
#include "runtime/base/Hash.h"
#include "runtime/base/Json.h"
#include "runtime/base/Status.h"
#include "runtime/base/Suggest.h"

#include <gtest/gtest.h>

namespace betz {
namespace {

Result<int> half(int value) {
  if (value % 2)
    return invalidArgument("odd");
  return value / 2;
}

Result<int> quarter(int value) {
  BETZ_ASSIGN_OR_RETURN(int once, half(value));
  BETZ_ASSIGN_OR_RETURN(int twice, half(once));
  return twice;
}

Status checkEven(int value) {
  BETZ_RETURN_IF_ERROR(half(value).status());
  return Status::ok();
}

TEST(Status, CarriesCodeMessageAndContext) {
  EXPECT_TRUE(Status::ok().isOk());
  Status status = dataLoss("bad byte");
  EXPECT_FALSE(status.isOk());
  EXPECT_EQ(status.getCode(), StatusCode::DataLoss);
  EXPECT_NE(std::string(status.location().file_name()).find("BaseTest"),
            std::string::npos);
  EXPECT_EQ(std::move(status).withContext("x.betz").message(),
            "x.betz: bad byte");
  EXPECT_EQ(Status().withContext("x").message(), "");
  EXPECT_EQ(toString(StatusCode::NotFound), "not found");
}

TEST(Status, MacrosReturnEarly) {
  EXPECT_EQ(*quarter(12), 3);
  EXPECT_EQ(quarter(6).status().message(), "odd");
  EXPECT_TRUE(checkEven(4).isOk());
  EXPECT_EQ(checkEven(3).getCode(), StatusCode::InvalidArgument);
}

TEST(DType, NamesAndSizesAgree) {
  for (DType type :
       {DType::F32, DType::BF16, DType::I8, DType::I32, DType::F64})
    EXPECT_EQ(parseDType(toString(type)), type);
  EXPECT_EQ(sizeOf(DType::BF16), 2u);
  EXPECT_EQ(sizeOf(DType::F64), 8u);
  EXPECT_EQ(parseDType("f16"), std::nullopt);
}

TEST(Hash, SeesBytesLengthAndSeed) {
  EXPECT_EQ(hashBytes("abc"), hashBytes("abc"));
  EXPECT_NE(hashBytes("abc"), hashBytes("abd"));
  EXPECT_NE(hashBytes("abc"), hashBytes("abc", 1));
  EXPECT_NE(hashBytes(std::string_view("a\0", 2)), hashBytes("a"));
  EXPECT_EQ(toHex(0x1f), "000000000000001f");
  EXPECT_EQ(toHex(hashBytes("")), "2d06800538d394c2"); // XXH3's own vector
}

TEST(Json, ErrorsNameTheMember) {
  auto json = parseJson(R"({"n": 3, "big": 9223372036854775808, "s": "x",
                            "neg": -1, "a": [1], "o": {}})");
  ASSERT_TRUE(json.isOk());
  EXPECT_EQ(*getMember<int32_t>(*json, "n"), 3);
  EXPECT_EQ(*getMember<double>(*json, "n"), 3.0);
  EXPECT_EQ(*getMember<std::string>(*json, "s"), "x");
  EXPECT_FALSE(getMember<int64_t>(*json, "big").isOk());
  EXPECT_TRUE(getMember<uint64_t>(*json, "big").isOk());
  EXPECT_FALSE(getMember<uint32_t>(*json, "neg").isOk());
  EXPECT_EQ(getMember<int32_t>(*json, "absent").status().message(),
            "\"absent\" is missing");
  EXPECT_FALSE(getMember<int32_t>(Json::array(), "n").isOk());
  EXPECT_EQ((*getArray(*json, "a"))->size(), 1u);
  EXPECT_FALSE(getArray(*json, "o").isOk());
  EXPECT_FALSE(getObject(*json, "a").isOk());
}

TEST(Json, BadTextIsAnError) {
  for (std::string_view text : {"", "{", "[1,]", "{\"a\":1} x", "\"\xff\""})
    EXPECT_FALSE(parseJson(text).isOk()) << text;
  std::string deep = std::string(100000, '[') + std::string(100000, ']');
  EXPECT_EQ(parseJson(deep).status().message(), "JSON nests deeper than 64");
}

TEST(Suggest, NearNamesOnly) {
  std::vector<std::string> known = {"latents", "layers", "heads"};
  EXPECT_EQ(nearestName("latent", known), "latents");
  EXPECT_EQ(nearestName("layres", known), "layers");
  EXPECT_EQ(nearestName("dropout", known), "");
  EXPECT_EQ(nearestName("heads", {}), "");
}

} // namespace
} // namespace betz
