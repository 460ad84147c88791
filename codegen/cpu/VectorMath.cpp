#include "codegen/cpu/VectorMath.h"

namespace betz::cpu {

namespace arith = mlir::arith;

/// Horner's rule, coefficients from the constant term up.
static Value emitPolynomial(Emitter &e, Value x,
                            llvm::ArrayRef<double> coefficients) {
  Value sum = e.splatLike(x, coefficients.back());
  for (double c : llvm::reverse(coefficients.drop_back()))
    sum = e.fma(sum, x, e.splatLike(x, c));
  return sum;
}

Value emitExp(Emitter &e, Value x) {
  // x = n ln 2 + r with |r| <= ln 2 / 2; e^r by a Chebyshev interpolation,
  // 2^n through the exponent bits. ln 2 is split in two so that r is exact.
  // NaN takes the second operand of fmin and fmax, so x stands there.
  Value low = e.fmax(e.splatLike(x, -87.0), x);
  Value clamped = e.fmin(e.splatLike(x, 88.0), low);
  Value n = e.round(e.fmul(clamped, e.splatLike(x, 1.4426950408889634)));
  Value r = e.fma(n, e.splatLike(x, -0.693359375), clamped);
  r = e.fma(n, e.splatLike(x, 2.12194440054690583e-4), r);
  Value power =
      emitPolynomial(e, r,
                     {1.0, 1.000000040, 5.000000050e-01, 1.666640542e-01,
                      4.166634029e-02, 8.375958627e-03, 1.394214788e-03});
  int64_t lanes = Emitter::lanesOf(x);
  Value exponent = e.builder.create<arith::FPToSIOp>(
      e.where, e.vectorType(e.builder.getI32Type(), lanes), n);
  Value biased = e.builder.create<arith::AddIOp>(e.where, exponent,
                                                 e.splatInteger(127, lanes));
  Value bits = e.builder.create<arith::ShLIOp>(e.where, biased,
                                               e.splatInteger(23, lanes));
  Value scale = e.builder.create<arith::BitcastOp>(e.where, x.getType(), bits);
  return e.fmul(power, scale);
}

/// erf by a rational minimax fit on [-3.95, 3.95]; 1 - erf(3.95) < 3e-8.
static Value emitErf(Emitter &e, Value x) {
  Value low = e.fmax(e.splatLike(x, -3.95), x);
  Value t = e.fmin(e.splatLike(x, 3.95), low);
  Value square = e.fmul(t, t);
  Value above =
      emitPolynomial(e, square,
                     {1.128379007, 1.940142862e-01, 5.320427087e-02,
                      3.916404996e-03, 2.875808146e-04, 2.011920293e-06});
  Value below =
      emitPolynomial(e, square,
                     {1.0, 5.052721794e-01, 1.155819374e-01, 1.526888363e-02,
                      1.197980252e-03, 3.784050554e-05});
  Value y = e.fdiv(e.fmul(t, above), below);
  return e.fmax(e.splatLike(x, -1.0), e.fmin(e.splatLike(x, 1.0), y));
}

Value emitGelu(Emitter &e, Value x) {
  Value erf = emitErf(e, e.fmul(x, e.splatLike(x, 0.70710678118654752)));
  Value half = e.fmul(x, e.splatLike(x, 0.5));
  return e.fma(half, erf, half);
}

Value emitSilu(Emitter &e, Value x) {
  // emitExp stays finite; the square of half the way does overflow, so that
  // what lies far below zero gives zero and minus infinity gives NaN.
  Value half = emitExp(e, e.fmul(x, e.splatLike(x, -0.5)));
  return e.fdiv(x, e.fma(half, half, e.splatLike(x, 1.0)));
}

Value emitLog(Emitter &e, Value x) {
  // x = m 2^n with m in [sqrt 1/2, sqrt 2); log m = 2 artanh((m - 1) / (m + 1))
  // by its power series, whose argument is at most 0.172.
  int64_t lanes = Emitter::lanesOf(x);
  mlir::VectorType integers = e.vectorType(e.builder.getI32Type(), lanes);
  Value bits = e.builder.create<arith::BitcastOp>(e.where, integers, x);
  // The bits of sqrt 1/2 go, so that the exponent's carry falls there.
  constexpr int64_t kRootHalf = 0x3f3504f3;
  Value shifted = e.sub(bits, e.splatInteger(kRootHalf, lanes));
  Value n = e.builder.create<arith::ShRSIOp>(e.where, shifted,
                                             e.splatInteger(23, lanes));
  Value scaled =
      e.builder.create<arith::ShLIOp>(e.where, n, e.splatInteger(23, lanes));
  Value m = e.builder.create<arith::BitcastOp>(e.where, x.getType(),
                                               e.sub(bits, scaled));
  Value one = e.splatLike(x, 1);
  Value s = e.fdiv(e.fsub(m, one), e.fadd(m, one));
  Value square = e.fmul(s, s);
  Value series = emitPolynomial(
      e, square, {2.0, 2.0 / 3, 2.0 / 5, 2.0 / 7, 2.0 / 9, 2.0 / 11});
  Value exponent = e.builder.create<arith::SIToFPOp>(e.where, x.getType(), n);
  return e.fma(exponent, e.splatLike(x, 0.69314718055994531),
               e.fmul(s, series));
}

Value emitSigmoid(Emitter &e, Value x) {
  // As in silu, what lies far below zero overflows and gives zero.
  Value half = emitExp(e, e.fmul(x, e.splatLike(x, -0.5)));
  Value one = e.splatLike(x, 1.0);
  return e.fdiv(one, e.fma(half, half, one));
}

Value emitTanh(Emitter &e, Value x) {
  // Up to 1/4 the difference from 1 would cancel; the power series is short.
  Value square = e.fmul(x, x), one = e.splatLike(x, 1.0);
  Value series = e.fmul(
      x, emitPolynomial(e, square,
                        {1.0, -1.0 / 3, 2.0 / 15, -17.0 / 315, 62.0 / 2835}));
  Value whole = emitExp(e, e.fmul(x, e.splatLike(x, 2.0)));
  Value far = e.fsub(one, e.fdiv(e.splatLike(x, 2.0), e.fadd(whole, one)));
  Value isNear = e.builder.create<arith::CmpFOp>(
      e.where, arith::CmpFPredicate::OLT, square, e.splatLike(x, 1.0 / 16));
  return e.select(isNear, series, far);
}

Value emitGeluSlope(Emitter &e, Value x) {
  // e^(-x^2 / 4) squared, so that it reaches zero.
  Value root = emitExp(e, e.fmul(e.fmul(x, x), e.splatLike(x, -0.25)));
  Value density =
      e.fmul(e.fmul(root, root), e.splatLike(x, 0.3989422804014327));
  Value erf = emitErf(e, e.fmul(x, e.splatLike(x, 0.70710678118654752)));
  Value half = e.splatLike(x, 0.5);
  return e.fma(x, density, e.fma(half, erf, half));
}

Value emitSiluSlope(Emitter &e, Value x) {
  Value s = emitSigmoid(e, x), one = e.splatLike(x, 1.0);
  return e.fmul(s, e.fma(x, e.fsub(one, s), one));
}

SinCos emitSinCosTurns(Emitter &e, Value turns) {
  // The fraction in [-1/2, 1/2] turns is exact in f64; half its angle lies in
  // [-pi/2, pi/2], where Taylor series reach f32's precision; the double-angle
  // formulas give the whole.
  Value fraction64 = e.fsub(turns, e.round(turns));
  Value fraction =
      e.builder.create<arith::TruncFOp>(e.where, e.vectorF32(), fraction64);
  Value a = e.fmul(fraction, e.splat(3.14159265358979324));
  Value square = e.fmul(a, a);
  Value sine = e.fmul(
      a, emitPolynomial(e, square,
                        {1.0, -1.0 / 6, 1.0 / 120, -1.0 / 5040, 1.0 / 362880,
                         -1.0 / 39916800, 1.0 / 6227020800.0}));
  Value cosine =
      emitPolynomial(e, square,
                     {1.0, -1.0 / 2, 1.0 / 24, -1.0 / 720, 1.0 / 40320,
                      -1.0 / 3628800, 1.0 / 479001600.0, -1.0 / 87178291200.0});
  Value twice = e.fmul(sine, e.splat(2.0));
  return {e.fmul(twice, cosine), e.fsub(e.splat(1.0), e.fmul(twice, sine))};
}

} // namespace betz::cpu
