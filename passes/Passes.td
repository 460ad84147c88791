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

def PackPanelsPass : Pass<"betz-pack-panels", "::mlir::ModuleOp"> {
  let summary = "Lay out the weights of @main's matmuls for the CPU";
  let description = [{
    A matmul against a plain derived weight reads a packed one instead, which
    `@prepare` makes. The plain one goes when nothing else reads it.

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
    elementwise kernel with the chain behind it.

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
  }];
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

#endif // BETZ_PASSES_TD
