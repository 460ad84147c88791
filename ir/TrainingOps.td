//===- TrainingOps.td - Gradients, losses and the optimizer ---------------===//
//
// Included by BetzOps.td, which numbers constraints the same way.
//
//===----------------------------------------------------------------------===//
#ifndef BETZ_TRAINING_OPS_TD
#define BETZ_TRAINING_OPS_TD

def Betz_F32Tensor : RankedTensorOf<[F32]>;

//===----------------------------------------------------------------------===//
// Sums over rows
//===----------------------------------------------------------------------===//

def Betz_ContractRowsOp : Betz_TensorOp<"contract_rows"> {
  let summary = "Sum over rows of the outer products of two tensors' rows";
  let description = [{
    `result[n, k] = sum over r of a[r, n] * b[r, k]`, where r runs over all
    leading dimensions: the gradient of a matmul's weight.

    - C1: `a` and `b` are of rank two or more and differ in their last dimension
      only.
    - C2: the result is a constant `[N, K]` of the operands' element type or
      f32.

    ```mlir
    %dw = betz.contract_rows %dy, %x
        : (tensor<?x192xf32, #betz.rows<"events">>,
           tensor<?x64xf32, #betz.rows<"events">>) -> tensor<192x64xf32>
    ```
  }];
  let arguments = (ins Betz_FloatTensor:$a, Betz_FloatTensor:$b);
  let results = (outs Betz_FloatTensor:$result);
}

def Betz_ColumnSumOp : Betz_TensorOp<"column_sum"> {
  let summary = "Sum over all leading dimensions";
  let description = [{
    `result[c] = sum over r of x[r, c]`: the gradient of what is repeated along
    rows.

    - C1: `x` is `[..., C]` of rank two or more, the result a constant `[C]` of
      its element type or f32.
  }];
  let arguments = (ins Betz_FloatTensor:$x);
  let results = (outs Betz_FloatTensor:$result);
}

def Betz_ScatterSumOp : Betz_TensorOp<"scatter_sum"> {
  let summary = "Sum of the rows that share an index";
  let description = [{
    `result[r, :] = sum over e with index[e] = r of x[e, :]`: the gradient of a
    table that gather_sum reads.

    - C1: `index` is `i32[E]` or `i32[B, Q]`, `x` has its shape and D columns.
    - C2: the result is a constant `[R, D]` of the element type of `x` or f32.
  }];
  let arguments = (ins Betz_IndexTensor:$index, Betz_FloatTensor:$x);
  let results = (outs Betz_FloatTensor:$result);
}

def Betz_SquareSumOp : Betz_TensorOp<"square_sum"> {
  let summary = "Sum of the squares of all elements";
  let description = [{
    - C1: the result is `f32[1]`.
  }];
  let arguments = (ins Betz_FloatTensor:$x);
  let results = (outs Betz_F32Tensor:$result);
}

//===----------------------------------------------------------------------===//
// Columns
//===----------------------------------------------------------------------===//

def Betz_JoinColumnsOp : Betz_TensorOp<"join_columns"> {
  let summary = "Parts side by side along the last dimension";
  let description = [{
    Part `i` lies at columns `offsets[i]` and following of the result; columns
    that no part covers are zero. The gradient of slices of one value, and, with
    parts of rank one, of many vectors in one.

    - C1: at least one part; an offset for each.
    - C2: each part differs from the result in its last dimension only.
    - C3: parts lie inside the result, in rising order, and do not overlap.

    ```mlir
    %g = betz.join_columns %dk, %dv {offsets = array<i64: 0, 64>}
        : (tensor<?x64xf32, #betz.rows<"events">>,
           tensor<?x64xf32, #betz.rows<"events">>)
        -> tensor<?x128xf32, #betz.rows<"events">>
    ```
  }];
  let arguments = (ins Variadic<Betz_FloatTensor>:$parts,
      DenseI64ArrayAttr:$offsets);
  let results = (outs Betz_FloatTensor:$result);
}

//===----------------------------------------------------------------------===//
// Elementwise
//===----------------------------------------------------------------------===//

