//===- DeviceLimits.h - What a GPU can do at most -------------------------===//
#pragma once

#include "runtime/hal/cuda/CudaBaseline.h"
#include "runtime/session/Session.h"
#include "tools/Calibration.h"

namespace betz {

/// Measures for some seconds: a product of 8192 x 8192 x 8192 in the type of
/// the session's matmuls, by cuBLASLt or else by Betz's own kernel, and a copy
/// beyond the caches. Unavailable with neither cuBLASLt nor NVRTC.
Result<MachineLimits> measureDeviceLimits(Session &session,
                                          CudaBaseline &baseline);

} // namespace betz
