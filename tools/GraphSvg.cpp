#include "tools/GraphSvg.h"

#include "tools/Svg.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <map>

namespace betz {

namespace {

constexpr double kNodeWidth = 440, kNodeHeight = 48, kPillHeight = 26;
constexpr double kNodeGap = 18, kBoxPadding = 12, kBoxLabel = 22, kBoxGap = 22;
constexpr double kLane = 12, kMargin = 24, kHeader = 104;
constexpr double kNumbers = 96; // right part of a node

constexpr std::string_view kFlow = "#52606d", kInputFlow = "#9aa5b1",
                           kBoxFill = "#f5f7fa", kBoxStroke = "#cbd2d9";

struct Colour {
  std::string_view family, fill;
};
constexpr Colour kColours[] = {{"matmul", "#2f6fb7"},
                               {"attention", "#d9731a"},
                               {"gather", "#2e8b57"},
                               {"row", "#7b4fa3"},
                               {"elementwise", "#708090"}};

std::string_view colourOf(const GraphNode &node) {
  for (const Colour &colour : kColours)
    if (node.kind == colour.family)
      return colour.fill;
  return node.kind == "input" || node.kind == "output" ? "#52606d" : "#708090";
}

bool contains(const std::vector<size_t> &numbers, size_t number) {
  return std::ranges::find(numbers, number) != numbers.end();
}

std::string withUnit(double value, std::string_view unit) {
  constexpr const char *kPrefixes[] = {"", "k", "M", "G", "T"};
  size_t prefix = 0;
  while (value >= 1000 && prefix + 1 < std::size(kPrefixes)) {
    value /= 1000;
    ++prefix;
  }
  return fmt::format("{:.3g} {}{}", value, kPrefixes[prefix], unit);
}

/// The name without the section, which the box says.
std::string shortName(const GraphNode &node) {
  std::string prefix = node.section + "__";
  std::ranges::replace(prefix, '.', '_');
  return node.name.starts_with(prefix) ? node.name.substr(prefix.size())
                                       : node.name;
}

/// Intervals of rows on lanes so that none overlap.
class Lanes {
public:
  size_t place(size_t from, size_t to) {
    size_t lane = 0;
    while (lane < ends.size() && ends[lane] >= from)
      ++lane;
    if (lane == ends.size())
      ends.push_back(0);
    ends[lane] = to;
    return lane;
  }
  size_t count() const { return ends.size(); }

private:
  std::vector<size_t> ends;
};

/// A node that is drawn.
struct Row {
  const GraphNode *node;
  std::vector<size_t> inputs; // rows, each once
  size_t weights = 0;
  double y = 0, height = 0;

  double middle() const { return y + height / 2; }
};

/// All that reads one row from afar.
struct Bus {
  size_t source;
  std::vector<size_t> readers;
  bool onLeft;
  size_t lane = 0;
};

class GraphPainter {
public:
  GraphPainter(const Graph &graph, const GraphTitle &title)
      : graph(graph), title(title) {
    chooseRows();
    chooseBuses();
    left = kMargin + kLane * double(leftLanes.count() + 1) + kBoxPadding;
    right = left + kNodeWidth;
    width =
        right + kBoxPadding + kLane * double(rightLanes.count() + 1) + kMargin;
    placeRows();
  }

  std::string paint() {
    paintHeader();
    paintBoxes();
    for (const Bus &bus : buses)
      paintBus(bus);
    for (size_t i = 1; i < rows.size(); ++i)
      if (contains(rows[i].inputs, i - 1))
        paintArrow(rows[i - 1], rows[i]);
    for (const Row &row : rows)
      paintRow(row);
    return page.finish(width, height, heading());
  }

private:
  void chooseRows() {
    bool hasKernels = std::ranges::any_of(
        graph.nodes, [](const GraphNode &node) { return node.isKernel; });
    std::map<size_t, size_t> rowOf;
    std::vector<size_t> base(graph.nodes.size());
    for (size_t i = 0; i < graph.nodes.size(); ++i) {
      const GraphNode &node = graph.nodes[i];
      base[i] = i;
      if (node.isView && hasKernels) {
        base[i] = base[node.inputs[0]];
        continue;
      }
      if (node.kind == "derived")
        continue;
      Row row{&node, {}};
      for (size_t input : node.inputs) {
        if (graph.nodes[base[input]].kind == "derived")
          ++row.weights;
        else if (size_t from = rowOf.at(base[input]);
                 !contains(row.inputs, from))
          row.inputs.push_back(from);
      }
      rowOf[i] = rows.size();
      rows.push_back(std::move(row));
    }
  }

