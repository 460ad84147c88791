// Cubin.h against kernels of which ptxas' option -v says the same.
#include "tests/codegen/Cubin.h"
#include "codegen/cuda/Nvrtc.h"

#include <gtest/gtest.h>

namespace betz::cuda {
namespace {

TEST(CubinUse, SeesArraysAndSpills) {
  Result<const Nvrtc *> nvrtc = Nvrtc::load();
  if (!nvrtc.isOk())
    GTEST_SKIP() << nvrtc.status().message();
  auto use = [&](const char *source) {
    std::string log;
    auto code = (*nvrtc)->compile("k", source, "sm_90a", log);
    EXPECT_TRUE(code.isOk()) << log;
    auto read = readCubinUse(*code);
    EXPECT_TRUE(read.isOk()) << read.status().message();
    return *read;
  };
  const CubinUse plain = use("extern \"C\" __global__ void k(float *x) {\n"
                             "  x[threadIdx.x] *= 2; }");
  EXPECT_EQ(plain.stackBytes, 0u);
  EXPECT_GT(plain.registers, 0u);
  const CubinUse array = use("extern \"C\" __global__ void k(int *x, int n) {\n"
                             "  int a[50];\n"
                             "  for (int i = 0; i < n; ++i) a[i % 50] = x[i];\n"
                             "  x[0] = a[n]; }");
  EXPECT_EQ(array.stackBytes, 200u);
  const CubinUse spilled =
      use("extern \"C\" __global__ void __launch_bounds__(1024)\n"
          "k(float *x, int n) {\n"
          "  float a[150];\n"
          "  for (int i = 0; i < 150; ++i) a[i] = x[i * n];\n"
          "  for (int j = 0; j < n; ++j)\n"
          "#pragma unroll\n"
          "    for (int i = 0; i < 150; ++i)\n"
          "      a[i] = a[i] * x[j] + a[(i + 7) % 150];\n"
          "#pragma unroll\n"
          "  for (int i = 0; i < 150; ++i) x[i] = a[i]; }");
  EXPECT_GT(spilled.stackBytes, 300u);
}

TEST(CubinUse, RefusesWhatIsNoCubin) {
  const std::byte zeros[200] = {};
  EXPECT_FALSE(readCubinUse(zeros).isOk());
  EXPECT_FALSE(readCubinUse({}).isOk());
}

} // namespace
} // namespace betz::cuda
