#include "runtime/hal/cuda/Nvml.h"
#include "runtime/base/DynamicLibrary.h"
#include "runtime/base/Log.h"

#include <memory>

namespace betz {
namespace {

/// The functions that are used, declared as NVML's header does.
class Nvml {
public:
  /// Null where there is none. Never unloaded.
  static const Nvml *get() {
    static const Nvml *const nvml = load();
    return nvml;
  }

  DeviceState read(const std::string &pciBusId) const {
    Handle device = nullptr;
    DeviceState state;
    if (deviceByBusId(pciBusId.c_str(), &device) != 0)
      return state;
    Utilization utilization;
    if (getUtilization(device, &utilization) == 0)
      state.utilization = utilization.gpu / 100.0;
    Memory memory;
    if (getMemory(device, &memory) == 0) {
      state.memoryUsed = int64_t(memory.used);
      state.memoryTotal = int64_t(memory.total);
    }
    unsigned value = 0;
    if (getPower(device, &value) == 0)
      state.watts = value / 1000.0;
    if (getClock(device, kSmClock, &value) == 0)
      state.coreHertz = value * 1e6;
    if (getClock(device, kMemoryClock, &value) == 0)
      state.memoryHertz = value * 1e6;
    return state;
  }

private:
  using Handle = void *;
  struct Utilization {
    unsigned gpu, memory; // percent
  };
  struct Memory {
    unsigned long long total, free, used;
  };
  static constexpr int kSmClock = 1, kMemoryClock = 2;

  explicit Nvml(DynamicLibrary library) : library(std::move(library)) {}

  static const Nvml *load() {
    const char *const names[] = {"libnvidia-ml.so.1"};
    Result<DynamicLibrary> library = DynamicLibrary::open(names);
    if (!library.isOk()) {
      logDebug("cuda", "{}", library.status().message());
      return nullptr;
    }
    auto nvml = std::unique_ptr<Nvml>(new Nvml(std::move(library).value()));
    Status found = nvml->findFunctions();
    if (!found.isOk() || nvml->initialize() != 0) {
      logDebug("cuda", "NVML does not start: {}", found.message());
      return nullptr;
    }
    return nvml.release();
  }

  Status findFunctions() {
    BETZ_RETURN_IF_ERROR(library.find(initialize, "nvmlInit_v2"));
    BETZ_RETURN_IF_ERROR(
        library.find(deviceByBusId, "nvmlDeviceGetHandleByPciBusId_v2"));
    BETZ_RETURN_IF_ERROR(
        library.find(getUtilization, "nvmlDeviceGetUtilizationRates"));
    BETZ_RETURN_IF_ERROR(library.find(getMemory, "nvmlDeviceGetMemoryInfo"));
    BETZ_RETURN_IF_ERROR(library.find(getPower, "nvmlDeviceGetPowerUsage"));
    return library.find(getClock, "nvmlDeviceGetClockInfo");
  }

  DynamicLibrary library;
  int (*initialize)() = nullptr;
  int (*deviceByBusId)(const char *, Handle *) = nullptr;
  int (*getUtilization)(Handle, Utilization *) = nullptr;
  int (*getMemory)(Handle, Memory *) = nullptr;
  int (*getPower)(Handle, unsigned *) = nullptr;      // milliwatts
  int (*getClock)(Handle, int, unsigned *) = nullptr; // MHz
};

} // namespace

DeviceState readNvml(const std::string &pciBusId) {
  const Nvml *nvml = Nvml::get();
  return nvml ? nvml->read(pciBusId) : DeviceState();
}

} // namespace betz