  void chooseBuses() {
    for (size_t source = 0; source < rows.size(); ++source) {
      Bus bus{source, {}, rows[source].node->kind == "input"};
      for (size_t i = source + 1; i < rows.size(); ++i)
        if (contains(rows[i].inputs, source) && (i != source + 1 || bus.onLeft))
          bus.readers.push_back(i);
      if (bus.readers.empty())
        continue;
      bus.lane = (bus.onLeft ? leftLanes : rightLanes)
                     .place(source, bus.readers.back());
      buses.push_back(std::move(bus));
    }
  }

  bool startsBox(size_t i) const {
    return i == 0 || groupOf(rows[i]) != groupOf(rows[i - 1]);
  }
  static std::string groupOf(const Row &row) {
    if (row.node->kind == "input")
      return "inputs";
    return row.node->kind == "output" ? "outputs" : row.node->section;
  }

  void placeRows() {
    double y = kHeader;
    for (size_t i = 0; i < rows.size(); ++i) {
      if (startsBox(i))
        y += (i ? kBoxPadding - kNodeGap + kBoxGap : 0) + kBoxLabel;
      bool isPill =
          rows[i].node->kind == "input" || rows[i].node->kind == "output";
      rows[i].y = y;
      rows[i].height = isPill ? kPillHeight : kNodeHeight;
      y += rows[i].height + (isPill ? 6 : kNodeGap);
      if (isPill && i + 1 < rows.size() && startsBox(i + 1))
        y += kNodeGap - 6;
    }
    height = y + kMargin;
  }

  std::string heading() const {
    size_t kernels = 0, ops = 0;
    for (const Row &row : rows) {
      kernels += row.node->isKernel;
      ops += row.node->kind != "input" && row.node->kind != "output";
    }
    return fmt::format("{}, phase {}: {} {}", title.name, title.phase,
                       kernels ? kernels : ops, kernels ? "kernels" : "ops");
  }

  void paintHeader() {
    page.text(kMargin, 34, fitText(heading(), width - 2 * kMargin, 17),
              {.size = 17, .bold = true});
    GraphWork total;
    for (const GraphNode &node : graph.nodes)
      if (node.work) {
        total.flops += node.work->flops;
        total.bytes += node.work->bytes;
      }
    if (title.size.empty())
      return;
    page.text(kMargin, 54,
              fitText(fmt::format("{}: {}, {}", title.size,
                                  withUnit(total.flops, "FLOP"),
                                  withUnit(total.bytes, "B")),
                      width - 2 * kMargin, 12),
              {});
    double x = kMargin;
    for (const Colour &colour : kColours) {
      page.rect(x, 66, 10, 10, colour.fill, "none", 2);
      page.text(x + 15, 75, colour.family, {.size = 11});
      x += 31 + 6.6 * double(colour.family.size());
    }
    page.rect(x, 69, 24, 4, "#e12d39");
    page.text(x + 29, 75, "FLOPs, to the largest", {.size = 11});
  }

  void paintBoxes() {
    for (size_t i = 0; i < rows.size();) {
      size_t end = i + 1;
      while (end < rows.size() && !startsBox(end))
        ++end;
      double top = rows[i].y - kBoxLabel;
      double bottom = rows[end - 1].y + rows[end - 1].height + kBoxPadding;
      std::string label = groupOf(rows[i]);
      page.rect(left - kBoxPadding, top, kNodeWidth + 2 * kBoxPadding,
                bottom - top, kBoxFill, kBoxStroke, 6);
      page.text(left, top + 15, fitText(label, kNodeWidth, 11),
                {.size = 11, .bold = true, .fill = "#52606d"});
      i = end;
    }
  }

