// A libcuda.so.1 that stands in for NVIDIA's where there is no GPU: one device
// of capability 9.0 whose memory is the host's and whose kernels are those of
// TestKernels.c, found by the names of the PTX's entries. It holds callers to
// what the real one demands (a current context, ranges inside allocations,
// nothing forbidden while recording) and fails on request:
// BETZ_STAND_IN_CUDA="cuMemAlloc=2,deviceCount=0" makes cuMemAlloc return
// CUDA_ERROR_OUT_OF_MEMORY and finds no device.
#include "runtime/program/KernelAbi.h"

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <cuda.h>
#include <dlfcn.h>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

using betz::CpuKernelFn;

struct CUctx_st {};
struct CUfunc_st {
  CpuKernelFn run = nullptr;
  bool isPersistent = false;
};
struct CUmod_st {
  std::map<std::string, CUfunc_st> kernels;
  std::map<std::string, std::vector<unsigned char>> constants;
};
struct CUgraph_st {
  std::vector<std::function<void()>> nodes;
};
struct CUgraphExec_st : CUgraph_st {};
struct CUevent_st {
  std::chrono::steady_clock::time_point time;
  bool isRecorded = false;
};
struct CUstream_st {
  CUgraph capture = nullptr;
  /// Runs at the next wait, as late as a real stream may. Threads may share a
  /// stream.
  std::vector<std::function<void()>> pending;
  std::mutex mutex;
};

