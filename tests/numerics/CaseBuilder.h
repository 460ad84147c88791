//===- CaseBuilder.h - Module text and random tensors of an op case -------===//
#pragma once

#include "ir/reference/Tensor.h"

#include <random>
#include <string>
#include <vector>

namespace betz {

struct OpCase;

/// What random tensors are filled with. All values are f32 numbers.
enum class Fill {
  /// Normal, of variance one.
  Normal,
  /// Normal, with zeros of both signs, denormals and tiny numbers among them.
  Edge,
  /// Normal times 1e15, so that products stay finite.
  Large,
  /// 1000 plus normal: subtracting the mean cancels.
  Offset,
  /// Rows of one repeated value: no variance at all.
  Constant,
  /// Normal, with NaN and infinities among them.
  NonFinite,
};

/// The leading dimension of a tensor: a symbol's rows, or a constant number.
struct Rows {
  std::string symbol;
  int64_t size;
  int64_t plus = 0;
};

/// A value of the module, as its text names it, with its type's text.
struct Value {
  std::string name;
  std::string type;
};

/// Text of the types of a tensor whose rows are `inner` wide.
std::string floats(const Rows &rows, const std::vector<int64_t> &inner);
std::string integers(const Rows &rows, const std::vector<int64_t> &inner = {});

/// Builds a module with `@prepare` and `@main` and tensors for its arguments.
class CaseBuilder {
public:
  explicit CaseBuilder(uint64_t seed) : random(seed) {}

  /// A weight that `@prepare` hands on as it is.
  Value weight(const std::string &name, const std::vector<int64_t> &shape,
               Fill fill = Fill::Normal);
  /// A weight that only ops of `@prepare` read.
  Value rawWeight(const std::string &name, const std::vector<int64_t> &shape,
                  Fill fill = Fill::Normal);
  /// A derived value that one op of `@prepare` computes. `syntax` is the op
  /// without its types: "pack_panels %w {panel = 16 : i64}".
  Value prepared(const std::string &name, const std::string &syntax,
                 const std::vector<Value> &operands, const std::string &type);

  Value input(const std::string &name, const Rows &rows,
              const std::vector<int64_t> &inner, Fill fill = Fill::Normal);
  Value integerInput(const std::string &name, const Rows &rows,
                     std::vector<int32_t> values,
                     const std::vector<int64_t> &inner = {});

  /// One op of `@main`, `syntax` as above.
  Value op(const std::string &syntax, const std::vector<Value> &operands,
           const std::string &type);

  /// The case whose outputs are `outputs`, named "out0", "out1", ...
  OpCase finish(const std::vector<Value> &outputs);

  int32_t uniform(int32_t low, int32_t high) {
    return std::uniform_int_distribution<int32_t>(low, high)(random);
  }
  std::vector<int32_t> uniform(int64_t count, int32_t low, int32_t high);
  /// The tensor of an input, to change it.
  reference::Tensor &tensor(const Value &input) {
    return inputs.at(input.name.substr(1));
  }

private:
  Value addDerived(Value value);
  Value addInput(const std::string &name, const Rows &rows, std::string type,
                 reference::Tensor tensor);
  reference::Tensor fillTensor(std::vector<int64_t> shape, Fill fill);
  void noteSymbol(const Rows &rows);

  std::mt19937_64 random;
  reference::TensorMap weights, inputs;
  std::vector<std::string> symbols;
  std::vector<std::string> prepareArguments, mainArguments;
  std::vector<Value> derived;
  std::string prepareBody, mainBody;
  int nextValue = 0;
};

} // namespace betz