  void paintBus(const Bus &bus) {
    double side = bus.onLeft ? left : right;
    double direction = bus.onLeft ? -1 : 1;
    double x = side + direction * (kBoxPadding + kLane * double(bus.lane + 1));
    std::string_view stroke = bus.onLeft ? kInputFlow : kFlow;
    const Row &source = rows[bus.source];
    double out = source.middle() + (bus.onLeft ? 0 : source.height / 4);
    page.beginGroup("edge", source.node->name);
    page.path(fmt::format("M{:.1f} {:.1f} H{:.1f} V{:.1f}", side, out, x,
                          entry(bus, bus.readers.back())),
              stroke, false);
    page.dot(side, out, stroke);
    for (size_t reader : bus.readers)
      page.path(
          fmt::format("M{:.1f} {:.1f} H{:.1f}", x, entry(bus, reader), side),
          stroke, true);
    page.endGroup();
  }

  /// Where a bus enters a reader: lanes at heights of their own, so that two
  /// into one node stay apart.
  double entry(const Bus &bus, size_t reader) const {
    const Row &row = rows[reader];
    size_t lanes = (bus.onLeft ? leftLanes : rightLanes).count();
    double part = bus.onLeft ? row.height : row.height / 2;
    return row.y + part * double(bus.lane + 1) / double(lanes + 1);
  }

  void paintArrow(const Row &from, const Row &to) {
    if (from.node->kind == "input")
      return; // on the left
    double x = left + kNodeWidth / 2;
    page.beginGroup("edge", from.node->name);
    page.path(
        fmt::format("M{0:.1f} {1:.1f} V{2:.1f}", x, from.y + from.height, to.y),
        kFlow, true);
    page.endGroup();
  }

  void paintRow(const Row &row) {
    const GraphNode &node = *row.node;
    bool isPill = row.height == kPillHeight;
    std::string_view colour = colourOf(node);
    page.beginGroup(node.isKernel ? "kernel"
                    : isPill      ? node.kind
                                  : std::string("op"),
                    fmt::format("{}: {}", node.name, node.type));
    page.rect(left, row.y, kNodeWidth, row.height, "#ffffff", colour, 4);
    page.rect(left, row.y, 6, row.height, colour);
    double text = left + 16, end = right - 10;
    if (isPill) {
      page.text(text, row.y + 17, fitText(node.name, 200, 12), {.bold = true});
      page.text(end, row.y + 17, fitText(node.shape, 210, 11),
                {.size = 11, .anchor = "end"});
      page.endGroup();
      return;
    }
    double room = kNodeWidth - 26 - (node.work ? kNumbers : 0);
    page.text(text, row.y + 18, fitText(shortName(node), room, 12),
              {.bold = true});
    page.text(text, row.y + 35, fitText(details(row), room, 11), {.size = 11});
    if (node.work)
      paintWork(row, end);
    page.endGroup();
  }

  static std::string details(const Row &row) {
    std::vector<std::string> parts;
    if (row.node->kind != row.node->name)
      parts.push_back(row.node->kind);
    if (!row.node->shape.empty())
      parts.push_back(row.node->shape);
    if (row.weights)
      parts.push_back(
          fmt::format("{} weight{}", row.weights, row.weights > 1 ? "s" : ""));
    return fmt::format("{}", fmt::join(parts, " · "));
  }

  void paintWork(const Row &row, double end) {
    const GraphWork &work = *row.node->work;
    page.text(end, row.y + 18, withUnit(work.flops, "FLOP"),
              {.size = 11, .anchor = "end"});
    page.text(end, row.y + 35, withUnit(work.bytes, "B"),
              {.size = 11, .anchor = "end"});
    double most = 0;
    for (const Row &other : rows)
      if (other.node->work)
        most = std::max(most, other.node->work->flops);
    if (most > 0)
      page.rect(left + 6, row.y + row.height - 4,
                (kNodeWidth - 6) * work.flops / most, 4, "#e12d39");
  }

  const Graph &graph;
  const GraphTitle &title;
  std::vector<Row> rows;
  std::vector<Bus> buses;
  Lanes leftLanes, rightLanes;
  double left = 0, right = 0, width = 0, height = 0;
  SvgPage page;
};

} // namespace

std::string toSvg(const Graph &graph, const GraphTitle &title) {
  return GraphPainter(graph, title).paint();
}

} // namespace betz
