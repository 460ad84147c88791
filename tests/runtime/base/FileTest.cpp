#include "runtime/base/File.h"
#include "runtime/base/Json.h"

#include <filesystem>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

namespace betz {
namespace {

class FileTest : public testing::Test {
protected:
  void SetUp() override {
    folder = std::filesystem::temp_directory_path() /
             fmt::format("betz-file-{}", ::getpid());
    std::filesystem::create_directories(folder);
  }
  void TearDown() override { std::filesystem::remove_all(folder); }
  size_t filesThere() const {
    return size_t(std::distance(std::filesystem::directory_iterator(folder),
                                std::filesystem::directory_iterator()));
  }
  std::filesystem::path folder;
};

TEST_F(FileTest, WritesAndMaps) {
  std::string text(100001, 'a');
  text[70000] = 'b';
  ASSERT_TRUE(writeFileAtomically(folder / "x", text).isOk());
  EXPECT_EQ(filesThere(), 1u);
  for (bool prefault : {false, true}) {
    auto file = MappedFile::open(folder / "x", prefault);
    ASSERT_TRUE(file.isOk());
    MappedFile moved = std::move(*file);
    EXPECT_EQ(moved.bytes().size(), text.size());
    EXPECT_EQ(moved.bytes()[70000], std::byte('b'));
  }
  EXPECT_EQ(*readTextFile(folder / "x"), text);
}

TEST_F(FileTest, EmptyFilesMap) {
  ASSERT_TRUE(writeFileAtomically(folder / "x", "").isOk());
  auto file = MappedFile::open(folder / "x");
  ASSERT_TRUE(file.isOk());
  EXPECT_TRUE(file->bytes().empty());
}

TEST_F(FileTest, FailureLeavesTheOldFile) {
  ASSERT_TRUE(writeFileAtomically(folder / "x", "old").isOk());
  Status status = writeFileAtomically(folder / "x", [](int fd) {
    Status wrote = writeAll(fd, "new", 3);
    return wrote.isOk() ? invalidArgument("changed my mind") : wrote;
  });
  EXPECT_NE(status.message().find("changed my mind"), std::string::npos);
  EXPECT_EQ(*readTextFile(folder / "x"), "old");
  EXPECT_EQ(filesThere(), 1u);
}

TEST_F(FileTest, ErrorsNameTheFile) {
  Status absent = MappedFile::open(folder / "absent").status();
  EXPECT_EQ(absent.getCode(), StatusCode::NotFound);
  EXPECT_NE(absent.message().find("absent: cannot open"), std::string::npos);
  EXPECT_NE(
      MappedFile::open(folder).status().message().find("not a regular file"),
      std::string::npos);
  EXPECT_FALSE(writeFileAtomically(folder / "no" / "x", "text").isOk());
}

TEST_F(FileTest, APipeIsRefusedWithoutWaitingForAWriter) {
  std::filesystem::path pipe = folder / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_NE(
      MappedFile::open(pipe).status().message().find("not a regular file"),
      std::string::npos);
}

TEST_F(FileTest, OutputsAreCheckedBeforeWorkBegins) {
  std::filesystem::path in = folder / "in", out = folder / "out";
  ASSERT_TRUE(writeFileAtomically(in, "x").isOk());
  std::filesystem::create_symlink("in", folder / "link");
  EXPECT_TRUE(checkOutputs({out, "", "-", "-", folder / "other"}, {in}).isOk());
  EXPECT_TRUE(checkOutputs({"/dev/null", "/dev/null"}, {"/dev/null"}).isOk());
  auto message = [&](std::vector<std::filesystem::path> outputs) {
    return checkOutputs(outputs, {in, ""}).message();
  };
  EXPECT_NE(message({folder / "link"}).find("would replace"),
            std::string::npos);
  EXPECT_NE(message({"none-yet", "./none-yet"}).find("two outputs"),
            std::string::npos);
  EXPECT_NE(message({out, "", folder / "." / "out"}).find("two outputs"),
            std::string::npos);
  EXPECT_NE(message({folder}).find("is a folder"), std::string::npos);
  EXPECT_NE(message({folder / "no" / "x"}).find("make it first"),
            std::string::npos);
  EXPECT_NE(message({in / "x"}).find("is no folder"), std::string::npos);
}

TEST_F(FileTest, JsonReportsGoToFiles) {
  ASSERT_TRUE(writeJsonReport({{"b", 1}, {"a", 2}}, folder / "r").isOk());
  EXPECT_EQ(*readTextFile(folder / "r"), "{\n  \"b\": 1,\n  \"a\": 2\n}\n");
}

} // namespace
} // namespace betz
