//===- BetzDialect.td - The dialect, its attributes and its op base -------===//
#ifndef BETZ_DIALECT_TD
#define BETZ_DIALECT_TD

include "mlir/IR/OpBase.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"

def Betz_Dialect : Dialect {
  let name = "betz";
  let cppNamespace = "::betz::ir";
  let summary = "Tensor programs over ragged batches";
  let description = [{
    Values are ranked tensors of f32, bf16, i8 or i32. Only the leading
    dimension of a tensor may be dynamic, and then its type names the symbol
    that it follows: `tensor<?x24x64xf32, #betz.rows<"batch">>`. A ragged batch
    is a flat tensor with one row an element (`#betz.rows<"events">`) beside
    `row_splits` of type `tensor<?xi32, #betz.rows<"batch" + 1>>`.

    A module has two functions. `@prepare(weights) -> derived` computes what
    depends on weights alone; `@main(derived, inputs) -> outputs` is one step.
    Argument and result attributes name them: `betz.weight`, `betz.derived`,
    `betz.input` (with `betz.alias`, `betz.default`) and `betz.output`. Weights
    are symbols; the IR never holds their values.

    The module attribute `betz.phase` says how far it is lowered: `"model"`,
    `"kernels"` or `"program"`; `betz.target` and `betz.precision` for what, if
    that is not the CPU. `betz.section` on an op names the part of the
    model that it came from.
  }];
  let useDefaultAttributePrinterParser = 1;
}

class Betz_Attr<string name, string attrMnemonic>
    : AttrDef<Betz_Dialect, name> {
  let mnemonic = attrMnemonic;
}

def Betz_RowsAttr : Betz_Attr<"Rows", "rows"> {
  let summary = "The symbol that a tensor's leading dimension follows";
  let description = [{
    As a tensor encoding: the leading dimension is `symbol + plus` rows.

    ```mlir
    tensor<?x64xf32, #betz.rows<"events">>
    tensor<?xi32, #betz.rows<"batch" + 1>>
    ```
  }];
  let parameters = (ins StringRefParameter<"the symbol">:$symbol,
      DefaultValuedParameter<"int64_t", "0">:$plus);
  let assemblyFormat = "`<` $symbol (`+` $plus^)? `>`";
}

def Betz_BucketAttr : Betz_Attr<"Bucket", "bucket"> {
  let summary = "A shape bucket of the program phase";
  let description = [{
    `capacity` holds the largest value of each symbol, in the order of
    `betz.symbols`; `arena` is the bytes that a step in this bucket needs.

    ```mlir
    #betz.bucket<capacity = [8, 32768], arena = 1048576>
    ```
  }];
  let parameters = (ins ArrayRefParameter<"int64_t">:$capacity,
      "int64_t":$arena);
  let assemblyFormat =
      "`<` `capacity` `=` `[` $capacity `]` `,` `arena` `=` $arena `>`";
}

def Betz_NormKind : I32EnumAttr<"NormKind", "how rows are normalised", [
  I32EnumAttrCase<"Layer", 0, "layer">,
  I32EnumAttrCase<"Rms", 1, "rms">,
]> {
  let cppNamespace = "::betz::ir";
  let genSpecializedAttr = 0;
}
def Betz_NormKindAttr : EnumAttr<Betz_Dialect, Betz_NormKind, "norm_kind"> {
  let assemblyFormat = "$value";
}

def Betz_Sparsity : I32EnumAttr<"Sparsity",
    "the rule by which blocks of an attention may be skipped", [
  I32EnumAttrCase<"Dense", 0, "dense">,
  I32EnumAttrCase<"Causal", 1, "causal">,
  I32EnumAttrCase<"Segments", 2, "segments">,
  I32EnumAttrCase<"TimeBounds", 3, "time_bounds">,
  I32EnumAttrCase<"BlockMap", 4, "block_map">,
]> {
  let cppNamespace = "::betz::ir";
  let genSpecializedAttr = 0;
}
def Betz_SparsityAttr : EnumAttr<Betz_Dialect, Betz_Sparsity, "sparsity"> {
  let assemblyFormat = "`<` $value `>`";
}

def Betz_Family : I32EnumAttr<"Family", "the code generator of a kernel", [
  I32EnumAttrCase<"Matmul", 0, "matmul">,
  I32EnumAttrCase<"Attention", 1, "attention">,
  I32EnumAttrCase<"Row", 2, "row">,
  I32EnumAttrCase<"Gather", 3, "gather">,
  I32EnumAttrCase<"Elementwise", 4, "elementwise">,
]> {
  let cppNamespace = "::betz::ir";
  let genSpecializedAttr = 0;
}
def Betz_FamilyAttr : EnumAttr<Betz_Dialect, Betz_Family, "family"> {
  let assemblyFormat = "$value";
}

/// One or two float operands, computed element by element; the second may lack
/// leading dimensions and is then repeated. The trait verifies C1 and C2.
def Betz_Elementwise : NativeOpTrait<"Elementwise"> {
  let cppNamespace = "::betz::ir";
}

class Betz_Op<string mnemonic, list<Trait> traits = []>
    : Op<Betz_Dialect, mnemonic, traits>;

#endif // BETZ_DIALECT_TD
