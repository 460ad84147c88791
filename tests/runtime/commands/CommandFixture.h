//===- CommandFixture.h - Runs the commands in this process ---------------===//
#pragma once

#include "runtime/base/File.h"
#include "runtime/base/Json.h"
#include "tools/RuntimeCommands.h"

#include <filesystem>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace betz {

/// A folder of its own, and what a command did.
class CommandTest : public testing::Test {
protected:
  struct Outcome {
    int exitCode;
    std::string out;
    std::string err;
  };

  void SetUp() override {
    folder = std::filesystem::temp_directory_path() /
             fmt::format("betz-commands-{}", ::getpid());
    std::filesystem::create_directories(folder);
  }
  void TearDown() override { std::filesystem::remove_all(folder); }

  std::string path(std::string_view name) const { return folder / name; }

  static Outcome run(std::vector<std::string> words) {
    CommandLine line("betz-rt", "");
    addRunCommand(line);
    addBenchCommand(line);
    addTuneCommand(line);
    words.insert(words.begin(), "betz-rt");
    std::vector<char *> argv;
    for (std::string &word : words)
      argv.push_back(word.data());
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    int exitCode = line.run(int(argv.size()), argv.data());
    std::fflush(stdout);
    Outcome outcome = {exitCode, testing::internal::GetCapturedStdout(),
                       testing::internal::GetCapturedStderr()};
    return outcome;
  }

  Json readReport(std::string_view name) const {
    auto text = readTextFile(path(name));
    EXPECT_TRUE(text.isOk()) << text.status().message();
    auto json = parseJson(*text);
    EXPECT_TRUE(json.isOk()) << *text;
    return std::move(json).value();
  }

  std::filesystem::path folder;
};

} // namespace betz
