//===- BetzOps.td - The operations ----------------------------------------===//
//
// Each op numbers its constraints (C1, C2, ...); the verifier's diagnostic and
// the test under tests/ir carry the same number.
//
//===----------------------------------------------------------------------===//
#ifndef BETZ_OPS_TD
#define BETZ_OPS_TD

include "ir/BetzDialect.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "mlir/IR/RegionKindInterface.td"

def Betz_Float : AnyTypeOf<[F32, BF16]>;
def Betz_FloatTensor : RankedTensorOf<[Betz_Float]>;
def Betz_IndexTensor : RankedTensorOf<[I32]>;
def Betz_AnyTensor : RankedTensorOf<[F32, BF16, I8, I32]>;

/// A pure op of the model phase; it may also stand inside a kernel.
class Betz_TensorOp<string mnemonic> : Betz_Op<mnemonic, [Pure]> {
  let assemblyFormat =
      "operands attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Ragged input
//===----------------------------------------------------------------------===//

def Betz_SegmentSubOp : Betz_TensorOp<"segment_sub"> {
  let summary = "Subtract from each element its segment's base";
  let description = [{
    `result[e] = values[e] - base[s]` where `row_splits[s] <= e <
    row_splits[s + 1]`. Makes times relative to their window's start.

    - C1: `values` is `i32[E]`, the result has the same type.
    - C2: `base` is `i32[B]` and `row_splits` is `i32[B + 1]` of one symbol.

    ```mlir
    %t = betz.segment_sub %time, %start, %splits
        : (tensor<?xi32, #betz.rows<"events">>,
           tensor<?xi32, #betz.rows<"batch">>,
           tensor<?xi32, #betz.rows<"batch" + 1>>)
        -> tensor<?xi32, #betz.rows<"events">>
    ```
  }];
  let arguments = (ins Betz_IndexTensor:$values, Betz_IndexTensor:$base,
      Betz_IndexTensor:$row_splits);
  let results = (outs Betz_IndexTensor:$result);
}

def Betz_GatherSumOp : Betz_Op<"gather_sum", [Pure, AttrSizedOperandSegments]> {
  let summary = "Sum of table rows";
  let description = [{
    `result[e, :] = sum over k of tables[k][indices[k][e], :]`: an embedding
    lookup of several tables at once.

    - C1: as many `indices` as `tables`, at least one.
    - C2: all indices are `i32[E]` or `i32[B, Q]`, of one type.
    - C3: all tables are float `[*, D]` of one D and element type.
    - C4: the result has the shape of an index and D columns.

    ```mlir
    %x = betz.gather_sum (%n, %v) in (%neuron, %value) : ...
    ```
  }];
  let arguments = (ins Variadic<Betz_IndexTensor>:$indices,
      Variadic<Betz_FloatTensor>:$tables);
  let results = (outs Betz_FloatTensor:$result);
  let assemblyFormat = [{
    `(` $indices `)` `in` `(` $tables `)` attr-dict
    `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

def Betz_NormOp : Betz_Op<"norm", [Pure]> {
  let summary = "LayerNorm or RMSNorm of each row";
  let description = [{
    Over the last dimension, with population variance:
    `layer`: `(x - mean) / sqrt(var + eps) * gain + shift`;
    `rms`: `x / sqrt(mean(x^2) + eps) * gain + shift`.

    - C1: `gain`, and `shift` where given, are `[D]` for `x: [..., D]`.
    - C2: the result has the type of `x`.
    - C3: `eps` is positive.

    ```mlir
    %y = betz.norm rms %x, %g {eps = 1.0e-5 : f64}
        : (tensor<?x64xf32, #betz.rows<"events">>, tensor<64xf32>)
        -> tensor<?x64xf32, #betz.rows<"events">>
    ```
  }];
  let arguments = (ins Betz_FloatTensor:$x, Betz_FloatTensor:$gain,
      Optional<Betz_FloatTensor>:$shift, Betz_NormKindAttr:$kind,
      F64Attr:$eps);
  let results = (outs Betz_FloatTensor:$result);
  let assemblyFormat = [{
    `` $kind $x `,` $gain (`,` $shift^)? attr-dict
    `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def Betz_NormScaleOp : Betz_Op<"norm_scale", [Pure]> {
  let summary = "The factor that a norm multiplies each row by";
  let description = [{
    `layer`: `1 / sqrt(var + eps)`; `rms`: `1 / sqrt(mean(x^2) + eps)`, over the
    last dimension. With it a norm is split into a factor and a linear map,
    which the weights behind it take in.

    - C1: `x` is `[..., D]` of rank two or more, the result `[..., 1]` of the
      same element type or f32.
    - C2: `eps` is positive.

    ```mlir
    %s = betz.norm_scale rms %x {eps = 1.0e-5 : f64}
        : (tensor<?x64xf32, #betz.rows<"events">>)
        -> tensor<?x1xf32, #betz.rows<"events">>
    ```
  }];
  let arguments = (ins Betz_FloatTensor:$x, Betz_NormKindAttr:$kind,
      F64Attr:$eps);
  let results = (outs Betz_FloatTensor:$result);
  let assemblyFormat =
      "`` $kind $x attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Betz_SquareSumsOp : Betz_Op<"square_sums", [Pure]> {
  let summary = "Sums of squares of neighbouring columns";
  let description = [{
    `result[..., j] = sum(x[..., group j + i]^2)` over `i` below `group`: what a
    kernel can leave of the rows that it writes, so that an RMSNorm's factor
    needs no second look at them.

    - C1: `x` is `[..., D]` of rank two or more, `group` positive and a divisor
      of D, the result `[..., D / group]` of the same element type or f32.

    ```mlir
    %q = betz.square_sums %x {group = 32 : i64}
        : (tensor<?x64xbf16, #betz.rows<"batch">>)
        -> tensor<?x2xf32, #betz.rows<"batch">>
    ```
  }];
  let arguments = (ins Betz_FloatTensor:$x, I64Attr:$group);
  let results = (outs Betz_FloatTensor:$result);
  let assemblyFormat =
      "$x attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Betz_ScaleFromSquaresOp : Betz_Op<"scale_from_squares", [Pure]> {
  let summary = "An RMSNorm's factor of each row from sums of squares";
  let description = [{
    `1 / sqrt(sum(squares[..., :]) / columns + eps)`: norm_scale of rows of
    `columns` columns of which square_sums is known.

    - C1: `squares` is `[..., G]` of rank two or more, the result `[..., 1]` of
      the same element type.
    - C2: `columns` and `eps` are positive.

    ```mlir
    %s = betz.scale_from_squares %q {columns = 64 : i64, eps = 1.0e-5 : f64}
        : (tensor<?x2xf32, #betz.rows<"batch">>)
        -> tensor<?x1xf32, #betz.rows<"batch">>
    ```
  }];
  let arguments = (ins Betz_FloatTensor:$squares, I64Attr:$columns,
      F64Attr:$eps);
  let results = (outs Betz_FloatTensor:$result);
  let assemblyFormat =
      "$squares attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Betz_ScaleRowsOp : Betz_TensorOp<"scale_rows"> {
  let summary = "Each row times its factor";
  let description = [{
    `result[..., j] = x[..., j] * scale[..., 0]`.

    - C1: `scale` is `[..., 1]` for `x: [..., D]`, of the same element type or
      f32.
    - C2: the result has the type of `x`.
  }];
  let arguments = (ins Betz_FloatTensor:$x, Betz_FloatTensor:$scale);
  let results = (outs Betz_FloatTensor:$result);
}

def Betz_MatmulOp : Betz_TensorOp<"matmul"> {
  let summary = "Rows times a transposed weight matrix";
  let description = [{
    `result[..., n] = sum over k of x[..., k] * weight[n, k]`, the layout of
    PyTorch's Linear. With `columns = N` the weight is packed by
    `betz.pack_panels`: `weight[n / P, k, n % P]`.

    - C1: `weight` is `[N, K]`, or `[ceil(N / P), K, P]` with `columns`.
    - C2: `x` is `[..., K]` of rank two or more.
    - C3: the result is `[..., N]`.

    ```mlir
    %y = betz.matmul %x, %w
        : (tensor<?x24x64xf32, #betz.rows<"batch">>, tensor<192x64xf32>)
        -> tensor<?x24x192xf32, #betz.rows<"batch">>
    ```
  }];
  let arguments = (ins Betz_FloatTensor:$x, Betz_FloatTensor:$weight,
      OptionalAttr<I64Attr>:$columns);
  let results = (outs Betz_FloatTensor:$result);
  let extraClassDeclaration = [{
    /// N: columns of the result.
    int64_t getOutputColumns();
  }];
}

def Betz_PackPanelsOp : Betz_TensorOp<"pack_panels"> {
  let summary = "Lay a weight matrix out in column panels";
  let description = [{
    `result[p, k, j] = weight[p * P + j, k]`, zero where `p * P + j >= N`: the
    layout that CPU matmul kernels stream.

    - C1: `weight` is a constant `[N, K]`, `panel` (P) is positive.
    - C2: the result is `[ceil(N / P), K, P]`.

    ```mlir
    %p = betz.pack_panels %w {panel = 16 : i64}
        : (tensor<192x64xf32>) -> tensor<12x64x16xf32>
    ```
  }];
  let arguments = (ins Betz_FloatTensor:$weight, I64Attr:$panel);
  let results = (outs Betz_FloatTensor:$result);
}

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

/// An op over the keys that each query sees: `tensors`, written as `syntax`,
/// and what attention is described by.
class Betz_AttentionLikeOp<string mnemonic, dag tensors, string syntax>
    : Betz_Op<mnemonic, [Pure, AttrSizedOperandSegments]> {
  let arguments = !con(tensors, (ins Optional<Betz_IndexTensor>:$row_splits,
      Optional<Betz_IndexTensor>:$key_time, Optional<Betz_IndexTensor>:$bounds,
      Optional<Betz_IndexTensor>:$block_map, I64Attr:$heads, I64Attr:$kv_heads,
      F64Attr:$scale, UnitAttr:$causal, OptionalAttr<I64Attr>:$map_block,
      OptionalAttr<Betz_SparsityAttr>:$sparsity));
  let results = (outs Betz_FloatTensor:$result);
  let assemblyFormat = syntax # [{
    (`splits` $row_splits^)? (`bounds` $key_time^ `,` $bounds)?
    (`blocks` $block_map^)? attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def Betz_AttentionOp : Betz_AttentionLikeOp<"attention",
    (ins Betz_FloatTensor:$q, Betz_FloatTensor:$k, Betz_FloatTensor:$v),
    "$q `,` $k `,` $v"> {
  let summary = "Multi-head scaled dot-product attention";
  let description = [{
    For each batch element and head, `softmax(scale * q k^T) v` over the keys
    that the query sees; a query that sees no key gives zeros. Head `h` of a row
    is columns `[h * d, (h + 1) * d)`; with `kv_heads < heads`, query head `h`
    reads key head `h / (heads / kv_heads)`.

    Keys are dense (`[B, N, kv_heads * d]`) or ragged (`[E, kv_heads * d]`
    beside `row_splits`: batch element `b` sees rows `row_splits[b]` up to
    `row_splits[b + 1]`). A query without a batch dimension (`[L, heads * d]`)
    is shared by all. What a query sees may be narrowed by time: with `key_time`
    (`i32[E]`) and `bounds` (`i32[L, 2]`), query `l` sees key `e` if `bounds[l,
    0] <= key_time[e] <= bounds[l, 1]`; with `causal`, key `j <= i + N - L`; with
    `block_map` (`i32[ceil(L / map_block), M]`), query `l` sees the j-th key of
    its batch element if `j / map_block < M` and `block_map[l / map_block, j /
    map_block]` is not zero.

    - C1: `heads` divides the query's columns, `kv_heads` divides `heads`.
    - C2: `k` and `v` are of one type, `kv_heads * d` columns.
    - C3: ragged keys are rank 2 with `row_splits`, dense ones rank 3 without.
    - C4: `key_time` and `bounds` come together, and with ragged keys only.
    - C5: the result is `[B, L, heads * d]`.
    - C6: `causal` goes with dense keys only.
    - C7: `block_map` is a constant `i32[ceil(L / map_block), *]`, `map_block` is
      a multiple of 64; both come together.

    ```mlir
    %o = betz.attention %q, %k, %v splits %s bounds %t, %b
        {heads = 4 : i64, kv_heads = 4 : i64, scale = 0.25 : f64} : ...
    ```
  }];
}

def Betz_RotaryOp : Betz_TensorOp<"rotary"> {
  let summary = "Rotary position embedding";
  let description = [{
    In each of `heads` groups of d columns, the pair `(i, i + d/2)` turns by
    `2 pi * t / period(i)`, where `t = (position + offset) * step` and
    `period(i) = period_min * (period_max / period_min)^(i / max(d/2 - 1, 1))`.
    Phases are computed in f64. `position` is i32, one a row of `x: [E, D]`;
    without it the position is the index along the dimension before the last.

    - C1: `heads` divides D, and d is even.
    - C2: `position` is `i32[E]` for `x: [E, D]`.
    - C3: the result has the type of `x`.
    - C4: periods are positive and finite.
  }];
  let arguments = (ins Betz_FloatTensor:$x, Optional<Betz_IndexTensor>:$position,
      I64Attr:$heads, F64Attr:$offset, F64Attr:$step, F64Attr:$period_min,
      F64Attr:$period_max);
  let results = (outs Betz_FloatTensor:$result);
}

def Betz_ReachBoundsOp : Betz_TensorOp<"reach_bounds"> {
  let summary = "The integer times that evenly spread queries reach";
  let description = [{
    Query `l` of L lies at `c = (l + 0.5) * span / L`. `result[l] = (lo, hi)`
    are the first and last integers t with `|t + 0.5 - c| <= reach`, decided in
    f64; `lo > hi` when there is none.

    - C1: the result is a constant `i32[L, 2]`.
    - C2: `span` and `reach` are positive.
  }];
  let arguments = (ins F64Attr:$span, F64Attr:$reach);
  let results = (outs Betz_IndexTensor:$result);
}

//===----------------------------------------------------------------------===//
// Elementwise
//===----------------------------------------------------------------------===//

class Betz_BinaryOp<string mnemonic>
    : Betz_Op<mnemonic, [Pure, Betz_Elementwise]> {
  let arguments = (ins Betz_FloatTensor:$lhs, Betz_FloatTensor:$rhs);
  let results = (outs Betz_FloatTensor:$result);
  let assemblyFormat =
      "operands attr-dict `:` functional-type(operands, results)";
}

class Betz_UnaryOp<string mnemonic>
    : Betz_Op<mnemonic, [Pure, Betz_Elementwise]> {
  let arguments = (ins Betz_FloatTensor:$x);
  let results = (outs Betz_FloatTensor:$result);
  let assemblyFormat =
      "operands attr-dict `:` functional-type(operands, results)";
}

def Betz_AddOp : Betz_BinaryOp<"add"> {
  let summary = "Elementwise sum";
  let description = [{
    `lhs + rhs`; `rhs` may lack leading dimensions, and is then repeated.

    - C1: the shape of `rhs` is a suffix of the shape of `lhs`.
    - C2: the result has the type of `lhs`.
  }];
}

def Betz_MulOp : Betz_BinaryOp<"mul"> {
  let summary = "Elementwise product";
  let description = [{
    `lhs * rhs`; `rhs` may lack leading dimensions, and is then repeated.

    - C1: the shape of `rhs` is a suffix of the shape of `lhs`.
    - C2: the result has the type of `lhs`.
  }];
}

def Betz_GeluOp : Betz_UnaryOp<"gelu"> {
  let summary = "Exact Gaussian error linear unit";
  let description = [{
    `x / 2 * (1 + erf(x / sqrt(2)))`.

    - C1: the result has the type of `x`.
  }];
}

def Betz_SiluOp : Betz_UnaryOp<"silu"> {
  let summary = "Sigmoid linear unit";
  let description = [{
    `x / (1 + exp(-x))`: infinity stays infinity, minus infinity gives NaN, as
    the formula does.

    - C1: the result has the type of `x`.
  }];
}

//===----------------------------------------------------------------------===//
// Element types
//===----------------------------------------------------------------------===//

def Betz_CastOp : Betz_TensorOp<"cast"> {
  let summary = "The same values in another float type";
  let description = [{
    The identity in real arithmetic. In memory the result is rounded to its type
    (to nearest even); inside a kernel values are f32 whatever their type.

    - C1: the result has the shape of `x`.
    - C2: the element types differ.

    ```mlir
    %y = betz.cast %x : (tensor<24x64xf32>) -> tensor<24x64xbf16>
    ```
  }];
  let arguments = (ins Betz_FloatTensor:$x);
  let results = (outs Betz_FloatTensor:$result);
}

//===----------------------------------------------------------------------===//
// Weights
//===----------------------------------------------------------------------===//

def Betz_FillOp : Betz_TensorOp<"fill"> {
  let summary = "A constant tensor of one value";
  let description = [{
    - C1: the result has a constant shape.
  }];
  let arguments = (ins F64Attr:$value);
  let results = (outs Betz_FloatTensor:$result);
}

def Betz_SubtractMeanOp : Betz_TensorOp<"subtract_mean"> {
  let summary = "Take a weight's mean along one dimension away";
  let description = [{
    `result = x - mean(x, dim)`. Along dimension 0 of a weight `[N, K]` it
    centres what the weight writes; along the last, what it reads.

    - C1: `x` has a constant shape and the dimension `dim`.
    - C2: the result has the type of `x`.
  }];
  let arguments = (ins Betz_FloatTensor:$x, I64Attr:$dim);
  let results = (outs Betz_FloatTensor:$result);
}

def Betz_TransposeOp : Betz_TensorOp<"transpose"> {
  let summary = "A weight's transpose";
  let description = [{
    - C1: `x` is a constant `[N, K]`, the result `[K, N]`.
  }];
  let arguments = (ins Betz_FloatTensor:$x);
  let results = (outs Betz_FloatTensor:$result);
}

def Betz_ConcatOp : Betz_TensorOp<"concat"> {
  let summary = "Weights one below the other";
  let description = [{
    - C1: at least one operand; all are constant `[*, K]` of one K and type.
    - C2: the result is `[sum of rows, K]`.
  }];
  let arguments = (ins Variadic<Betz_FloatTensor>:$parts);
  let results = (outs Betz_FloatTensor:$result);
}

def Betz_ExpandHeadsOp : Betz_TensorOp<"expand_heads"> {
  let summary = "One row a head, zero outside the head's columns";
  let description = [{
    `result[n * heads + h, c] = x[n, c]` where column c belongs to head h, else
    zero: a product with it sums over one head only.

    - C1: `x` is a constant `[N, D]`, `heads` divides D.
    - C2: the result is `[N * heads, D]`.
  }];
  let arguments = (ins Betz_FloatTensor:$x, I64Attr:$heads);
  let results = (outs Betz_FloatTensor:$result);
}

//===----------------------------------------------------------------------===//
// Views
//===----------------------------------------------------------------------===//

def Betz_SliceOp : Betz_TensorOp<"slice"> {
  let summary = "A range of columns";
  let description = [{
    Columns `[offset, offset + size)` of the last dimension, size being the
    result's. A view: it moves no data in the program phase.

    - C1: the range lies inside the last dimension.
    - C2: the result differs from `x` in its last dimension only.
  }];
  let arguments = (ins Betz_AnyTensor:$x, I64Attr:$offset);
  let results = (outs Betz_AnyTensor:$result);
}

def Betz_ReshapeOp : Betz_TensorOp<"reshape"> {
  let summary = "The same elements in another shape";
  let description = [{
    A view: it moves no data in the program phase.

    - C1: both shapes hold the same number of elements a row, and the leading
      dimension, if it is dynamic, is the same.
    - C2: element types are equal.
  }];
  let arguments = (ins Betz_AnyTensor:$x);
  let results = (outs Betz_AnyTensor:$result);
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

/// For each bucket, one arena offset a result.
def Betz_OffsetsAttr
    : TypedArrayAttrBase<DenseI64ArrayAttr, "arena offsets by bucket">;

def Betz_KernelOp : Betz_Op<"kernel", [IsolatedFromAbove, Pure,
    SingleBlockImplicitTerminator<"YieldOp">]> {
  let summary = "A fusion group: one launch";
  let description = [{
    The body holds model ops over the block's arguments, which stand for the
    operands in order; `betz.yield` gives the results. Its family says which
    code generator lowers it. In the program phase `offsets` holds, for each
    bucket, the arena byte offset of each result, or -1 for a result that is an
    output of the step.

    - C1: block arguments match the operands' types.
    - C2: yielded values match the results' types.
    - C3: a matmul, attention or gather kernel holds exactly one op of that
      kind, a row kernel one norm; an elementwise kernel none of these.
    - C4: before that one may stand a norm or factor (norm_scale,
      scale_from_squares) of a matmul's rows, nothing else.

    ```mlir
    %y = betz.kernel matmul "blocks.0.mlp.0" (%x, %w) : (...) -> ... {
    ^bb0(%a: ..., %b: ...):
      %m = betz.matmul %a, %b : ...
      %g = betz.gelu %m : ...
      betz.yield %g : ...
    }
    ```
  }];
  let arguments = (ins Variadic<Betz_AnyTensor>:$inputs,
      Betz_FamilyAttr:$family, StrAttr:$name,
      OptionalAttr<Betz_OffsetsAttr>:$offsets);
  let results = (outs Variadic<Betz_AnyTensor>:$outputs);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    `` $family $name `(` $inputs `)` attr-dict
    `:` functional-type($inputs, $outputs) $body
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The op that gives the kernel its family; null for elementwise kernels.
    ::mlir::Operation *getAnchor();
    /// Model section it came from ("" if none).
    ::llvm::StringRef getSection();
  }];
}

def Betz_YieldOp : Betz_Op<"yield", [Pure, Terminator,
    ParentOneOf<["KernelOp"]>]> {
  let summary = "Ends a kernel";
  let arguments = (ins Variadic<Betz_AnyTensor>:$values);
  let builders = [OpBuilder<(ins), [{ /* no values */ }]>];
  let assemblyFormat = "attr-dict ($values^ `:` type($values))?";
}

include "ir/TrainingOps.td"

#endif // BETZ_OPS_TD
