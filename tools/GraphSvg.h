//===- GraphSvg.h - A graph as a picture
//-----------------------------------===//
#pragma once

#include "tools/Graph.h"

namespace betz {

struct GraphTitle {
  std::string name;  // of the model
  std::string phase; // "kernels"
  /// What FLOPs and bytes are counted for, as text; "" without them.
  std::string size;
};

/// Nodes from top to bottom in program order, those of one section in one box.
/// Results that the next node reads are straight arrows, others run along the
/// right; inputs run along the left. Views and weights are not drawn, but a
/// node says how many weights it reads.
std::string toSvg(const Graph &graph, const GraphTitle &title);

} // namespace betz
