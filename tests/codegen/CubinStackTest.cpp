// CubinStack.h against kernels of which ptxas' option -v says the same.
#include "codegen/cuda/CubinStack.h"
#include "codegen/cuda/Nvrtc.h"

#include <cstring>
#include <gtest/gtest.h>

namespace betz::cuda {
namespace {

TEST(CubinStack, SeesArraysAndSpills) {
  Result<const Nvrtc *> nvrtc = Nvrtc::load();
  if (!nvrtc.isOk())
    GTEST_SKIP() << nvrtc.status().message();
  auto stackOf = [&](const char *source) {
    std::string log;
    auto code = (*nvrtc)->compile("k", source, "sm_90a", log);
    EXPECT_TRUE(code.isOk()) << log;
    return stackBytes(*code);
  };
  const uint32_t plain = stackOf("extern \"C\" __global__ void k(float *x) {\n"
                                 "  x[threadIdx.x] *= 2; }");
  EXPECT_EQ(plain, 0u);
  const uint32_t array =
      stackOf("extern \"C\" __global__ void k(int *x, int n) {\n"
              "  int a[50];\n"
              "  for (int i = 0; i < n; ++i) a[i % 50] = x[i];\n"
              "  x[0] = a[n]; }");
  EXPECT_EQ(array, 200u);
  const uint32_t spilled =
      stackOf("extern \"C\" __global__ void __launch_bounds__(1024)\n"
              "k(float *x, int n) {\n"
              "  float a[150];\n"
              "  for (int i = 0; i < 150; ++i) a[i] = x[i * n];\n"
              "  for (int j = 0; j < n; ++j)\n"
              "#pragma unroll\n"
              "    for (int i = 0; i < 150; ++i)\n"
              "      a[i] = a[i] * x[j] + a[(i + 7) % 150];\n"
              "#pragma unroll\n"
              "  for (int i = 0; i < 150; ++i) x[i] = a[i]; }");
  EXPECT_GT(spilled, 300u);
}

TEST(CubinStack, IsNoneForWhatIsNoCubin) {
  EXPECT_EQ(stackBytes({}), 0u);
  std::vector<std::byte> noise(200, std::byte('\177'));
  EXPECT_EQ(stackBytes(noise), 0u);
  std::memcpy(noise.data(), "\177ELF", 4);
  EXPECT_EQ(stackBytes(noise), 0u);
}

} // namespace
} // namespace betz::cuda
