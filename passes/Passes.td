//===- Passes.td - Every pass, with before and after ----------------------===//
#ifndef BETZ_PASSES_TD
#define BETZ_PASSES_TD

include "mlir/Pass/PassBase.td"

def VerifyModelPass : Pass<"betz-verify-model", "::mlir::ModuleOp"> {
  let summary = "Check that a module is in the model phase";
  let description = [{
    `@prepare` and `@main` exist, their arguments and results are named, every
    derived argument of `@main` is a result of `@prepare`, and there are no
    kernels.
  }];
}

def VerifyKernelsPass : Pass<"betz-verify-kernels", "::mlir::ModuleOp"> {
  let summary = "Check that a module is in the kernels phase";
  let description = [{
    As betz-verify-model, but `@main` holds only `betz.kernel` and views
    (`slice`, `reshape`), kernels carry no arena offsets and their names are
    unique.
  }];
}

def VerifyProgramPass : Pass<"betz-verify-program", "::mlir::ModuleOp"> {
  let summary = "Check that a module is in the program phase";
  let description = [{
    As betz-verify-kernels, and every kernel result has an arena offset in
    every bucket, inside the arena, aligned, and apart from every other result
    that is live at the same time.
  }];
}

def HoistPass : Pass<"betz-hoist", "::mlir::ModuleOp"> {
  let summary = "Move work that depends on weights alone to @prepare";
  let description = [{
    An op of `@main` whose operands are all derived values moves to `@prepare`;
    what `@main` still needs of it becomes a derived argument, and derived
    arguments that nothing reads any more go.

    ```mlir
    func.func @main(%latents: tensor<24x64xf32> {betz.derived = "latents"},
                    %w: tensor<64x64xf32> {betz.derived = "q.weight"}, ...) {
      %q = betz.matmul %latents, %w : ...
    ```
    becomes
    ```mlir
    func.func @prepare(...) {
      %q = betz.matmul %latents, %w : ...
    func.func @main(%q: tensor<24x64xf32> {betz.derived = "cross_attn.matmul"},
                    ...) {
    ```
  }];
}

def CentrePass : Pass<"betz-centre", "::mlir::ModuleOp"> {
  let summary = "Turn LayerNorm into RMSNorm by centring what feeds it";
  let description = [{
    Where every reader of a residual stream is a LayerNorm, taking its mean away
    changes nothing. So the writers of the stream (matmul weights, derived
    addends, gathered tables) are centred in `@prepare`, and the norms need no
    mean any more. A stream that anything else reads stays as it is.

    ```mlir
    %a = betz.matmul %h, %w : ...
    %x = betz.add %a, %latents : ...
    %n = betz.norm layer %x, %g, %b {...} : ...
    ```
    becomes, with `%wc = betz.subtract_mean %w {dim = 0}` and `%lc =
    betz.subtract_mean %latents {dim = 1}` in `@prepare`,
    ```mlir
    %a = betz.matmul %h, %wc : ...
    %x = betz.add %a, %lc : ...
    %n = betz.norm rms %x, %g, %b {...} : ...
    ```
  }];
}

def ProjectTablesPass : Pass<"betz-project-tables", "::mlir::ModuleOp"> {
  let summary = "Look projected rows up instead of projecting looked-up rows";
  let description = [{
    A gathered row is a sum of table rows and a norm scales rows, so a matmul of
    the normed sum is the sum of projected table rows, scaled. The tables are
    projected in `@prepare`. The scale is measured on the plain sum, not on
    tables of dot products, because rows that nearly cancel would lose it.

    A cost model decides: a projected row costs one read a table and column, the
    matmul two operations for each column it reads.

    ```mlir
    %t = betz.gather_sum (%i) in (%table) : ...
    %n = betz.norm rms %t, %g {...} : ...
    %y = betz.matmul %n, %w : ...
    ```
    becomes, with `%p = betz.matmul %table, %wg` and `%wg = betz.mul %w, %g` in
    `@prepare`,
    ```mlir
    %t = betz.gather_sum (%i) in (%table) : ...
    %s = betz.norm_scale rms %t {...} : ...
    %q = betz.gather_sum (%i) in (%p) : ...
    %y = betz.scale_rows %q, %s : ...
    ```
  }];
}