def Betz_SubOp : Betz_BinaryOp<"sub"> {
  let summary = "Elementwise difference";
  let description = [{
    `lhs - rhs`; `rhs` may lack leading dimensions, and is then repeated.

    - C1: the shape of `rhs` is a suffix of the shape of `lhs`.
    - C2: the result has the type of `lhs`.
  }];
}

def Betz_SigmoidOp : Betz_UnaryOp<"sigmoid"> {
  let summary = "Logistic function";
  let description = [{
    `1 / (1 + exp(-x))`.

    - C1: the result has the type of `x`.
  }];
}

def Betz_TanhOp : Betz_UnaryOp<"tanh"> {
  let summary = "Hyperbolic tangent";
  let description = [{
    - C1: the result has the type of `x`.
  }];
}

def Betz_GeluGradOp : Betz_BinaryOp<"gelu_grad"> {
  let summary = "A gradient times gelu's slope";
  let description = [{
    `rhs * (Phi(lhs) + lhs * phi(lhs))`, where `Phi(x) = (1 + erf(x / sqrt(2))) /
    2` and `phi(x) = exp(-x^2 / 2) / sqrt(2 pi)`: `lhs` is what gelu read, `rhs`
    the gradient of what it gave.

    - C1: the shape of `rhs` is a suffix of the shape of `lhs`.
    - C2: the result has the type of `lhs`.
  }];
}

def Betz_SiluGradOp : Betz_BinaryOp<"silu_grad"> {
  let summary = "A gradient times silu's slope";
  let description = [{
    `rhs * s * (1 + lhs * (1 - s))`, where `s = 1 / (1 + exp(-lhs))`: `lhs` is
    what silu read, `rhs` the gradient of what it gave.

    - C1: the shape of `rhs` is a suffix of the shape of `lhs`.
    - C2: the result has the type of `lhs`.
  }];
}

def Betz_DropoutOp : Betz_TensorOp<"dropout"> {
  let summary = "Each element kept and scaled up, or zero";
  let description = [{
    `result[i] = x[i] / (1 - rate)` where `random(i) >= floor(rate * 2^32)`, else
    zero; i is the row-major index of the element. Its own gradient is the same
    op of the gradient. In arithmetic modulo 2^32, with the 32-bit finalizer of
    MurmurHash3,

    ```text
    mix(u): u += 0x9e3779b9
            u ^= u >> 16; u *= 0x85ebca6b
            u ^= u >> 13; u *= 0xc2b2ae35
            u ^= u >> 16
    key       = mix(seed[0] + mix(seed[1] + mix(site)))
    random(i) = mix(key ^ mix(i))
    ```

    so that a step's seed and the place in the model decide the mask, and
    nothing else.

    - C1: `seed` is `i32[2]`.
    - C2: the result has the type of `x`.
    - C3: `rate` is at least 0 and below 1, `site` is not negative.
  }];
  let arguments = (ins Betz_FloatTensor:$x, Betz_IndexTensor:$seed,
      F64Attr:$rate, I64Attr:$site);
  let results = (outs Betz_FloatTensor:$result);
}

//===----------------------------------------------------------------------===//
// Gradients of rows and attention
//===----------------------------------------------------------------------===//

