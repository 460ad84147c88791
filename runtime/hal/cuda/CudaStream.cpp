#include "runtime/hal/cuda/CudaStream.h"
#include "runtime/hal/Checks.h"
#include "runtime/hal/cuda/CudaExecutable.h"
#include "runtime/hal/cuda/CudaGrid.h"

#include <algorithm>

namespace betz {
namespace {

CUdeviceptr addressOf(const BufferSlice &slice) {
  return static_cast<const CudaBuffer *>(slice.buffer)->address() +
         CUdeviceptr(slice.offset);
}

} // namespace

CudaCommandGraph::~CudaCommandGraph() {
  if (graph)
    context->release(
        [&](const CudaDriver &cuda) { return cuda.cuGraphExecDestroy(graph); });
}

Result<std::unique_ptr<CudaStream>>
CudaStream::create(std::shared_ptr<const CudaContext> context) {
  std::unique_ptr<CudaStream> made(new CudaStream(std::move(context)));
  BETZ_RETURN_IF_ERROR(
      made->context->call("make a stream", [&](const CudaDriver &cuda) {
        return cuda.cuStreamCreate(&made->stream, CU_STREAM_NON_BLOCKING);
      }));
  return made;
}

CudaStream::~CudaStream() {
  if (!stream)
    return;
  context->release([&](const CudaDriver &cuda) {
    CUgraph abandoned = nullptr;
    if (isRecording)
      cuda.cuStreamEndCapture(stream, &abandoned);
    if (abandoned)
      cuda.cuGraphDestroy(abandoned);
    // What runs uses memory whose owners may free it next.
    cuda.cuStreamSynchronize(stream);
    for (CUevent mark : marks)
      if (mark)
        cuda.cuEventDestroy(mark);
    return cuda.cuStreamDestroy(stream);
  });
}

Status CudaStream::copyToDevice(BufferSlice to, const void *from,
                                size_t bytes) {
  BETZ_RETURN_IF_ERROR(checkRange(to, bytes));
  if (bytes == 0)
    return Status::ok();
  return context->call("copy to it", [&](const CudaDriver &cuda) {
    return cuda.cuMemcpyHtoDAsync(addressOf(to), from, bytes, stream);
  });
}

Status CudaStream::copyToHost(void *to, BufferSlice from, size_t bytes) {
  BETZ_RETURN_IF_ERROR(checkRange(from, bytes));
  if (bytes == 0)
    return Status::ok();
  return context->call("copy from it", [&](const CudaDriver &cuda) {
    return cuda.cuMemcpyDtoHAsync(to, addressOf(from), bytes, stream);
  });
}

Status CudaStream::encode(CUtensorMap &encoded, const CudaTensorMap &map,
                          const KernelLaunch &launch) const {
  if (map.operand >= launch.operands.size())
    return internalError("a tensor map of an operand that a launch lacks");
  const BufferSlice &slice = launch.operands[map.operand];
  const int64_t room = int64_t(slice.buffer->size()) - slice.offset -
                       int64_t(map.offsetBytes) - int64_t(map.columns) * 2;
  if (room < 0 || map.rowBytes == 0)
    return internalError("a tensor map of an operand without a row");
  const cuuint64_t rows = cuuint64_t(room) / map.rowBytes + 1;
  const cuuint64_t pitch = map.rowBytes;
  const cuuint64_t plainSizes[] = {map.columns, rows};
  const cuuint64_t groupSizes[] = {map.columns, 2, 4, 4, rows / 32};
  const cuuint64_t plainStrides[] = {pitch};
  const cuuint64_t groupStrides[] = {pitch, 8 * pitch, 2 * pitch, 32 * pitch};
  const cuuint32_t plainBox[] = {64, map.boxRows};
  const cuuint32_t groupBox[] = {64, 2, 4, 4, map.boxRows / 32};
  const cuuint32_t steps[] = {1, 1, 1, 1, 1};
  const bool plain = map.interleaved == 0;
  return context->call("describe an operand", [&](const CudaDriver &cuda) {
    return cuda.cuTensorMapEncodeTiled(
        &encoded, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, plain ? 2 : 5,
        reinterpret_cast<void *>(addressOf(slice) + map.offsetBytes),
        plain ? plainSizes : groupSizes, plain ? plainStrides : groupStrides,
        plain ? plainBox : groupBox, steps, CU_TENSOR_MAP_INTERLEAVE_NONE,
        CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
        CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  });
}

Status CudaStream::launch(const KernelLaunch &launch) {
  std::span<const CudaKernel> kernels =
      static_cast<const CudaExecutable &>(*launch.executable).kernels();
  BETZ_RETURN_IF_ERROR(checkLaunch(launch, kernels.size()));
  BETZ_RETURN_IF_ERROR(checkRange(launch.extents, 0));
  const CudaKernel &kernel = kernels[launch.kernel];
  BETZ_ASSIGN_OR_RETURN(uint32_t blocks,
                        cudaGridSize(launch.maxTasks, kernel.geometry,
                                     context->multiprocessors()));
  if (blocks == 0)
    return Status::ok();

  // The kernel's first parameter is a structure of as many pointers as it has
  // operands; the driver copies both parameters before it returns.
  CUdeviceptr operands[kMaxOperands] = {};
  std::ranges::transform(launch.operands, operands, addressOf);
  CUdeviceptr extents = addressOf(launch.extents);
  CUtensorMap maps[kMaxCudaTensorMaps];
  void *parameters[2 + kMaxCudaTensorMaps] = {operands, &extents};
  for (size_t i = 0; i < kernel.maps.size(); ++i) {
    BETZ_RETURN_IF_ERROR(encode(maps[i], kernel.maps[i], launch));
    parameters[2 + i] = &maps[i];
  }
  CUlaunchAttribute dependent = {};
  dependent.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
  dependent.value.programmaticStreamSerializationAllowed = 1;
  const bool isDependent = (kernel.geometry.flags & kCudaDependentLaunch) &&
                           context->capability().major >= 9;
  CUlaunchConfig config = {};
  config.gridDimX = blocks;
  config.gridDimY = config.gridDimZ = 1;
  config.blockDimX = kernel.geometry.threads;
  config.blockDimY = config.blockDimZ = 1;
  config.sharedMemBytes = kernel.geometry.sharedBytes;
  config.hStream = stream;
  config.attrs = &dependent;
  config.numAttrs = isDependent ? 1 : 0;
  return context->call("launch a kernel", [&](const CudaDriver &cuda) {
    return cuda.cuLaunchKernelEx(&config, kernel.function, parameters, nullptr);
  });
}

Status CudaStream::beginCapture() {
  if (isRecording)
    return internalError("the stream is already recording");
  BETZ_RETURN_IF_ERROR(
      context->call("start to record", [&](const CudaDriver &cuda) {
        return cuda.cuStreamBeginCapture(stream,
                                         CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
      }));
  isRecording = true;
  return Status::ok();
}

Result<std::unique_ptr<CommandGraph>> CudaStream::endCapture() {
  if (!isRecording)
    return internalError("the stream is not recording");
  isRecording = false;
  CUgraphExec executable = nullptr;
  Status status = context->call("record", [&](const CudaDriver &cuda) {
    CUgraph graph = nullptr;
    CUresult result = cuda.cuStreamEndCapture(stream, &graph);
    size_t nodes = 0;
    if (result == CUDA_SUCCESS)
      result = cuda.cuGraphGetNodes(graph, nullptr, &nodes);
    if (result == CUDA_SUCCESS && nodes > 0)
      result = cuda.cuGraphInstantiate(&executable, graph, 0);
    if (graph)
      cuda.cuGraphDestroy(graph);
    return result;
  });
  auto recorded = std::make_unique<CudaCommandGraph>(context, executable);
  BETZ_RETURN_IF_ERROR(std::move(status));
  if (executable)
    BETZ_RETURN_IF_ERROR(
        context->call("upload a graph", [&](const CudaDriver &cuda) {
          CUresult result = cuda.cuGraphUpload(executable, stream);
          return result == CUDA_SUCCESS ? cuda.cuStreamSynchronize(stream)
                                        : result;
        }));
  return std::unique_ptr<CommandGraph>(std::move(recorded));
}

Status CudaStream::launchGraph(CommandGraph &graph) {
  if (isRecording)
    return internalError("a graph cannot be recorded into another");
  CUgraphExec executable =
      static_cast<const CudaCommandGraph &>(graph).executable();
  if (!executable)
    return Status::ok();
  return context->call("launch a graph", [&](const CudaDriver &cuda) {
    return cuda.cuGraphLaunch(executable, stream);
  });
}

Status CudaStream::synchronize() {
  if (isRecording)
    return internalError("nothing to wait for while recording");
  return context->call("finish what it was given", [&](const CudaDriver &cuda) {
    return cuda.cuStreamSynchronize(stream);
  });
}

Status CudaStream::mark(uint32_t slot) {
  BETZ_RETURN_IF_ERROR(checkMark(slot, isRecording));
  return context->call("mark a place in its work", [&](const CudaDriver &cuda) {
    CUresult result = marks[slot]
                          ? CUDA_SUCCESS
                          : cuda.cuEventCreate(&marks[slot], CU_EVENT_DEFAULT);
    return result == CUDA_SUCCESS ? cuda.cuEventRecord(marks[slot], stream)
                                  : result;
  });
}

Result<double> CudaStream::secondsBetween(uint32_t from, uint32_t to) {
  for (uint32_t slot : {from, to})
    if (slot >= kMaxMarks || !marks[slot])
      return missingMark(slot);
  float milliseconds = 0;
  BETZ_RETURN_IF_ERROR(
      context->call("read its clock", [&](const CudaDriver &cuda) {
        return cuda.cuEventElapsedTime(&milliseconds, marks[from], marks[to]);
      }));
  return 1e-3 * double(milliseconds);
}

} // namespace betz