namespace {

std::mutex mutex;
CUctx_st primaryContext;
std::map<CUdeviceptr, size_t> allocations;
int liveObjects = 0;
int failedLookups = 0;
thread_local int contextDepth = 0;
thread_local int captures = 0;

/// The number after "key=" in BETZ_STAND_IN_CUDA, or `otherwise`.
int setting(std::string_view key, int otherwise) {
  const char *text = std::getenv("BETZ_STAND_IN_CUDA");
  std::string settings = std::string(",") + (text ? text : "");
  size_t at = settings.find("," + std::string(key) + "=");
  return at == std::string::npos
             ? otherwise
             : std::atoi(settings.c_str() + at + key.size() + 2);
}

/// What a call that needs a context must return at once, or success.
CUresult enter(const char *function) {
  if (contextDepth == 0)
    return CUDA_ERROR_INVALID_CONTEXT;
  return CUresult(setting(function, CUDA_SUCCESS));
}

bool isAllocated(CUdeviceptr address, size_t bytes) {
  std::lock_guard lock(mutex);
  auto after = allocations.upper_bound(address);
  if (after == allocations.begin())
    return false;
  auto [start, size] = *std::prev(after);
  return address - start <= size && bytes <= size - (address - start);
}

void track(CUdeviceptr address, size_t bytes) {
  std::lock_guard lock(mutex);
  allocations[address] = bytes;
}

CUresult untrack(CUdeviceptr address) {
  std::lock_guard lock(mutex);
  return allocations.erase(address) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

void countObject(int change) {
  std::lock_guard lock(mutex);
  liveObjects += change;
}

void submit(CUstream stream, std::function<void()> work) {
  std::lock_guard lock(stream->mutex);
  (stream->capture ? stream->capture->nodes : stream->pending)
      .push_back(std::move(work));
}

void finish(CUstream stream) {
  std::lock_guard lock(stream->mutex);
  for (const std::function<void()> &work : stream->pending)
    work();
  stream->pending.clear();
}

/// Finds "PREFIX NAME" up to a bracket, repeatedly: calls found(name, rest).
void parse(std::string_view text, std::string_view prefix,
           const std::function<void(std::string, std::string_view)> &found) {
  for (size_t at = text.find(prefix); at != text.npos;
       at = text.find(prefix, at + 1)) {
    std::string_view rest = text.substr(at + prefix.size());
    size_t end = rest.find_first_of("([");
    found(std::string(rest.substr(0, end)), rest.substr(end));
  }
}

/// Of "[SIZE] = {1, 2}": as many as SIZE, zero where none are given.
std::vector<unsigned char> parseBytes(std::string_view text) {
  std::vector<unsigned char> bytes(size_t(std::atoi(text.data() + 1)));
  size_t at = text.find('{');
  for (unsigned char &byte : bytes) {
    if (text[at] == '}')
      break;
    byte = static_cast<unsigned char>(std::atoi(text.data() + at + 1));
    at = text.find_first_of(",}", at + 1);
  }
  return bytes;
}

CpuKernelFn findHostKernel(std::string name) {
  static void *library = dlopen(BETZ_TEST_KERNELS, RTLD_NOW);
  if (name == "scale_persistent")
    name = "scale";
  return reinterpret_cast<CpuKernelFn>(dlsym(library, name.c_str()));
}

} // namespace

extern "C" {

/// What is not freed yet; how a test knows this library.
__attribute__((visibility("default"))) int standInCudaLiveObjects() {
  std::lock_guard lock(mutex);
  return liveObjects + int(allocations.size());
}

/// How often a constant was asked for that is not there.
__attribute__((visibility("default"))) int standInCudaFailedLookups() {
  return failedLookups;
}

CUresult cuInit(unsigned) { return CUresult(setting("cuInit", 0)); }

CUresult cuGetErrorName(CUresult error, const char **name) {
  *name = error == CUDA_ERROR_OUT_OF_MEMORY     ? "CUDA_ERROR_OUT_OF_MEMORY"
          : error == CUDA_ERROR_ILLEGAL_ADDRESS ? "CUDA_ERROR_ILLEGAL_ADDRESS"
                                                : "CUDA_ERROR_OF_STAND_IN";
  return error == CUresult(1000) ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

CUresult cuGetErrorString(CUresult, const char **text) {
  *text = "as the stand-in says";
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetCount(int *count) {
  *count = setting("deviceCount", 1);
  return CUDA_SUCCESS;
}

CUresult cuDeviceGet(CUdevice *device, int ordinal) {
  *device = ordinal;
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetName(char *name, int length, CUdevice) {
  std::strncpy(name, "Stand-in", size_t(length));
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetPCIBusId(char *id, int length, CUdevice) {
  std::strncpy(id, "0000:18:00.0", size_t(length));
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute attribute,
                              CUdevice) {
  switch (attribute) {
  case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
    *value = 9;
    return CUDA_SUCCESS;
  case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR:
    *value = 0;
    return CUDA_SUCCESS;
  case CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE:
    *value = 1 << 20;
    return CUDA_SUCCESS;
  case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
    *value = 2;
    return CUDA_SUCCESS;
  default:
    return CUDA_ERROR_INVALID_VALUE;
  }
}

CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice) {
  *context = &primaryContext;
  countObject(1);
  return CUresult(setting("cuDevicePrimaryCtxRetain", 0));
}

CUresult cuDevicePrimaryCtxRelease(CUdevice) {
  countObject(-1);
  return CUDA_SUCCESS;
}

CUresult cuCtxPushCurrent(CUcontext context) {
  if (context != &primaryContext)
    return CUDA_ERROR_INVALID_CONTEXT;
  ++contextDepth;
  return CUDA_SUCCESS;
}

CUresult cuCtxGetDevice(CUdevice *device) {
  *device = 0;
  return enter("cuCtxGetDevice");
}

CUresult cuDriverGetVersion(int *version) {
  *version = 13010;
  return CUDA_SUCCESS;
}

CUresult cuCtxPopCurrent(CUcontext *context) {
  *context = &primaryContext;
  return contextDepth-- > 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

CUresult cuMemAlloc(CUdeviceptr *address, size_t bytes) {
  if (CUresult result = enter("cuMemAlloc"))
    return result;
  if (captures > 0)
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  if (bytes == 0)
    return CUDA_ERROR_INVALID_VALUE;
  void *memory = bytes > size_t(1) << 40 ? nullptr : std::malloc(bytes);
  if (!memory)
    return CUDA_ERROR_OUT_OF_MEMORY;
  std::memset(memory, 0x5a, bytes);
  *address = reinterpret_cast<CUdeviceptr>(memory);
  track(*address, bytes);
  return CUDA_SUCCESS;
}

CUresult cuMemFree(CUdeviceptr address) {
  if (CUresult result = enter("cuMemFree"))
    return result;
  CUresult result = untrack(address);
  if (result == CUDA_SUCCESS)
    std::free(reinterpret_cast<void *>(address));
  return result;
}

CUresult cuMemGetInfo(size_t *free, size_t *total) {
  *free = 1000;
  *total = 4000;
  return enter("cuMemGetInfo");
}

CUresult cuMemHostAlloc(void **memory, size_t bytes, unsigned) {
  if (CUresult result = enter("cuMemHostAlloc"))
    return result;
  *memory = std::aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
  track(reinterpret_cast<CUdeviceptr>(*memory), bytes);
  return CUDA_SUCCESS;
}

CUresult cuMemFreeHost(void *memory) {
  if (CUresult result = enter("cuMemFreeHost"))
    return result;
  CUresult result = untrack(reinterpret_cast<CUdeviceptr>(memory));
  if (result == CUDA_SUCCESS)
    std::free(memory);
  return result;
}

CUresult cuMemcpyHtoDAsync(CUdeviceptr to, const void *from, size_t bytes,
                           CUstream stream) {
  if (CUresult result = enter("cuMemcpyHtoDAsync"))
    return result;
  if (!isAllocated(to, bytes))
    return CUDA_ERROR_INVALID_VALUE;
  submit(stream,
         [=] { std::memcpy(reinterpret_cast<void *>(to), from, bytes); });
  return CUDA_SUCCESS;
}

CUresult cuMemcpyDtoHAsync(void *to, CUdeviceptr from, size_t bytes,
                           CUstream stream) {
  if (CUresult result = enter("cuMemcpyDtoHAsync"))
    return result;
  if (!isAllocated(from, bytes))
    return CUDA_ERROR_INVALID_VALUE;
  submit(stream,
         [=] { std::memcpy(to, reinterpret_cast<const void *>(from), bytes); });
  return CUDA_SUCCESS;
}

CUresult cuMemcpyDtoDAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes,
                           CUstream stream) {
  if (CUresult result = enter("cuMemcpyDtoDAsync"))
    return result;
  if (!isAllocated(to, bytes) || !isAllocated(from, bytes))
    return CUDA_ERROR_INVALID_VALUE;
  submit(stream, [=] {
    std::memcpy(reinterpret_cast<void *>(to),
                reinterpret_cast<const void *>(from), bytes);
  });
  return CUDA_SUCCESS;
}

CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t bytes,
                         CUstream stream) {
  if (CUresult result = enter("cuMemsetD8Async"))
    return result;
  if (!isAllocated(to, bytes))
    return CUDA_ERROR_INVALID_VALUE;
  submit(stream,
         [=] { std::memset(reinterpret_cast<void *>(to), value, bytes); });
  return CUDA_SUCCESS;
}

CUresult cuModuleLoadDataEx(CUmodule *module, const void *image, unsigned count,
                            CUjit_option *options, void **values) {
  if (CUresult result = enter("cuModuleLoadDataEx"))
    return result;
  std::string_view text = static_cast<const char *>(image);
  if (text.find(".version") == text.npos) {
    if (count > 0 && options[0] == CU_JIT_ERROR_LOG_BUFFER)
      std::strcpy(static_cast<char *>(values[0]), "no version;\nline 1\n");
    return CUDA_ERROR_INVALID_PTX;
  }
  *module = new CUmod_st;
  parse(text, ".entry ", [&](std::string name, std::string_view) {
    (*module)->kernels[name] = {findHostKernel(name),
                                name == "scale_persistent"};
  });
  parse(text, ".const .align 4 .b8 ",
        [&](std::string name, std::string_view rest) {
          (*module)->constants[name] = parseBytes(rest);
        });
  for (auto &[name, bytes] : (*module)->constants)
    track(reinterpret_cast<CUdeviceptr>(bytes.data()), bytes.size());
  countObject(1);
  return CUDA_SUCCESS;
}

CUresult cuModuleUnload(CUmodule module) {
  if (CUresult result = enter("cuModuleUnload"))
    return result;
  for (auto &[name, bytes] : module->constants)
    untrack(reinterpret_cast<CUdeviceptr>(bytes.data()));
  delete module;
  countObject(-1);
  return CUDA_SUCCESS;
}

CUresult cuModuleGetFunction(CUfunction *function, CUmodule module,
                             const char *name) {
  if (CUresult result = enter("cuModuleGetFunction"))
    return result;
  auto kernel = module->kernels.find(name);
  if (kernel == module->kernels.end())
    return CUDA_ERROR_NOT_FOUND;
  *function = &kernel->second;
  return CUDA_SUCCESS;
}

CUresult cuModuleGetGlobal(CUdeviceptr *address, size_t *bytes, CUmodule module,
                           const char *name) {
  if (CUresult result = enter("cuModuleGetGlobal"))
    return result;
  auto constant = module->constants.find(name);
  if (constant == module->constants.end()) {
    ++failedLookups;
    return CUDA_ERROR_NOT_FOUND;
  }
  *address = reinterpret_cast<CUdeviceptr>(constant->second.data());
  *bytes = constant->second.size();
  return CUDA_SUCCESS;
}

CUresult cuFuncGetAttribute(int *value, CUfunction_attribute, CUfunction) {
  *value = 1024;
  return enter("cuFuncGetAttribute");
}

CUresult cuFuncSetAttribute(CUfunction, CUfunction_attribute, int bytes) {
  if (CUresult result = enter("cuFuncSetAttribute"))
    return result;
  return bytes > 232448 ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

CUresult cuStreamCreate(CUstream *stream, unsigned) {
  if (CUresult result = enter("cuStreamCreate"))
    return result;
  *stream = new CUstream_st;
  countObject(1);
  return CUDA_SUCCESS;
}

CUresult cuStreamDestroy(CUstream stream) {
  if (CUresult result = enter("cuStreamDestroy"))
    return result;
  finish(stream);
  delete stream;
  countObject(-1);
  return CUDA_SUCCESS;
}

CUresult cuStreamSynchronize(CUstream stream) {
  if (stream->capture)
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  if (CUresult result = enter("cuStreamSynchronize"))
    return result;
  finish(stream);
  return CUDA_SUCCESS;
}

CUresult cuEventCreate(CUevent *event, unsigned) {
  if (CUresult result = enter("cuEventCreate"))
    return result;
  *event = new CUevent_st;
  countObject(1);
  return CUDA_SUCCESS;
}

CUresult cuEventDestroy(CUevent event) {
  if (CUresult result = enter("cuEventDestroy"))
    return result;
  delete event;
  countObject(-1);
  return CUDA_SUCCESS;
}

CUresult cuEventRecord(CUevent event, CUstream stream) {
  if (CUresult result = enter("cuEventRecord"))
    return result;
  if (stream->capture)
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  event->time = std::chrono::steady_clock::now();
  event->isRecorded = true;
  return CUDA_SUCCESS;
}

#undef cuEventElapsedTime
CUresult cuEventElapsedTime(float *milliseconds, CUevent from, CUevent to) {
  if (CUresult result = enter("cuEventElapsedTime"))
    return result;
  if (!from->isRecorded || !to->isRecorded)
    return CUDA_ERROR_INVALID_HANDLE;
  *milliseconds =
      std::chrono::duration<float, std::milli>(to->time - from->time).count();
  return CUDA_SUCCESS;
}

CUresult cuTensorMapEncodeTiled(CUtensorMap *, CUtensorMapDataType, cuuint32_t,
                                void *, const cuuint64_t *, const cuuint64_t *,
                                const cuuint32_t *, const cuuint32_t *,
                                CUtensorMapInterleave, CUtensorMapSwizzle,
                                CUtensorMapL2promotion,
                                CUtensorMapFloatOOBfill) {
  return enter("cuTensorMapEncodeTiled");
}

CUresult cuStreamBeginCapture(CUstream stream, CUstreamCaptureMode) {
  if (CUresult result = enter("cuStreamBeginCapture"))
    return result;
  stream->capture = new CUgraph_st;
  countObject(1);
  ++captures;
  return CUDA_SUCCESS;
}

CUresult cuStreamEndCapture(CUstream stream, CUgraph *graph) {
  if (CUresult result = enter("cuStreamEndCapture"))
    return result;
  *graph = std::exchange(stream->capture, nullptr);
  --captures;
  return *graph ? CUDA_SUCCESS : CUDA_ERROR_ILLEGAL_STATE;
}

CUresult cuGraphGetNodes(CUgraph graph, CUgraphNode *, size_t *count) {
  *count = graph->nodes.size();
  return enter("cuGraphGetNodes");
}

CUresult cuGraphInstantiate(CUgraphExec *executable, CUgraph graph,
                            unsigned long long) {
  if (CUresult result = enter("cuGraphInstantiate"))
    return result;
  *executable = new CUgraphExec_st{*graph};
  countObject(1);
  return CUDA_SUCCESS;
}

CUresult cuGraphDestroy(CUgraph graph) {
  if (CUresult result = enter("cuGraphDestroy"))
    return result;
  delete graph;
  countObject(-1);
  return CUDA_SUCCESS;
}

CUresult cuGraphExecDestroy(CUgraphExec executable) {
  if (CUresult result = enter("cuGraphExecDestroy"))
    return result;
  delete executable;
  countObject(-1);
  return CUDA_SUCCESS;
}

CUresult cuGraphUpload(CUgraphExec, CUstream) { return enter("cuGraphUpload"); }

CUresult cuGraphLaunch(CUgraphExec executable, CUstream stream) {
  if (CUresult result = enter("cuGraphLaunch"))
    return result;
  if (stream->capture)
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  for (const std::function<void()> &node : executable->nodes)
    submit(stream, node);
  return CUDA_SUCCESS;
}

CUresult cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction function,
                          void **parameters, void **) {
  if (CUresult result = enter("cuLaunchKernelEx"))
    return result;
  if (config->gridDimX == 0 || config->gridDimY != 1 || config->gridDimZ != 1 ||
      config->blockDimX == 0 || config->blockDimY != 1 ||
      config->blockDimZ != 1)
    return CUDA_ERROR_INVALID_VALUE;
  // The most operands that a kernel here has.
  auto *first = static_cast<void **>(parameters[0]);
  std::vector<void *> operands(first, first + 6);
  auto *extents = *static_cast<const int64_t **>(parameters[1]);
  int64_t blocks = config->gridDimX;
  bool isPersistent = function->isPersistent;
  submit(config->hStream, [=, run = function->run] {
    run(operands.data(), extents, 0,
        isPersistent ? (extents[0] + 3) / 4 : blocks);
  });
  return CUDA_SUCCESS;
}

} // extern "C"