def Betz_NormGradOp : Betz_Op<"norm_grad", [Pure]> {
  let summary = "The gradient of what a norm read";
  let description = [{
    With `n` the row that the norm gives for a gain of ones and no shift, `g =
    dy * gain` and `s` the row's norm_scale:
    `layer`: `s * (g - mean(g) - n * mean(g * n))`;
    `rms`: `s * (g - n * mean(g * n))`.

    - C1: `gain` is `[D]` for `x: [..., D]`.
    - C2: `dy` and the result have the type of `x`.
    - C3: `eps` is positive.

    ```mlir
    %dx = betz.norm_grad rms %x, %g, %dy {eps = 1.0e-5 : f64}
        : (tensor<?x64xf32, #betz.rows<"events">>, tensor<64xf32>,
           tensor<?x64xf32, #betz.rows<"events">>)
        -> tensor<?x64xf32, #betz.rows<"events">>
    ```
  }];
  let arguments = (ins Betz_FloatTensor:$x, Betz_FloatTensor:$gain,
      Betz_FloatTensor:$dy, Betz_NormKindAttr:$kind, F64Attr:$eps);
  let results = (outs Betz_FloatTensor:$result);
  let assemblyFormat = [{
    `` $kind $x `,` $gain `,` $dy attr-dict
    `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def Betz_HeadDotsOp : Betz_TensorOp<"head_dots"> {
  let summary = "Dot products of two tensors' heads";
  let description = [{
    `result[..., h] = sum over head h's columns c of a[..., c] * b[..., c]`. Of
    an attention's result and its gradient, it is the `delta` that the
    attention's gradients need.

    - C1: `a` and `b` are of one type, of rank two or more; `heads` divides
      their columns.
    - C2: the result is f32, with `heads` columns.
  }];
  let arguments = (ins Betz_FloatTensor:$a, Betz_FloatTensor:$b,
      I64Attr:$heads);
  let results = (outs Betz_F32Tensor:$result);
}

def Betz_AttentionLseOp : Betz_AttentionLikeOp<"attention_lse",
    (ins Betz_FloatTensor:$q, Betz_FloatTensor:$k), "$q `,` $k"> {
  let summary = "Logarithm of the sum of an attention's exponentials";
  let description = [{
    `result[b, l, h] = log(sum of exp(scale * q k^T))` over the keys that
    `betz.attention` of these operands sees; plus infinity for a query that sees
    none, so that `exp(score - result)`, the weight of a key, is never NaN.

    - C1 to C4, C6, C7: as of `betz.attention`.
    - C5: the result is `f32[B, L, heads]`.
  }];
}

def Betz_AttentionGradQOp : Betz_AttentionLikeOp<"attention_grad_q",
    (ins Betz_FloatTensor:$q, Betz_FloatTensor:$k, Betz_FloatTensor:$v,
      Betz_FloatTensor:$dout, Betz_F32Tensor:$lse, Betz_F32Tensor:$delta),
    "$q `,` $k `,` $v `,` $dout `,` $lse `,` $delta"> {
  let summary = "The gradient of an attention's query";
  let description = [{
    With `p = exp(scale * q k^T - lse)` and `ds = p * (dout v^T - delta)`, `dq =
    scale * ds k` over the keys that the query sees; zeros where it sees none.
    For a query that all batch elements share it is the gradient of each
    element's copy.

    - C1 to C4, C6, C7: as of `betz.attention`.
    - C5: the result is `[B, L, heads * d]`.
    - C8: `dout` has the type of the attention's result, `lse` and `delta` are
      `f32[B, L, heads]`.
  }];
}

def Betz_AttentionGradKvOp : Betz_AttentionLikeOp<"attention_grad_kv",
    (ins Betz_FloatTensor:$q, Betz_FloatTensor:$k, Betz_FloatTensor:$v,
      Betz_FloatTensor:$dout, Betz_F32Tensor:$lse, Betz_F32Tensor:$delta),
    "$q `,` $k `,` $v `,` $dout `,` $lse `,` $delta"> {
  let summary = "The gradients of an attention's keys and values";
  let description = [{
    With p and ds as in `betz.attention_grad_q`, `dk = scale * ds^T q` and `dv =
    p^T dout`, summed over the queries that see the key and over the query heads
    that read the key head; side by side, dk first.

    - C1 to C4, C6, C7: as of `betz.attention`.
    - C5: the result has the rows of `k` and `2 * kv_heads * d` columns.
    - C8: `dout` has the type of the attention's result, `lse` and `delta` are
      `f32[B, L, heads]`.
  }];
}

//===----------------------------------------------------------------------===//
// Losses
//===----------------------------------------------------------------------===//

def Betz_MseLossOp : Betz_TensorOp<"mse_loss"> {
  let summary = "Mean squared error";
  let description = [{
    The mean of `(x - target)^2` over all elements; 0 of no elements.

    - C1: `target` has the type of `x`.
    - C2: the result is `f32[1]`.
  }];
  let arguments = (ins Betz_FloatTensor:$x, Betz_FloatTensor:$target);
  let results = (outs Betz_F32Tensor:$result);
}

