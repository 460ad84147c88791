#include "tests/numerics/CaseBuilder.h"

#include "tests/numerics/OpCases.h"

#include <algorithm>
#include <fmt/format.h>
#include <limits>

namespace betz {
namespace {

std::string tensorType(const Rows &rows, const std::vector<int64_t> &inner,
                       const char *element) {
  std::string text =
      rows.symbol.empty() ? std::to_string(rows.size) : std::string("?");
  for (int64_t size : inner)
    text += "x" + std::to_string(size);
  text += std::string("x") + element;
  if (!rows.symbol.empty()) {
    text += ", #betz.rows<\"" + rows.symbol + "\"";
    text += rows.plus ? fmt::format(" + {}>", rows.plus) : ">";
  }
  return "tensor<" + text + ">";
}

std::string tensorType(const std::vector<int64_t> &shape) {
  return floats({"", shape[0]}, {shape.begin() + 1, shape.end()});
}

std::string opText(const std::string &result, const std::string &syntax,
                   const std::vector<Value> &operands,
                   const std::string &type) {
  std::vector<std::string> types;
  for (const Value &operand : operands)
    types.push_back(operand.type);
  return fmt::format("    {} = betz.{} : ({}) -> {}\n", result, syntax,
                     fmt::join(types, ", "), type);
}

/// Text of a function that returns `results`, `attribute` naming each.
std::string functionText(const char *name,
                         const std::vector<std::string> &arguments,
                         const std::string &body,
                         const std::vector<Value> &results,
                         const std::vector<std::string> &resultTypes) {
  std::vector<std::string> names, types;
  for (const Value &result : results) {
    names.push_back(result.name);
    types.push_back(result.type);
  }
  std::string values = results.empty()
                           ? ""
                           : fmt::format(" {} : {}", fmt::join(names, ", "),
                                         fmt::join(types, ", "));
  return fmt::format("  func.func @{}({}) -> ({}) {{\n{}    return{}\n  }}\n",
                     name, fmt::join(arguments, ", "),
                     fmt::join(resultTypes, ", "), body, values);
}

} // namespace

std::string floats(const Rows &rows, const std::vector<int64_t> &inner) {
  return tensorType(rows, inner, "f32");
}
std::string integers(const Rows &rows, const std::vector<int64_t> &inner) {
  return tensorType(rows, inner, "i32");
}

reference::Tensor CaseBuilder::fillTensor(std::vector<int64_t> shape,
                                          Fill fill) {
  using Limits = std::numeric_limits<float>;
  static constexpr float kEdge[] = {
      0.0f,   -0.0f,   Limits::denorm_min(), -Limits::denorm_min(),
      1e-40f, -1e-40f, Limits::min(),        -Limits::min()};
  static constexpr float kNonFinite[] = {
      Limits::quiet_NaN(), Limits::infinity(), -Limits::infinity()};
  reference::Tensor tensor{std::move(shape), {}, {}};
  int64_t count = 1;
  for (int64_t size : tensor.shape)
    count *= size;
  std::normal_distribution<float> normal;
  for (int64_t i = 0; i < count; ++i) {
    float value = normal(random);
    if (fill == Fill::Edge && uniform(0, 1))
      value = kEdge[uniform(0, std::size(kEdge) - 1)];
    else if (fill == Fill::NonFinite && uniform(0, 9) == 0)
      value = kNonFinite[uniform(0, std::size(kNonFinite) - 1)];
    else if (fill == Fill::Large)
      value *= 1e15f;
    else if (fill == Fill::Offset)
      value += 1000.0f;
    else if (fill == Fill::Constant && i % tensor.columns() != 0)
      value = float(tensor.real.back());
    tensor.real.push_back(value);
  }
  return tensor;
}

std::vector<int32_t> CaseBuilder::uniform(int64_t count, int32_t low,
                                          int32_t high) {
  std::vector<int32_t> values(count);
  for (int32_t &value : values)
    value = uniform(low, high);
  return values;
}

void CaseBuilder::noteSymbol(const Rows &rows) {
  if (!rows.symbol.empty() &&
      std::find(symbols.begin(), symbols.end(), rows.symbol) == symbols.end())
    symbols.push_back(rows.symbol);
}

Value CaseBuilder::addDerived(Value value) {
  derived.push_back(value);
  mainArguments.push_back(fmt::format("{}: {} {{betz.derived = \"{}\"}}",
                                      value.name, value.type,
                                      value.name.substr(1)));
  return value;
}

Value CaseBuilder::rawWeight(const std::string &name,
                             const std::vector<int64_t> &shape, Fill fill) {
  Value value{"%" + name, tensorType(shape)};
  weights[name] = fillTensor(shape, fill);
  prepareArguments.push_back(fmt::format("{}: {} {{betz.weight = \"{}\"}}",
                                         value.name, value.type, name));
  return value;
}

Value CaseBuilder::weight(const std::string &name,
                          const std::vector<int64_t> &shape, Fill fill) {
  return addDerived(rawWeight(name, shape, fill));
}

Value CaseBuilder::prepared(const std::string &name, const std::string &syntax,
                            const std::vector<Value> &operands,
                            const std::string &type) {
  prepareBody += opText("%" + name, syntax, operands, type);
  return addDerived({"%" + name, type});
}

Value CaseBuilder::addInput(const std::string &name, const Rows &rows,
                            std::string type, reference::Tensor tensor) {
  inputs[name] = std::move(tensor);
  noteSymbol(rows);
  mainArguments.push_back(
      fmt::format("%{}: {} {{betz.input = \"{}\"}}", name, type, name));
  return {"%" + name, std::move(type)};
}

Value CaseBuilder::input(const std::string &name, const Rows &rows,
                         const std::vector<int64_t> &inner, Fill fill) {
  std::vector<int64_t> shape{rows.size + rows.plus};
  shape.insert(shape.end(), inner.begin(), inner.end());
  return addInput(name, rows, floats(rows, inner), fillTensor(shape, fill));
}

Value CaseBuilder::integerInput(const std::string &name, const Rows &rows,
                                std::vector<int32_t> values,
                                const std::vector<int64_t> &inner) {
  std::vector<int64_t> shape{rows.size + rows.plus};
  shape.insert(shape.end(), inner.begin(), inner.end());
  return addInput(name, rows, integers(rows, inner),
                  {std::move(shape), {}, std::move(values)});
}

Value CaseBuilder::op(const std::string &syntax,
                      const std::vector<Value> &operands,
                      const std::string &type) {
  Value value{fmt::format("%v{}", nextValue++), type};
  mainBody += opText(value.name, syntax, operands, type);
  return value;
}

OpCase CaseBuilder::finish(const std::vector<Value> &outputs) {
  std::vector<std::string> derivedTypes, outputTypes, quoted;
  for (const Value &value : derived)
    derivedTypes.push_back(fmt::format("{} {{betz.derived = \"{}\"}}",
                                       value.type, value.name.substr(1)));
  for (size_t i = 0; i < outputs.size(); ++i)
    outputTypes.push_back(
        fmt::format("{} {{betz.output = \"out{}\"}}", outputs[i].type, i));
  for (const std::string &symbol : symbols)
    quoted.push_back("\"" + symbol + "\"");
  std::string text = fmt::format(
      "module attributes {{betz.phase = \"model\", betz.symbols = [{}]}} {{\n",
      fmt::join(quoted, ", "));
  text += functionText("prepare", prepareArguments, prepareBody, derived,
                       derivedTypes);
  text += functionText("main", mainArguments, mainBody, outputs, outputTypes);
  return {"", text + "}\n", std::move(weights), std::move(inputs), 0};
}

} // namespace betz
