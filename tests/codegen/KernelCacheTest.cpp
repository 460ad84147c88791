// Compiled kernels on disk: damage, folders that cannot be written, processes
// that fill one at once. Needs no NVRTC.
#include "codegen/cuda/KernelCache.h"
#include "runtime/base/File.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace betz::cuda {
namespace {

using Code = std::vector<std::byte>;

Code codeOf(const std::string &source) {
  Code code(5000);
  for (size_t i = 0; i < code.size(); ++i)
    code[i] = std::byte(source[i % source.size()] + int(i));
  return code;
}

class KernelCacheTest : public testing::Test {
protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "/kernel-cache-XXXXXX";
    ASSERT_TRUE(::mkdtemp(pattern.data()));
    folder = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(folder); }

  /// What the cache gives for `source`, which must be its code; whether it
  /// compiled for it.
  bool compiles(const KernelCache &cache, const std::string &source) {
    bool compiled = false;
    auto code = cache.find("k", source, "sm_80", [&]() -> Result<Code> {
      compiled = true;
      return codeOf(source);
    });
    EXPECT_TRUE(code.isOk()) << code.status().message();
    EXPECT_EQ(*code, codeOf(source));
    return compiled;
  }

  std::vector<std::filesystem::path> files() const {
    std::vector<std::filesystem::path> found;
    for (const auto &entry : std::filesystem::directory_iterator(folder))
      found.push_back(entry.path());
    return found;
  }

  std::filesystem::path folder;
};

TEST_F(KernelCacheTest, KeepsCodeByAllThatItDependsOn) {
  const KernelCache cache(folder, "13.0");
  EXPECT_TRUE(compiles(cache, "a"));
  EXPECT_FALSE(compiles(cache, "a"));
  EXPECT_TRUE(compiles(cache, "b"));
  EXPECT_TRUE(compiles(KernelCache(folder, "12.9"), "a"));
  EXPECT_EQ(files().size(), 3u);
  const KernelCache off("", "13.0");
  EXPECT_TRUE(compiles(off, "a"));
  EXPECT_TRUE(compiles(off, "a"));
}

TEST_F(KernelCacheTest, AKernelThatDoesNotCompileIsNotKept) {
  const KernelCache cache(folder, "13.0");
  auto code = cache.find("k", "a", "sm_80",
                         []() -> Result<Code> { return internalError("no"); });
  EXPECT_EQ(code.status().message(), "no");
  EXPECT_TRUE(files().empty());
}

TEST_F(KernelCacheTest, ADamagedEntryIsNamedAndCompiledAnew) {
  const KernelCache cache(folder, "13.0");
  EXPECT_TRUE(compiles(cache, "a"));
  ASSERT_EQ(files().size(), 1u);
  const std::filesystem::path entry = files().front();
  const std::string whole = readTextFile(entry).value();
  std::string flipped = whole;
  flipped[whole.size() / 2] ^= 1;
  for (const std::string &damaged :
       {std::string(), whole.substr(0, 10), whole.substr(0, 16),
        whole.substr(0, whole.size() - 1), flipped, whole + "x"}) {
    ASSERT_TRUE(writeFileAtomically(entry, damaged).isOk());
    testing::internal::CaptureStderr();
    EXPECT_TRUE(compiles(cache, "a"));
    const std::string said = testing::internal::GetCapturedStderr();
    EXPECT_NE(said.find(entry.string() + " is damaged"), said.npos) << said;
    EXPECT_FALSE(compiles(cache, "a"));
    EXPECT_EQ(readTextFile(entry).value(), whole);
  }
}

TEST_F(KernelCacheTest, AFolderThatCannotBeWrittenIsOneWarning) {
  ASSERT_TRUE(writeFileAtomically(folder / "file", "x").isOk());
  // Below a file, and where not even root makes folders.
  for (const std::filesystem::path &place :
       {folder / "file" / "cache", std::filesystem::path("/proc/betz")}) {
    const KernelCache cache(place, "13.0");
    testing::internal::CaptureStderr();
    EXPECT_TRUE(compiles(cache, "a"));
    EXPECT_TRUE(compiles(cache, "b"));
    const std::string said = testing::internal::GetCapturedStderr();
    const size_t at = said.find("compiled kernels are not kept: cannot make " +
                                place.string());
    EXPECT_NE(at, said.npos) << said;
    EXPECT_EQ(said.find("not kept", at + 30), said.npos) << said;
    EXPECT_NE(said.find("BETZ_CACHE"), said.npos) << said;
    auto kept = cache.keep("betz-kernel-cache-test.log", "text");
    ASSERT_TRUE(kept.isOk()) << kept.status().message();
    EXPECT_EQ(readTextFile(*kept).value(), "text");
    std::filesystem::remove(*kept);
  }
}

TEST_F(KernelCacheTest, ProcessesMayFillOneFolder) {
  std::vector<pid_t> children;
  for (int child = 0; child < 4; ++child) {
    const pid_t id = ::fork();
    ASSERT_GE(id, 0);
    if (id == 0) {
      const KernelCache cache(folder, "13.0");
      for (int repeat = 0; repeat < 3; ++repeat)
        for (int kernel = 0; kernel < 40; ++kernel)
          compiles(cache, fmt::format("source {}", kernel));
      ::_exit(HasFailure() ? 1 : 0);
    }
    children.push_back(id);
  }
  for (pid_t id : children) {
    int status = -1;
    EXPECT_EQ(::waitpid(id, &status, 0), id);
    EXPECT_EQ(status, 0);
  }
  EXPECT_EQ(files().size(), 40u); // and nothing half written
  const KernelCache cache(folder, "13.0");
  for (int kernel = 0; kernel < 40; ++kernel)
    EXPECT_FALSE(compiles(cache, fmt::format("source {}", kernel)));
}

} // namespace
} // namespace betz::cuda
