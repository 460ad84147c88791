#include "tools/Graph.h"

#include "codegen/LowerToSpec.h"

#include <fmt/format.h>
#include <map>

namespace betz {

using namespace ir;
using mlir::Value;

namespace {

std::string typeText(mlir::Type type) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  stream << type;
  return text;
}

std::string shapeText(mlir::Type type) {
  auto tensor = llvm::cast<Tensor>(type);
  std::string text;
  if (RowsAttr rows = getRows(tensor)) {
    text = rows.getSymbol().str();
    if (rows.getPlus())
      text += fmt::format("+{}", rows.getPlus());
  }
  for (int64_t i = text.empty() ? 0 : 1; i < tensor.getRank(); ++i)
    text += fmt::format("{}{}", text.empty() ? "" : "×", tensor.getDimSize(i));
  return text + " " + typeText(tensor.getElementType());
}

class GraphBuilder {
public:
  void addArgument(Value value, std::string name, std::string kind) {
    numbers[value] = graph.nodes.size();
    graph.nodes.push_back({std::move(name),
                           std::move(kind),
                           "",
                           typeText(value.getType()),
                           shapeText(value.getType()),
                           {}});
  }

  void addOp(mlir::Operation &op) {
    GraphNode node;
    node.kind = op.getName().stripDialect().str();
    node.name = node.kind;
    if (auto kernel = llvm::dyn_cast<KernelOp>(op)) {
      node.kind = stringifyFamily(kernel.getFamily()).str();
      node.name = kernel.getName().str();
      node.isKernel = true;
    }
    node.isView = llvm::isa<SliceOp, ReshapeOp>(op);
    if (auto section = op.getAttrOfType<mlir::StringAttr>(kSectionAttr))
      node.section = section.getValue().str();
    node.inputs = inputsOf(op);
    if (op.getNumResults()) {
      node.type = typeText(op.getResult(0).getType());
      node.shape = shapeText(op.getResult(0).getType());
    }
    for (Value result : op.getResults())
      numbers[result] = graph.nodes.size();
    graph.nodes.push_back(std::move(node));
  }

  void addOutput(Value value, std::string name) {
    graph.nodes.push_back({std::move(name),
                           "output",
                           "",
                           typeText(value.getType()),
                           shapeText(value.getType()),
                           {numbers.at(value)}});
  }

  Graph take() { return std::move(graph); }

private:
  std::vector<size_t> inputsOf(mlir::Operation &op) {
    std::vector<size_t> inputs;
    for (Value operand : op.getOperands())
      inputs.push_back(numbers.at(operand));
    return inputs;
  }

  Graph graph;
  llvm::DenseMap<Value, size_t> numbers;
};

std::string escape(std::string_view text) {
  std::string escaped;
  for (char c : text) {
    if (c == '"' || c == '\\')
      escaped += '\\';
    escaped += c;
  }
  return escaped;
}

} // namespace

Graph makeGraph(mlir::ModuleOp module) {
  mlir::func::FuncOp main = getMain(module);
  GraphBuilder builder;
  for (unsigned i = 0; i < main.getNumArguments(); ++i) {
    llvm::StringRef input = getArgName(main, i, kInputAttr);
    builder.addArgument(main.getArgument(i),
                        input.empty() ? getArgName(main, i, kDerivedAttr).str()
                                      : input.str(),
                        input.empty() ? "derived" : "input");
  }
  mlir::Block &body = main.getBody().front();
  for (mlir::Operation &op : body.without_terminator())
    builder.addOp(op);
  for (auto [i, value] : llvm::enumerate(body.getTerminator()->getOperands()))
    builder.addOutput(value, getResultName(main, i, kOutputAttr).str());
  return builder.take();
}

Status addWork(Graph &graph, mlir::ModuleOp module, int64_t batch,
               int64_t events) {
  std::vector<int64_t> extents;
  for (const std::string &symbol : symbolsOf(module))
    extents.push_back(symbol == "batch" ? batch : batch * events);
  auto node = graph.nodes.begin();
  for (KernelOp kernel : getMain(module).getOps<KernelOp>()) {
    BETZ_ASSIGN_OR_RETURN(LoweredKernel lowered, lowerToSpec(kernel));
    KernelWork work = estimateWork(lowered.spec, extents);
    while (!node->isKernel)
      ++node;
    node++->work = {work.flops, work.bytes};
  }
  return Status::ok();
}

Graph makeKernelGraph(KernelOp kernel) {
  GraphBuilder builder;
  mlir::Block &body = kernel.getBody().front();
  for (mlir::BlockArgument argument : body.getArguments())
    builder.addArgument(
        argument, fmt::format("operand {}", argument.getArgNumber()), "input");
  for (mlir::Operation &op : body.without_terminator())
    builder.addOp(op);
  for (Value value : body.getTerminator()->getOperands())
    builder.addOutput(value, kernel.getName().str());
  return builder.take();
}

std::string toDot(const Graph &graph) {
  std::string dot = "digraph betz {\n  node [shape=box fontname=\"sans\"];\n";
  std::map<std::string, std::vector<size_t>> sections;
  for (size_t i = 0; i < graph.nodes.size(); ++i)
    sections[graph.nodes[i].section].push_back(i);
  size_t cluster = 0;
  for (const auto &[section, members] : sections) {
    if (!section.empty())
      dot += fmt::format("  subgraph cluster_{} {{ label=\"{}\";\n", cluster++,
                         escape(section));
    for (size_t i : members)
      dot +=
          fmt::format("  n{} [label=\"{}\\n{}\"];\n", i,
                      escape(graph.nodes[i].name), escape(graph.nodes[i].type));
    if (!section.empty())
      dot += "  }\n";
  }
  for (size_t i = 0; i < graph.nodes.size(); ++i)
    for (size_t input : graph.nodes[i].inputs)
      dot += fmt::format("  n{} -> n{};\n", input, i);
  return dot + "}\n";
}

Json toJson(const Graph &graph) {
  Json nodes = Json::array();
  for (const GraphNode &node : graph.nodes)
    nodes.push_back({{"name", node.name},
                     {"kind", node.kind},
                     {"section", node.section},
                     {"type", node.type},
                     {"inputs", node.inputs}});
  return {{"nodes", std::move(nodes)}};
}

} // namespace betz
