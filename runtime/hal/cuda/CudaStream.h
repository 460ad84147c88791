//===- CudaStream.h - Work in order on a GPU ------------------------------===//
#pragma once

#include "runtime/hal/Stream.h"
#include "runtime/hal/cuda/CudaContext.h"
#include "runtime/program/KernelAbi.h"

#include <array>

namespace betz {

class CudaCommandGraph : public CommandGraph {
public:
  /// Takes `graph`, null when it was recorded empty.
  CudaCommandGraph(std::shared_ptr<const CudaContext> context,
                   CUgraphExec graph)
      : context(std::move(context)), graph(graph) {}
  ~CudaCommandGraph() override;

  CUgraphExec executable() const { return graph; }

private:
  std::shared_ptr<const CudaContext> context;
  CUgraphExec graph;
};

class CudaStream : public Stream {
public:
  static Result<std::unique_ptr<CudaStream>>
  create(std::shared_ptr<const CudaContext> context);
  ~CudaStream() override;

  CUstream handle() const { return stream; }

  Status copyToDevice(BufferSlice to, const void *from, size_t bytes) override;
  Status copyToHost(void *to, BufferSlice from, size_t bytes) override;
  Status launch(const KernelLaunch &launch) override;
  Status beginCapture() override;
  Result<std::unique_ptr<CommandGraph>> endCapture() override;
  Status launchGraph(CommandGraph &graph) override;
  Status synchronize() override;
  Status mark(uint32_t slot) override;
  Result<double> secondsBetween(uint32_t from, uint32_t to) override;

private:
  explicit CudaStream(std::shared_ptr<const CudaContext> context)
      : context(std::move(context)) {}
  /// The tensor map of an operand, as one of the kernel's parameters.
  Status encode(CUtensorMap &encoded, const CudaTensorMap &map,
                const KernelLaunch &launch) const;

  std::shared_ptr<const CudaContext> context;
  CUstream stream = nullptr;
  bool isRecording = false;
  /// Null where a slot has no mark.
  std::array<CUevent, kMaxMarks> marks = {};
};

} // namespace betz
