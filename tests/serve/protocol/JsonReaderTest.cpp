#include "serve/protocol/JsonReader.h"
#include "runtime/base/Json.h"
#include "serve/protocol/JsonText.h"

#include <cmath>
#include <gmock/gmock.h>
#include <random>

using namespace betz;
using namespace betz::serve;
using testing::HasSubstr;

namespace {

std::string errorOf(std::string_view text) {
  JsonReader reader(text);
  reader.skipValue();
  return reader.finish().message();
}

TEST(JsonReader, ReadsMembersInAnyOrderAndSkipsTheRest) {
  JsonReader reader(" { \"n\" : [ -3 , 4.5e1, true ] , \"skip\": {\"a\":[{}, "
                    "null, \"x\"]}, \"s\":\"q\" } ");
  std::string_view key;
  std::vector<double> numbers;
  bool flag = false;
  std::string text;
  reader.enterObject();
  while (reader.nextMember(key)) {
    if (key == "n") {
      reader.enterArray();
      while (reader.nextElement()) {
        if (reader.peek() == JsonReader::Kind::Bool)
          flag = reader.readBool();
        else
          numbers.push_back(reader.readNumber());
      }
    } else if (key == "s") {
      text = reader.readString();
    } else {
      EXPECT_EQ(key, "skip");
      EXPECT_EQ(reader.skipValue(), "{\"a\":[{}, null, \"x\"]}");
    }
  }
  EXPECT_TRUE(reader.finish().isOk());
  EXPECT_EQ(numbers, (std::vector<double>{-3, 45}));
  EXPECT_TRUE(flag);
  EXPECT_EQ(text, "q");
}

TEST(JsonReader, DecodesEscapes) {
  JsonReader reader(R"("a\"\\\/\b\f\n\r\t\u00e9\u20ac\ud83d\ude00z")");
  EXPECT_EQ(reader.readString(), "a\"\\/\b\f\n\r\t\u00e9\u20ac\U0001F600z");
  EXPECT_TRUE(reader.finish().isOk());
}

TEST(JsonReader, RefusesWhatIsNotJson) {
  for (std::string_view text : {"",
                                "{",
                                "[",
                                "[1",
                                "[1,",
                                "[1,]",
                                "[,1]",
                                "{\"a\"}",
                                "{\"a\":}",
                                "{\"a\":1,}",
                                "{a:1}",
                                "01",
                                "1.",
                                ".5",
                                "+1",
                                "-",
                                "1e",
                                "tru",
                                "nul",
                                "'a'",
                                "\"a",
                                "\"\\x\"",
                                "\"\\u12\"",
                                "\"\\u12g4\"",
                                "\"\\ud800\"",
                                "\"\\ud800\\u0041\"",
                                "\"\\udc00\"",
                                "\"\n\"",
                                "1 2",
                                "[1 2]",
                                "{\"a\" 1}",
                                "NaN",
                                "[1}"})
    EXPECT_NE(errorOf(text), "") << text;
}

TEST(JsonReader, NamesTheByte) {
  EXPECT_EQ(errorOf("[1, x]"), "at byte 4: expected a value");
  EXPECT_EQ(errorOf("[1] "), "");
  EXPECT_THAT(errorOf("[1] ]"), HasSubstr("at byte 4: text after"));
}

TEST(JsonReader, LimitsDepth) {
  const size_t most = JsonReader::kMaxDepth;
  EXPECT_EQ(errorOf(std::string(most, '[') + std::string(most, ']')), "");
  EXPECT_THAT(errorOf(std::string(most + 1, '[')), HasSubstr("deeper than 64"));
}

TEST(JsonReader, HoldsIntegersToTheirRange) {
  auto read = [](std::string_view text) {
    JsonReader reader(text);
    const int64_t value = reader.readInteger();
    return reader.finish().isOk() ? std::optional(value) : std::nullopt;
  };
  EXPECT_EQ(read("9223372036854775807"), INT64_MAX);
  EXPECT_EQ(read("-9223372036854775808"), INT64_MIN);
  EXPECT_EQ(read("9223372036854775808"), std::nullopt);
  EXPECT_EQ(read("1.0"), std::nullopt);
  EXPECT_EQ(read("1e3"), std::nullopt);
}

TEST(JsonReader, RefusesStringsThatAreNotUtf8) {
  for (std::string_view bytes :
       {"\x80", "\xC3", "\xC0\x80", "\xE0\x80\x80", "\xED\xA0\x80",
        "\xF0\x80\x80\x80", "\xF4\x90\x80\x80", "\xFF"}) {
    const std::string text = '"' + std::string(bytes) + '"';
    JsonReader reader(text);
    EXPECT_EQ(reader.readString(), "");
    EXPECT_THAT(reader.finish().message(), HasSubstr("UTF-8"));
  }
}

TEST(JsonReader, FirstErrorSticks) {
  JsonReader reader("[1, 2]");
  reader.fail("first");
  reader.fail("second");
  EXPECT_FALSE(reader.enterArray());
  EXPECT_EQ(reader.readInteger(), 0);
  EXPECT_EQ(reader.finish().message(), "at byte 0: first");
}

TEST(JsonText, WritesWhatAnotherParserReads) {
  std::mt19937 random(std::random_device{}());
  std::vector<float> values = {0, -0.0f, 1e-45f, 3.4e38f, 0.1f};
  for (int i = 0; i < 200; ++i)
    values.push_back(std::ldexp(float(random()), int(random() % 60) - 60));
  std::string out = "{\"v\":";
  appendJsonArray(out, std::span<const float>(values));
  out += ",\"s\":";
  appendJsonString(out, "a\"\\\n\x01\u20ac");
  out += ",\"n\":[";
  appendJsonNumber(out, std::nan(""));
  out += ",";
  appendJsonNumber(out, INT64_MIN);
  out += "]}";
  Result<Json> parsed = parseJson(out);
  ASSERT_TRUE(parsed.isOk()) << out;
  EXPECT_EQ((*parsed)["v"].get<std::vector<float>>(), values);
  EXPECT_EQ((*parsed)["s"], "a\"\\\n\x01\u20ac");
  EXPECT_TRUE((*parsed)["n"][0].is_null());
  EXPECT_EQ((*parsed)["n"][1], INT64_MIN);
  EXPECT_EQ(jsonError("no \"x\""), "{\"error\":\"no \\\"x\\\"\"}");
}

} // namespace
