// A libnvrtc.so that refuses every kernel, as NVRTC does one with an error.
#include <cstddef>
#include <cstring>

namespace {
constexpr char kLog[] = "k.cu(1): warning #177-D: never used\n"
                        "k.cu(3): error: expected a \";\"\n"
                        "1 error detected in the compilation of \"k.cu\".\n";
constexpr int kCompilationError = 6;
} // namespace

#define BETZ_EXPORT extern "C" __attribute__((visibility("default")))

BETZ_EXPORT int nvrtcVersion(int *major, int *minor) {
  *major = 13;
  *minor = 0;
  return 0;
}
BETZ_EXPORT int nvrtcCreateProgram(void **program, const char *, const char *,
                                   int, const char *const *,
                                   const char *const *) {
  *program = nullptr;
  return 0;
}
BETZ_EXPORT int nvrtcCompileProgram(void *, int, const char *const *) {
  return kCompilationError;
}
BETZ_EXPORT int nvrtcDestroyProgram(void **) { return 0; }
BETZ_EXPORT int nvrtcGetProgramLogSize(void *, size_t *size) {
  *size = sizeof(kLog);
  return 0;
}
BETZ_EXPORT int nvrtcGetProgramLog(void *, char *log) {
  std::memcpy(log, kLog, sizeof(kLog));
  return 0;
}
BETZ_EXPORT int nvrtcGetCUBINSize(void *, size_t *) { return 1; }
BETZ_EXPORT int nvrtcGetCUBIN(void *, char *) { return 1; }
BETZ_EXPORT int nvrtcGetPTXSize(void *, size_t *) { return 1; }
BETZ_EXPORT int nvrtcGetPTX(void *, char *) { return 1; }
BETZ_EXPORT const char *nvrtcGetErrorString(int) {
  return "NVRTC_ERROR_COMPILATION";
}
