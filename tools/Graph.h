//===- Graph.h - A module as nodes and edges, for pictures and tables -----===//
#pragma once

#include "ir/Module.h"
#include "runtime/base/Json.h"

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace betz {

/// As estimateWork counts it.
struct GraphWork {
  double flops = 0, bytes = 0;
};

struct GraphNode {
  std::string name;    // kernel name or op
  std::string kind;    // family or op mnemonic; "input", "derived", "output"
  std::string section; // model section, "" if none
  std::string type;    // of its result, as IR prints it
  std::string shape;   // the same for people: "batch×16×64 f32"
  std::vector<size_t> inputs;
  bool isKernel = false;
  bool isView = false; // a slice or reshape: no work of its own
  std::optional<GraphWork> work = std::nullopt;
};

/// Nodes in program order; inputs of a node come before it.
struct Graph {
  std::vector<GraphNode> nodes;
};

/// `@main` of a module of any phase.
Graph makeGraph(mlir::ModuleOp module);
/// Gives the kernels of makeGraph(module) their work at `batch` windows of
/// `events` events each. A module of the model phase has none.
Status addWork(Graph &graph, mlir::ModuleOp module, int64_t batch,
               int64_t events);
/// The body of one kernel.
Graph makeKernelGraph(ir::KernelOp kernel);

/// Graphviz text; nodes of one section stand in one box.
std::string toDot(const Graph &graph);
Json toJson(const Graph &graph);

} // namespace betz
