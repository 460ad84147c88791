//===- Checks.h - What every driver checks of a call ----------------------===//
#pragma once

#include "runtime/hal/Stream.h"

#include <fmt/format.h>

namespace betz {

/// An error unless `bytes` bytes at `slice` lie inside its buffer.
inline Status checkRange(const BufferSlice &slice, size_t bytes) {
  if (!slice.buffer || slice.offset < 0 ||
      size_t(slice.offset) > slice.buffer->size() ||
      bytes > slice.buffer->size() - size_t(slice.offset))
    return internalError(fmt::format("{} bytes at {} of a buffer of {}", bytes,
                                     slice.offset,
                                     slice.buffer ? slice.buffer->size() : 0));
  return Status::ok();
}

/// An error unless `launch` names one of an executable's `kernels` kernels, and
/// operands that exist. Extents are the driver's to check, if it reads them.
inline Status checkLaunch(const KernelLaunch &launch, size_t kernels) {
  if (launch.kernel >= kernels || launch.operands.size() > kMaxOperands)
    return internalError(fmt::format("launch of kernel {} with {} operands",
                                     launch.kernel, launch.operands.size()));
  for (const BufferSlice &operand : launch.operands)
    BETZ_RETURN_IF_ERROR(checkRange(operand, 0));
  return Status::ok();
}

/// An error unless a stream that records or does not may mark `slot`.
inline Status checkMark(uint32_t slot, bool isRecording) {
  if (isRecording)
    return internalError("a mark cannot be recorded");
  if (slot >= kMaxMarks)
    return internalError(
        fmt::format("mark {} of a stream that keeps {}", slot, kMaxMarks));
  return Status::ok();
}

/// The error of a measurement that needs a mark nobody has made.
inline Status missingMark(uint32_t slot) {
  return internalError(fmt::format("the stream has no mark {}", slot));
}

} // namespace betz
