#include "tools/Sparsity.h"
#include "tools/Svg.h"

#include <algorithm>
#include <fmt/format.h>

namespace betz {

namespace {

constexpr double kMargin = 24, kLabels = 110, kCellHeight = 34;
constexpr double kHeader = 96, kWindowHeader = 50, kAxis = 34;
/// A page of this width where the columns allow it.
constexpr double kGridWidth = 860, kNarrowest = 12, kWidest = 76;
/// Narrower cells hold no text.
constexpr double kTextCell = 46;

constexpr std::string_view kWhole = "#1f4e79", kPartly = "#7fb0dc",
                           kSkipped = "#eef2f6", kLine = "#ffffff",
                           kMuted = "#52606d";

double percent(int64_t part, int64_t whole) {
  return whole ? 100 * double(part) / double(whole) : 0;
}

class SparsityPainter {
public:
  explicit SparsityPainter(const SparsityReport &report) : report(report) {
    int64_t columns = 1;
    for (const WindowBlocks &window : report.windows)
      columns = std::max(columns, window.columns);
    cell = std::clamp(kGridWidth / double(columns), kNarrowest, kWidest);
    width = std::max(760.0, 2 * kMargin + kLabels + cell * double(columns));
  }

  std::string paint() {
    paintHeader();
    double y = kHeader;
    for (const WindowBlocks &window : report.windows)
      y = paintWindow(window, y);
    return page.finish(width, y, heading());
  }

private:
  std::string heading() const {
    return fmt::format("{}, {}: blocks computed", report.model,
                       report.attention.kernel);
  }

  void paintHeader() {
    const AttentionBlocks &attention = report.attention;
    double room = width - 2 * kMargin;
    page.text(kMargin, 34, fitText(heading(), room, 17),
              {.size = 17, .bold = true});
    page.text(
        kMargin, 54,
        fitText(fmt::format("{} queries in blocks of {}, events in blocks of "
                            "{}, the same for every head",
                            attention.queries, attention.queryBlock,
                            attention.keyBlock),
                room, 12),
        {});
    double x = kMargin;
    auto legend = [&](std::string_view fill, std::string_view text) {
      page.rect(x, 66, 14, 12, fill, "#cbd2d9");
      page.text(x + 20, 76, text, {.size = 11});
      x += 40 + 6.6 * double(text.size());
    };
    legend(kWhole, "computed, all seen");
    legend(kPartly, "computed, partly masked");
    legend(kSkipped, "skipped");
    page.text(x, 76, "%: elements seen", {.size = 11, .fill = kMuted});
  }

  double paintWindow(const WindowBlocks &window, double y) {
    std::string recording =
        std::filesystem::path(report.recording).filename().string();
    page.beginGroup("window");
    page.text(kMargin, y + 18,
              fitText(fmt::format("window {} at {:.3f} s of {}", window.window,
                                  window.start, recording),
                      width - 2 * kMargin, 13),
              {.size = 13, .bold = true});
    page.text(kMargin, y + 36,
              fmt::format("{} events; elements seen {} ({:.1f} %), computed {} "
                          "({:.1f} %), total {}",
                          window.times.size(), window.seen(),
                          percent(window.seen(), window.elements()),
                          window.computed(),
                          percent(window.computed(), window.elements()),
                          window.elements()),
              {});
    y += kWindowHeader;
    for (int64_t row = 0; row < window.rows; ++row)
      paintRow(window, row, y + kCellHeight * double(row));
    y += kCellHeight * double(window.rows);
    paintTimes(window, y);
    page.endGroup();
    return y + kAxis + kMargin;
  }

  void paintRow(const WindowBlocks &window, int64_t row, double y) {
    const AttentionBlocks &attention = report.attention;
    int64_t first = row * attention.queryBlock;
    int64_t last =
        std::min(first + attention.queryBlock, attention.queries) - 1;
    page.text(kMargin + kLabels - 8, y + kCellHeight / 2 + 4,
              fmt::format("queries {}–{}", first, last),
              {.size = 11, .anchor = "end", .fill = kMuted});
    for (int64_t i = 0; i < window.columns; ++i)
      paintBlock(window.blocks[size_t(row * window.columns + i)],
                 kMargin + kLabels + cell * double(i), y);
  }

  void paintBlock(const BlockCount &block, double x, double y) {
    std::string_view state = block.isWhole()    ? "whole"
                             : block.isComputed ? "partly"
                                                : "skipped";
    page.beginGroup(
        fmt::format("block {}", state),
        fmt::format("{} of {} elements seen", block.seen, block.elements));
    page.rect(x, y, cell, kCellHeight,
              block.isWhole()    ? kWhole
              : block.isComputed ? kPartly
                                 : kSkipped,
              kLine);
    if (block.isComputed && cell >= kTextCell)
      page.text(x + cell / 2, y + kCellHeight / 2 + 4,
                fmt::format("{:.0f} %", percent(block.seen, block.elements)),
                {.size = 11,
                 .anchor = "middle",
                 .fill = block.isWhole() ? "#ffffff" : "#1f2933"});
    page.endGroup();
  }

  /// The times of each column's events.
  void paintTimes(const WindowBlocks &window, double y) {
    double x = kMargin + kLabels;
    page.text(x - 8, y + 16, "time bins",
              {.size = 11, .anchor = "end", .fill = kMuted});
    // Every so many columns, as labels need their room.
    int64_t every = int64_t(kTextCell / cell) + 1;
    for (int64_t i = 0; i < window.columns; i += every) {
      size_t first = size_t(i * report.attention.keyBlock);
      size_t end = std::min(first + size_t(report.attention.keyBlock),
                            window.times.size());
      auto [low, high] = std::ranges::minmax(
          std::span(window.times).subspan(first, end - first));
      page.text(x + cell * (double(i) + 0.5), y + 16,
                every > 1 ? fmt::format("{}", low)
                          : fmt::format("{}–{}", low, high),
                {.size = 10, .anchor = "middle", .fill = kMuted});
    }
  }

  const SparsityReport &report;
  double cell = 0, width = 0;
  SvgPage page;
};

} // namespace

std::string toSvg(const SparsityReport &report) {
  return SparsityPainter(report).paint();
}

} // namespace betz
