#include "tools/BenchReport.h"
#include "tools/BenchPictures.h"

#include <gtest/gtest.h>

namespace betz {
namespace {

StepProfile makeProfile() {
  StepProfile profile;
  profile.batch = 1;
  profile.median = 10e-6;
  profile.kernels = {
      {"a_mlp", "matmul_x", "a", 2, 4e-6, 3e-6, KernelWork{8000, 400}},
      {"b_mlp", "matmul_x", "b", 1, 2e-6, 2e-6, KernelWork{4000, 200}},
      {"a_norm<&>", "norm_y", "a", 1, 1e-6, 1e-6, std::nullopt}};
  profile.launches = {{0, 0, 2e-6, KernelWork{4000, 200}},
                      {0, 2e-6, 4e-6, KernelWork{4000, 200}},
                      {1, 4e-6, 6e-6, KernelWork{4000, 200}},
                      {2, 6e-6, 7e-6, std::nullopt}};
  return profile;
}

TEST(BenchReport, LongNamesEndInAnEllipsis) {
  EXPECT_EQ(shorten("abcdef", 6), "abcdef");
  EXPECT_EQ(shorten("abcdefg", 6), "abcde…");
  EXPECT_EQ(shorten("", 6), "");
}

TEST(BenchReport, UnknownFractionsAreNothing) {
  EXPECT_DOUBLE_EQ(*fractionOf(6, 2, 12), 0.25);
  EXPECT_FALSE(fractionOf(0, 2, 12));
  EXPECT_FALSE(fractionOf(6, 0, 12));
  EXPECT_FALSE(fractionOf(6, 2, 0));
}

TEST(BenchReport, KernelsAddUpBySectionAndByCode) {
  std::vector<WorkTotal> sections = sumBySection(makeProfile());
  ASSERT_EQ(sections.size(), 2u);
  EXPECT_EQ(sections[0].label, "a");
  EXPECT_EQ(sections[0].calls, 3);
  EXPECT_DOUBLE_EQ(sections[0].seconds, 5e-6);
  EXPECT_DOUBLE_EQ(sections[0].flops, 8000);
  std::vector<WorkTotal> codes = sumByCode(makeProfile());
  ASSERT_EQ(codes.size(), 2u);
  EXPECT_EQ(codes[0].label, "a_mlp");
  EXPECT_EQ(codes[0].calls, 3);
  EXPECT_DOUBLE_EQ(codes[0].bytes, 600);
}

TEST(BenchReport, AGraphLeavesAGapBetweenItsKernels) {
  StepProfile profile = makeProfile();
  EXPECT_FALSE(toJson(profile, {}).contains("graph"));
  profile.graph = {.nodes = 4, .seconds = 5e-6, .separateSeconds = 20e-6};
  const Json json = toJson(profile, {});
  EXPECT_EQ(json["graph"]["nodes"], 4);
  EXPECT_DOUBLE_EQ(json["graph"]["us"], 5);
  EXPECT_NEAR(json["graph"]["gap_us"], -2, 1e-9) << "kernels overlap";
  EXPECT_DOUBLE_EQ(json["graph"]["separate_us"], 20);
  EXPECT_NEAR(json["host_us"], 5, 1e-9);
}

TEST(BenchReport, FractionsAreOfTheLimits) {
  Json json = toJson(makeProfile(), MachineLimits{1, 4e9, 1e9});
  EXPECT_DOUBLE_EQ(json["peak_fraction"], 12000 / 10e-6 / 4e9);
  EXPECT_DOUBLE_EQ(json["host_us"], 3);
  EXPECT_DOUBLE_EQ(json["kernels"][0]["peak_fraction"], 0.5);
  EXPECT_DOUBLE_EQ(json["kernels"][0]["copy_fraction"], 0.1);
  EXPECT_FALSE(json["kernels"][2].contains("peak_fraction"));
  EXPECT_FALSE(toJson(makeProfile(), {}).contains("peak_fraction"));
}

TEST(BenchReport, StepsInFlightAndTheDeviceAreThereWhereKnown) {
  StepProfile profile = makeProfile();
  Json json = toJson(profile, MachineLimits());
  for (const char *key : {"in_flight_us", "windows_per_s", "device_state"})
    EXPECT_FALSE(json.contains(key)) << key;
  profile.batch = 16;
  profile.inFlight = 4e-6;
  profile.device.watts = 350.5;
  profile.device.memoryUsed = 3000;
  json = toJson(profile, MachineLimits());
  EXPECT_DOUBLE_EQ(json["in_flight_us"], 4);
  EXPECT_DOUBLE_EQ(json["windows_per_s"], 4e6);
  const Json expected = {{"memory_used_bytes", 3000}, {"watts", 350.5}};
  EXPECT_EQ(json["device_state"], expected);
}

TEST(BenchPictures, TheTraceHasEachLaunch) {
  Result<Json> trace = parseJson(traceJson(makeProfile(), "a step"));
  ASSERT_TRUE(trace.isOk());
  const Json &events = (*trace)["traceEvents"];
  ASSERT_EQ(events.size(), 6u);
  EXPECT_EQ(events[0]["args"]["name"], "a step");
  EXPECT_EQ(events[3]["name"], "a_mlp");
  EXPECT_DOUBLE_EQ(events[3]["ts"], 2);
  EXPECT_DOUBLE_EQ(events[3]["dur"], 2);
  EXPECT_DOUBLE_EQ(events[3]["args"]["flops"], 4000);
  EXPECT_FALSE(events[5]["args"].contains("flops"));
}

TEST(BenchPictures, TheRooflineEscapesNamesAndSkipsUnknownWork) {
  StepProfile profile = makeProfile();
  profile.kernels[0].name = "x<&>";
  std::string svg =
      rooflineSvg(profile, MachineLimits{1, 4e9, 1e9}, "a <title>");
  EXPECT_NE(svg.find("a &lt;title&gt;"), std::string::npos);
  EXPECT_NE(svg.find("x&lt;&amp;&gt; × 3"), std::string::npos);
  size_t circles = 0;
  for (size_t at = svg.find("<circle"); at != std::string::npos;
       at = svg.find("<circle", at + 1))
    ++circles;
  EXPECT_EQ(circles, 1u);
}

} // namespace
} // namespace betz
