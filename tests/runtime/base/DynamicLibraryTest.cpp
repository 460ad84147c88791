#include "runtime/base/DynamicLibrary.h"

#include <gtest/gtest.h>

namespace betz {
namespace {

TEST(DynamicLibrary, FirstCandidateThatLoadsIsUsed) {
  const char *const names[] = {"libno_such_thing.so.7", "libm.so.6",
                               "libc.so.6"};
  auto library = DynamicLibrary::open(names);
  ASSERT_TRUE(library.isOk()) << library.status().message();
  EXPECT_EQ(library->name(), "libm.so.6");
  DynamicLibrary moved = std::move(library).value();
  double (*squareRoot)(double) = nullptr;
  ASSERT_TRUE(moved.find(squareRoot, "sqrt").isOk());
  EXPECT_EQ(squareRoot(2.25), 1.5);
  Status absent = moved.find(squareRoot, "no_such_function");
  EXPECT_EQ(absent.getCode(), StatusCode::Unavailable);
  EXPECT_EQ(absent.message(), "libm.so.6 has no no_such_function");
}

TEST(DynamicLibrary, NoneIsUnavailableWithTheLoadersReason) {
  const char *const names[] = {"libfirst.so.7", "libsecond.so.7"};
  Status status = DynamicLibrary::open(names).status();
  EXPECT_EQ(status.getCode(), StatusCode::Unavailable);
  EXPECT_TRUE(status.message().starts_with(
      "cannot load libsecond.so.7: libsecond.so.7: cannot open"))
      << status.message();
}

} // namespace
} // namespace betz
