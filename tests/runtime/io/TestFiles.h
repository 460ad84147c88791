//===- TestFiles.h - Temporary folders and the shared recordings ----------===//
#pragma once

#include <cstdlib>
#include <filesystem>
#include <gtest/gtest.h>
#include <string>
#include <unistd.h>

namespace betz::test {

/// A folder that lives as long as the object.
class TemporaryFolder {
public:
  TemporaryFolder() {
    std::string pattern =
        (std::filesystem::temp_directory_path() / "betz-io-XXXXXX").string();
    folder = ::mkdtemp(pattern.data());
  }
  ~TemporaryFolder() { std::filesystem::remove_all(folder); }
  TemporaryFolder(const TemporaryFolder &) = delete;
  TemporaryFolder &operator=(const TemporaryFolder &) = delete;

  std::filesystem::path operator/(const std::string &name) const {
    return folder / name;
  }

private:
  std::filesystem::path folder;
};

/// BETZ_SHARED, else the folder `shared` beside the repository.
inline std::filesystem::path sharedFolder() {
  if (const char *folder = std::getenv("BETZ_SHARED"))
    return folder;
  return std::filesystem::path(__FILE__)
             .parent_path() // io
             .parent_path() // runtime
             .parent_path() // tests
             .parent_path() // the repository
             .parent_path() /
         "shared";
}

} // namespace betz::test

/// Skips the test, with a reason, unless the shared file is there.
#define BETZ_NEED_SHARED(variable, relative)                                   \
  std::filesystem::path variable = ::betz::test::sharedFolder() / relative;    \
  if (!std::filesystem::exists(variable))                                      \
  GTEST_SKIP() << variable << " is absent (set BETZ_SHARED)"