def AbsorbHeadPass : Pass<"betz-absorb-head", "::mlir::ModuleOp"> {
  let summary = "Fold key and value projections into a constant query";
  let description = [{
    Attention of a constant query, followed by a projection to one column, needs
    of each row one score and one value for each query and head. Both are linear
    in the row, so a narrow matmul gives them; the key and value matmul goes.
    Done where that is at most half as wide.

    ```mlir
    %kv = betz.matmul %x, %w : ...                       // 2 D columns
    %k = betz.slice %kv {offset = 0 : i64} : ...
    %v = betz.slice %kv {offset = 64 : i64} : ...
    %a = betz.attention %q, %k, %v {heads = 4 ...} : ... // %q is derived
    %y = betz.matmul %a, %o : ...                        // one column
    ```
    becomes
    ```mlir
    %f = betz.matmul %x, %folded : ...                   // 2 V H columns
    %k = betz.slice %f {offset = 0 : i64} : ...
    %v = betz.slice %f {offset = 8 : i64} : ...
    %a = betz.attention %ones, %k, %v {heads = 8 ...} : ...
    %r = betz.reshape %a : ...                           // [B, V, H]
    %y = betz.matmul %r, %one : ...                      // sum over heads
    ```
  }];
}

def AbsorbNormPass : Pass<"betz-absorb-norm", "::mlir::ModuleOp"> {
  let summary = "Move a norm's linear part into the weight behind it";
  let description = [{
    The gain (and, for LayerNorm, the mean's removal) goes into the weight of the
    one matmul that reads the norm, the shift becomes a bias, and the factor of
    each row is applied to the product.

    ```mlir
    %n = betz.norm rms %x, %g, %b {...} : ...
    %y = betz.matmul %n, %w : ...
    ```
    becomes, with `%wg = betz.mul %w, %g` and `%bw = betz.matmul %b, %w` in
    `@prepare`,
    ```mlir
    %m = betz.matmul %x, %wg : ...
    %s = betz.norm_scale rms %x {...} : ...
    %z = betz.scale_rows %m, %s : ...
    %y = betz.add %z, %bw : ...
    ```
  }];
}

def AnnotateSparsityPass : Pass<"betz-annotate-sparsity", "::mlir::ModuleOp"> {
  let summary = "Say by which rule an attention's blocks may be skipped";
  let description = [{
    Code generators read the attribute and never look for the rule themselves.

    ```mlir
    %o = betz.attention %q, %k, %v splits %s bounds %t, %b {...} : ...
    ```
    becomes
    ```mlir
    %o = betz.attention %q, %k, %v splits %s bounds %t, %b
        {sparsity = #betz.sparsity<time_bounds>, ...} : ...
    ```
  }];
}

def NarrowPass : Pass<"betz-narrow", "::mlir::ModuleOp"> {
  let summary = "Store what @main computes as bf16";
  let description = [{
    Every f32 tensor of `@main` becomes bf16, derived values through a
    `betz.cast` at the end of `@prepare`, inputs where the step begins. Results
    of `@main` stay f32 through a `betz.cast` behind the op that computes them,
    and so do the factors of rows. Nothing changes in real arithmetic, and a
    module that is narrow already stays as it is.

    ```mlir
    %y = betz.matmul %x, %w
        : (tensor<?x64xf32, ...>, tensor<8x64xf32>) -> tensor<?x8xf32, ...>
    return %y : tensor<?x8xf32, ...>
    ```
    becomes
    ```mlir
    %y = betz.matmul %x, %w
        : (tensor<?x64xbf16, ...>, tensor<8x64xbf16>) -> tensor<?x8xbf16, ...>
    %z = betz.cast %y : (tensor<?x8xbf16, ...>) -> tensor<?x8xf32, ...>
    return %z : tensor<?x8xf32, ...>
    ```
  }];
}

def PackPanelsPass : Pass<"betz-pack-panels", "::mlir::ModuleOp"> {
  let summary = "Lay out the weights of @main's matmuls for the CPU";
  let description = [{
    A matmul against a plain derived weight reads a packed one instead, which
    `@prepare` makes. The plain one goes when nothing else reads it. A weight
    that changes with the step, as in training, is packed in `@main`.

    ```mlir
    %y = betz.matmul %x, %w : (..., tensor<192x64xf32>) -> ...
    ```
    becomes, with `%p = betz.pack_panels %w {panel = 16 : i64}` in `@prepare`,
    ```mlir
    %y = betz.matmul %x, %p {columns = 192 : i64}
        : (..., tensor<12x64x16xf32>) -> ...
    ```
  }];
  let options = [Option<"panel", "panel", "int64_t", "16",
                        "columns of one panel">];
}

def FusePass : Pass<"betz-fuse", "::mlir::ModuleOp"> {
  let summary = "Group the ops of @main into kernels";
  let description = [{
    Each matmul, attention and gather_sum takes with it the norm that only it
    reads (matmul) and the chain of elementwise ops that only its result
    feeds. A norm that stays alone becomes a row kernel, every other op an
    elementwise kernel with the chain behind it, if it takes one; sums of scattered
    rows, losses, packed weights and updates do not. A join of more parts than a launch has operands becomes several.

    ```mlir
    %n = betz.norm rms %x, %g {...} : ...
    %m = betz.matmul %n, %w : ...
    %r = betz.add %m, %x : ...
    ```
    becomes
    ```mlir
    %r = betz.kernel matmul "norm_matmul_add" (%x, %g, %w) : ... {
    ^bb0(%a: ..., %b: ..., %c: ...):
      %n = betz.norm rms %a, %b {...} : ...
      %m = betz.matmul %n, %c : ...
      %r = betz.add %m, %a : ...
      betz.yield %r : ...
    }
    ```

    With `norms-apart`, for targets whose matmuls do not look at whole rows,
    norms and factors stay row kernels, but for an RMSNorm's factor of rows that
    a matmul kernel writes: that kernel leaves sums of squares beside them, and
    the matmul that reads the rows has the factor from these.
  }];
  let options = [Option<"normsApart", "norms-apart", "bool", "false",
                        "keep norms out of matmul kernels">];
}

def PlanMemoryPass : Pass<"betz-plan-memory", "::mlir::ModuleOp"> {
  let summary = "Give every kernel result an arena offset in every bucket";
  let description = [{
    Liveness in launch order, then first fit by decreasing size. Results that
    are outputs of the step get no arena space (-1).

    ```mlir
    %y = betz.kernel matmul "m" (%x, %w) : ... { ... }
    ```
    becomes
    ```mlir
    %y = betz.kernel matmul "m" (%x, %w) {offsets = [array<i64: 0>,
                                                     array<i64: 4096>]} : ...
    ```
  }];
  let options = [
    ListOption<"buckets", "buckets", "std::string",
               "capacities of each bucket, e.g. 1x4096,8x32768">,
  ];
}

def AutodiffPass : Pass<"betz-autodiff", "::mlir::ModuleOp"> {
  let summary = "Append the gradients of an output to @main";
  let description = [{
    Reverse mode, from the output that `loss` names to every float argument that
    it depends on; each gradient becomes an output `grad.NAME`. A value that is
    read several times has the sum of what its uses give; of slices of one value
    the gradients lie side by side. Nothing is computed that no gradient needs.
    An op without a gradient rule (`GradientRules.cpp`) is an error.

    ```mlir
    %y = betz.matmul %x, %w : ...
    %l = betz.mse_loss %y, %t : ...
    return %l : ...
    ```
    becomes
    ```mlir
    %y = betz.matmul %x, %w : ...
    %l = betz.mse_loss %y, %t : ...
    %one = betz.fill {value = 1.0 : f64} : ...
    %dy = betz.mse_grad %y, %t, %one : ...
    %dw = betz.contract_rows %dy, %x : ...
    return %l, %dw : ...
    ```
  }];
  let options = [Option<"loss", "loss", "std::string", "\"loss\"",
                        "the f32[1] output to differentiate">];
}

def TrainingStepPass : Pass<"betz-training-step", "::mlir::ModuleOp"> {
  let summary = "Turn a model into one step of its training";
  let description = [{
    `@main` takes all trained weights as one flat tensor, with the two moments
    that AdamW keeps, and gives them after the step; what the model computed
    from weights alone moves into it. `TrainingStep.h` lists inputs and outputs.
    A loss is `OUTPUT=TARGET`: an output of the model and the input, new, that
    says what it should be.

    ```mlir
    func.func @main(%w: ... {betz.derived = "w"}, %x: ... {betz.input = "x"})
        -> (... {betz.output = "y"})
    ```
    becomes, with `mse=y=target`,
    ```mlir
    func.func @main(%weights: ... {betz.input = "weights"},
                    %moment1: ..., %moment2: ..., %schedule: ...,
                    %x: ... {betz.input = "x"},
                    %target: ... {betz.input = "target"})
        -> (... {betz.output = "loss"}, ... {betz.output = "weights"},
            ... {betz.output = "moment1"}, ... {betz.output = "moment2"},
            ... {betz.output = "grad_squares"}, ... {betz.output = "y"}) {
      %flat = betz.slice %weights {offset = 0 : i64} : ...
      %w = betz.reshape %flat : ...
      ...
      %g = betz.join_columns ... : ...
      %n:3 = betz.adamw %weights, %moment1, %moment2, %g, ... : ...
    ```
  }];
  let options = [
    ListOption<"mse", "mse", "std::string",
               "losses that are mean squared errors, OUTPUT=TARGET">,
    ListOption<"crossEntropy", "cross-entropy", "std::string",
               "losses that are cross-entropies, OUTPUT=LABEL">,
    ListOption<"frozen", "frozen", "std::string",
               "weights that stay: names, or prefixes that end in a dot">,
    Option<"narrow", "narrow", "bool", "false", "compute in bf16">,
    Option<"gradientsOnly", "gradients-only", "bool", "false",
           "give the flat gradient instead of the update">,
    Option<"accumulate", "accumulate", "bool", "false",
           "add the gradient of earlier batches, an input">,
  ];
}

#endif // BETZ_PASSES_TD