def Betz_MseGradOp : Betz_TensorOp<"mse_grad"> {
  let summary = "The gradient of what mse_loss read";
  let description = [{
    `dloss[0] * 2 * (x - target) / elements`.

    - C1: `target` has the type of `x`.
    - C2: the result has the type of `x`.
    - C3: `dloss` is `f32[1]`.
  }];
  let arguments = (ins Betz_FloatTensor:$x, Betz_FloatTensor:$target,
      Betz_F32Tensor:$dloss);
  let results = (outs Betz_FloatTensor:$result);
}

def Betz_CrossEntropyOp : Betz_TensorOp<"cross_entropy"> {
  let summary = "Mean cross-entropy of rows of logits";
  let description = [{
    The mean of `log(sum over c of exp(logits[r, c])) - logits[r, label[r]]` over
    the rows whose label is not negative; 0 if there are none. A label may not
    reach C.

    - C1: `label` is i32 and has the shape of `logits: [..., C]` but for the
      last dimension.
    - C2: the result is `f32[1]`.
  }];
  let arguments = (ins Betz_FloatTensor:$logits, Betz_IndexTensor:$label);
  let results = (outs Betz_F32Tensor:$result);
}

def Betz_CrossEntropyGradOp : Betz_TensorOp<"cross_entropy_grad"> {
  let summary = "The gradient of what cross_entropy read";
  let description = [{
    `dloss[0] * (softmax(logits[r, :]) - onehot(label[r])) / n`, n being the rows
    whose label is not negative; zeros for the others.

    - C1: `label` is i32 and has the shape of `logits: [..., C]` but for the
      last dimension.
    - C2: the result has the type of `logits`.
    - C3: `dloss` is `f32[1]`.
  }];
  let arguments = (ins Betz_FloatTensor:$logits, Betz_IndexTensor:$label,
      Betz_F32Tensor:$dloss);
  let results = (outs Betz_FloatTensor:$result);
}

//===----------------------------------------------------------------------===//
// Optimizer
//===----------------------------------------------------------------------===//

def Betz_AdamwOp : Betz_Op<"adamw", [Pure]> {
  let summary = "One AdamW step of all parameters";
  let description = [{
    `schedule` is (rate, 1 / (1 - beta1^t), 1 / (1 - beta2^t), gradient scale).
    With `norm = schedule[3] * sqrt(grad_squares[0])` and `factor = min(1, clip /
    (norm + 1e-6))`, or 1 if `clip` is 0, each element becomes

    ```text
    g       = grad * schedule[3] * factor
    moment1 = beta1 * moment1 + (1 - beta1) * g
    moment2 = beta2 * moment2 + (1 - beta2) * g^2
    weight  = weight * (1 - rate * weight_decay)
              - rate * moment1 * schedule[1]
                / (sqrt(moment2 * schedule[2]) + eps)
    ```

    The results are the weights and the two moments.

    - C1: `weights`, the moments, `grad` and the three results are of one type
      `f32[P]`.
    - C2: `grad_squares` is `f32[1]`, `schedule` is `f32[4]`.
    - C3: `beta1` and `beta2` are at least 0 and below 1, `eps` is positive,
      `weight_decay` and `clip` are not negative.
  }];
  let arguments = (ins Betz_F32Tensor:$weights, Betz_F32Tensor:$moment1,
      Betz_F32Tensor:$moment2, Betz_F32Tensor:$grad,
      Betz_F32Tensor:$grad_squares, Betz_F32Tensor:$schedule, F64Attr:$beta1,
      F64Attr:$beta2, F64Attr:$eps, F64Attr:$weight_decay, F64Attr:$clip);
  let results = (outs Betz_F32Tensor:$new_weights, Betz_F32Tensor:$new_moment1,
      Betz_F32Tensor:$new_moment2);
  let assemblyFormat =
      "operands attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

#endif // BETZ_TRAINING_OPS_TD
