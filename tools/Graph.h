//===- Graph.h - A module as nodes and edges, for pictures and tables -----===//
#pragma once

#include "ir/Module.h"
#include "runtime/base/Json.h"

#include <string>
#include <vector>

namespace betz {

struct GraphNode {
  std::string name;    // kernel name or op
  std::string kind;    // family or op mnemonic; "input", "derived", "output"
  std::string section; // model section, "" if none
  std::string type;    // of its result, as IR prints it
  std::vector<size_t> inputs;
};

/// Nodes in program order; inputs of a node come before it.
struct Graph {
  std::vector<GraphNode> nodes;
};

/// `@main` of a module of any phase.
Graph makeGraph(mlir::ModuleOp module);
/// The body of one kernel.
Graph makeKernelGraph(ir::KernelOp kernel);

/// Graphviz text; nodes of one section stand in one box.
std::string toDot(const Graph &graph);
Json toJson(const Graph &graph);

} // namespace betz
