//===- Fixtures.h - The shared fixtures as tensors of the interpreter -----===//
#pragma once

#include "ir/reference/Tensor.h"
#include "runtime/base/Status.h"
#include "runtime/io/Safetensors.h"

namespace betz {

/// Every decoder under shared/fixtures.
inline constexpr const char *kFixtures[] = {"layernorm", "rmsnorm", "rotary",
                                            "window",    "odd",     "masked"};

/// The tensors of types f32, f64 and i32.
Result<reference::TensorMap> readTensors(const SafetensorsFile &file);

} // namespace betz
