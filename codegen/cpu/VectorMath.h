//===- VectorMath.h - Elementary functions on f32 vectors -----------------===//
#pragma once

#include "codegen/cpu/Emitter.h"

namespace betz::cpu {

/// e^x, relative error below 2e-7 for x in [-87, 88]; smaller x give at most
/// e^-87, larger ones at least e^88. NaN stays NaN.
Value emitExp(Emitter &e, Value x);

/// The natural logarithm of positive normal numbers, relative error below
/// 2e-7 but for x near 1, where the error is below 1e-7.
Value emitLog(Emitter &e, Value x);

/// 1 / (1 + e^-x) and tanh x, error below 1e-6.
Value emitSigmoid(Emitter &e, Value x);
Value emitTanh(Emitter &e, Value x);

/// The slopes of gelu and silu, error below 1e-6; NaN for infinities.
Value emitGeluSlope(Emitter &e, Value x);
Value emitSiluSlope(Emitter &e, Value x);

/// The exact GELU, x / 2 * (1 + erf(x / sqrt 2)); error of erf below 4e-7.
Value emitGelu(Emitter &e, Value x);

/// x / (1 + e^-x), relative error below 1e-6; minus infinity gives NaN.
Value emitSilu(Emitter &e, Value x);

/// Sine and cosine of 2 pi `turns` (8 x f64, any size whose fraction is still
/// exact), as 8 x f32 with an error below 3e-7.
struct SinCos {
  Value sine, cosine;
};
SinCos emitSinCosTurns(Emitter &e, Value turns);

} // namespace betz::cpu
