#include "serve/http/ServerConfig.h"
#include "tests/runtime/io/TestFiles.h"

#include <fstream>
#include <gmock/gmock.h>

using namespace betz;
using namespace betz::serve;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

const ConfigOption &optionOf(std::string_view name) {
  for (const ConfigOption &option : configOptions())
    if (option.name == name)
      return option;
  throw std::out_of_range(std::string(name));
}

std::string errorOf(std::string_view name, std::string_view text) {
  ServerConfig config;
  return setOption(optionOf(name), text, config).message();
}

TEST(ServerConfig, EveryDefaultIsAllowed) {
  for (const ConfigOption &option : configOptions()) {
    ServerConfig config, again;
    const std::string text = optionText(option, config);
    EXPECT_TRUE(setOption(option, text, again).isOk()) << option.name;
    EXPECT_EQ(optionText(option, again), text) << option.name;
  }
}

TEST(ServerConfig, SetsEachKind) {
  ServerConfig config;
  auto set = [&](std::string_view name, std::string_view text) {
    const Status status = setOption(optionOf(name), text, config);
    EXPECT_TRUE(status.isOk()) << status.message();
  };
  set("host", "::1");
  set("max-queue", "7");
  set("deadline-ms", "2.5");
  set("cores", "2,11");
  set("lock-memory", "true");
  EXPECT_EQ(config.host, "::1");
  EXPECT_EQ(config.engine.maxQueue, 7);
  EXPECT_EQ(config.engine.defaultDeadline, std::chrono::microseconds(2500));
  EXPECT_THAT(config.engine.realTime.cores, ElementsAre(2, 11));
  EXPECT_TRUE(config.engine.realTime.lockMemory);
}

TEST(ServerConfig, SaysWhatAnOptionMustBe) {
  EXPECT_EQ(errorOf("port", "65536"),
            "port is '65536'; it must be an integer in [0, 65535]");
  EXPECT_THAT(errorOf("port", "80x"), HasSubstr("integer"));
  EXPECT_THAT(errorOf("port", "1.5"), HasSubstr("integer"));
  EXPECT_THAT(errorOf("deadline-ms", "0"), HasSubstr("milliseconds in"));
  EXPECT_THAT(errorOf("lock-memory", "yes"), HasSubstr("true or false"));
  for (const char *cores : {"1,", ",1", "a", "1;2", "-1"})
    EXPECT_THAT(errorOf("cores", cores), HasSubstr("commas")) << cores;
}

TEST(ServerConfig, ReadsToml) {
  test::TemporaryFolder folder;
  const auto path = folder / "serve.toml";
  auto read = [&](std::string_view text, ServerConfig &config) {
    std::ofstream(path) << text;
    return readConfigFile(path, config);
  };
  ServerConfig config;
  ASSERT_TRUE(read("port = 0\nslo_ms = 7.5\nlog_requests = true\n"
                   "cores = [1, 2]\nhost = \"127.0.0.2\"\n",
                   config)
                  .isOk());
  EXPECT_EQ(config.port, 0);
  EXPECT_EQ(config.slo, std::chrono::microseconds(7500));
  EXPECT_TRUE(config.logRequests);
  EXPECT_THAT(config.engine.realTime.cores, ElementsAre(1, 2));
  EXPECT_EQ(config.host, "127.0.0.2");
  EXPECT_THAT(read("\nports = 1\n", config).message(),
              HasSubstr("serve.toml:2: unknown option 'ports'"));
  EXPECT_THAT(read("port = -1", config).message(),
              HasSubstr("serve.toml:1: port is '-1'"));
}

TEST(ServerConfig, OthersThanLoopbackNeedKeys) {
  ServerConfig config;
  EXPECT_TRUE(checkConfig(config).isOk());
  config.host = "0.0.0.0";
  EXPECT_THAT(checkConfig(config).message(), HasSubstr("--api-keys"));
  config.apiKeys = "keys";
  EXPECT_TRUE(checkConfig(config).isOk());
  config.tlsKey = "k";
  EXPECT_THAT(checkConfig(config).message(), HasSubstr("go together"));
}

} // namespace
