// A libnvidia-ml.so.1 beside the stand-in for the driver: fixed figures for the
// device on its bus address, and none for its power.
#include <cstring>

#define BETZ_EXPORT extern "C" __attribute__((visibility("default")))

BETZ_EXPORT int nvmlInit_v2() { return 0; }
BETZ_EXPORT int nvmlDeviceGetHandleByPciBusId_v2(const char *id,
                                                 void **device) {
  *device = nullptr;
  return std::strcmp(id, "0000:18:00.0") == 0 ? 0 : 6;
}
BETZ_EXPORT int nvmlDeviceGetUtilizationRates(void *, unsigned *values) {
  values[0] = 37;
  values[1] = 11;
  return 0;
}
BETZ_EXPORT int nvmlDeviceGetMemoryInfo(void *, unsigned long long *values) {
  values[0] = 4000;
  values[1] = 1000;
  values[2] = 3000;
  return 0;
}
BETZ_EXPORT int nvmlDeviceGetPowerUsage(void *, unsigned *) { return 3; }
BETZ_EXPORT int nvmlDeviceGetClockInfo(void *, int clock, unsigned *megahertz) {
  *megahertz = clock == 1 ? 1980 : 3201;
  return 0;
}
