#include "tools/BenchPictures.h"
#include "tools/BenchReport.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace betz {
namespace {

// Pixels.
constexpr double kLeft = 80, kTop = 50, kPlotWidth = 640, kPlotHeight = 460;
constexpr double kListLeft = kLeft + kPlotWidth + 30;
constexpr double kWidth = kListLeft + 560;
constexpr double kRow = 17;
constexpr double kLabelHeight = 13;
constexpr size_t kNameColumns = 40;

struct Point {
  double x, y;
};

/// A logarithmic axis over whole decades, onto [from, to] in pixels.
struct Axis {
  int firstDecade, lastDecade;
  double from, to;

  /// The least range that holds both values.
  static Axis over(double least, double most, double from, double to) {
    int first = int(std::floor(std::log10(least)));
    int last = int(std::ceil(std::log10(most)));
    return {first, std::max(last, first + 1), from, to};
  }
  double place(double value) const {
    double part =
        (std::log10(value) - firstDecade) / double(lastDecade - firstDecade);
    return from + part * (to - from);
  }
  double least() const { return std::pow(10, firstDecade); }
  double most() const { return std::pow(10, lastDecade); }
};

std::string escape(std::string_view text) {
  std::string escaped;
  for (char c : text) {
    if (c == '&')
      escaped += "&amp;";
    else if (c == '<')
      escaped += "&lt;";
    else if (c == '>')
      escaped += "&gt;";
    else
      escaped += c;
  }
  return escaped;
}

/// Builds the picture piece by piece.
class Roofline {
public:
  Roofline(const StepProfile &profile, const MachineLimits &limits);

  std::string draw(std::string_view title);

private:
  void drawGrid();
  void drawLimits();
  void drawPoints();
  void drawList();
  Point placeLabel(Point point, double width);
  void line(Point a, Point b, std::string_view style);
  void text(Point at, std::string_view words, std::string_view style = "");

  MachineLimits limits;
  std::vector<WorkTotal> kernels;
  double seconds;
  Axis intensity, rate;
  std::string svg;
  /// Where no label may go: the points.
  std::vector<Point> points;
  /// Upper left corners and widths of labels that have a place.
  std::vector<std::pair<Point, double>> labels;
};

double intensityOf(const WorkTotal &kernel) {
  return kernel.flops / kernel.bytes;
}

double rateOf(const WorkTotal &kernel) { return kernel.flops / kernel.seconds; }

Roofline::Roofline(const StepProfile &profile, const MachineLimits &limits)
    : limits(limits), kernels(sumByCode(profile)),
      seconds(profile.kernelSeconds()) {
  std::erase_if(kernels, [](const WorkTotal &kernel) {
    return kernel.flops <= 0 || kernel.bytes <= 0 || kernel.seconds <= 0;
  });
  std::ranges::sort(kernels, std::greater(), &WorkTotal::seconds);
  const double ridge = limits.flops / limits.copyBytes;
  double leastX = ridge, mostX = ridge, leastY = limits.flops,
         mostY = limits.flops;
  for (const WorkTotal &kernel : kernels) {
    leastX = std::min(leastX, intensityOf(kernel));
    mostX = std::max(mostX, intensityOf(kernel));
    leastY = std::min(leastY, rateOf(kernel));
    mostY = std::max(mostY, rateOf(kernel));
  }
  intensity = Axis::over(leastX * 0.8, mostX * 1.2, kLeft, kLeft + kPlotWidth);
  rate = Axis::over(leastY * 0.8, mostY * 1.1, kTop + kPlotHeight, kTop);
}

void Roofline::line(Point a, Point b, std::string_view style) {
  svg += fmt::format("<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" "
                     "y2=\"{:.1f}\" {}/>\n",
                     a.x, a.y, b.x, b.y, style);
}

void Roofline::text(Point at, std::string_view words, std::string_view style) {
  svg += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" {}>{}</text>\n", at.x,
                     at.y, style, escape(words));
}

/// FLOP/s with a unit, for the axis.
std::string rateName(int decade) {
  static constexpr const char *kUnits[] = {"", "k", "M", "G", "T", "P"};
  int unit = std::clamp(decade / 3, 0, 5);
  return fmt::format("{:g} {}FLOP/s", std::pow(10, decade - 3 * unit),
                     kUnits[unit]);
}

void Roofline::drawGrid() {
  const double bottom = kTop + kPlotHeight, right = kLeft + kPlotWidth;
  for (int decade = intensity.firstDecade; decade <= intensity.lastDecade;
       ++decade) {
    double x = intensity.place(std::pow(10, decade));
    line({x, kTop}, {x, bottom}, "stroke=\"#ddd\"");
    text({x, bottom + 16}, fmt::format("{:g}", std::pow(10, decade)),
         "text-anchor=\"middle\"");
  }
  for (int decade = rate.firstDecade; decade <= rate.lastDecade; ++decade) {
    double y = rate.place(std::pow(10, decade));
    line({kLeft, y}, {right, y}, "stroke=\"#ddd\"");
    text({kLeft - 6, y + 4}, rateName(decade),
         "text-anchor=\"end\" font-size=\"10\"");
  }
  text({(kLeft + right) / 2, bottom + 34},
       "FLOPs a byte that must cross memory", "text-anchor=\"middle\"");
}

void Roofline::drawLimits() {
  const double ridge = limits.flops / limits.copyBytes;
  const double peakY = rate.place(limits.flops);
  // The slope enters the plot at its left or at its bottom edge.
  const double start =
      std::max(intensity.least(), rate.least() / limits.copyBytes);
  const Point from = {intensity.place(start),
                      rate.place(start * limits.copyBytes)};
  const Point corner = {intensity.place(ridge), peakY};
  const double right = kLeft + kPlotWidth;
  line(from, corner, "stroke=\"#1f5fa8\" stroke-width=\"2\"");
  line(corner, {right, peakY}, "stroke=\"#b3261e\" stroke-width=\"2\"");
  text({right - 4, peakY - 6},
       fmt::format("{}, {:.1f} GFLOP/s",
                   limits.flopsBy.empty() ? "multiply-adds" : limits.flopsBy,
                   limits.flops * 1e-9),
       "text-anchor=\"end\" fill=\"#b3261e\"");
  const double angle =
      std::atan2(corner.y - from.y, corner.x - from.x) * 180 / M_PI;
  const Point middle = {(from.x + corner.x) / 2, (from.y + corner.y) / 2};
  text({middle.x, middle.y - 6},
       fmt::format("copy, {:.1f} GB/s", limits.copyBytes * 1e-9),
       fmt::format("text-anchor=\"middle\" fill=\"#1f5fa8\" "
                   "transform=\"rotate({:.1f} {:.1f} {:.1f})\"",
                   angle, middle.x, middle.y));
}

/// The nearest free place around a point for a label's upper left corner; the
/// last one tried where there is none.
Point Roofline::placeLabel(Point point, double width) {
  auto isFree = [&](Point corner) {
    if (corner.x < kLeft || corner.x + width > kLeft + kPlotWidth ||
        corner.y < kTop || corner.y + kLabelHeight > kTop + kPlotHeight)
      return false;
    bool hitsPoint = std::ranges::any_of(points, [&](Point other) {
      return other.x > corner.x - 5 && other.x < corner.x + width + 5 &&
             other.y > corner.y - 5 && other.y < corner.y + kLabelHeight + 5;
    });
    bool hitsLabel = std::ranges::any_of(labels, [&](const auto &label) {
      return label.first.x < corner.x + width + 2 &&
             corner.x < label.first.x + label.second + 2 &&
             std::abs(label.first.y - corner.y) < kLabelHeight;
    });
    return !hitsPoint && !hitsLabel;
  };
  Point corner = point;
  for (double radius = 14; radius < 160; radius += 8)
    for (int step = 0; step < 16; ++step) {
      double angle = step * M_PI / 8;
      corner = {point.x + radius * std::cos(angle) - width / 2,
                point.y - radius * std::sin(angle) - kLabelHeight / 2};
      if (isFree(corner))
        return corner;
    }
  return corner;
}

void Roofline::drawPoints() {
  for (const WorkTotal &kernel : kernels)
    points.push_back(
        {intensity.place(intensityOf(kernel)), rate.place(rateOf(kernel))});
  for (size_t i = 0; i < kernels.size(); ++i) {
    const Point point = points[i];
    const std::string number = std::to_string(i + 1);
    const double width = 7.0 * double(number.size());
    const Point corner = placeLabel(point, width);
    const Point centre = {corner.x + width / 2, corner.y + kLabelHeight / 2};
    labels.emplace_back(corner, width);
    line(point, centre, "stroke=\"#bbb\"");
    svg += fmt::format("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" "
                       "height=\"{:.1f}\" fill=\"white\"/>\n",
                       corner.x, corner.y, width, kLabelHeight);
    text({centre.x, centre.y + 4}, number,
         "text-anchor=\"middle\" font-weight=\"bold\"");
  }
  for (size_t i = 0; i < kernels.size(); ++i)
    svg += fmt::format("<circle class=\"kernel\" cx=\"{:.1f}\" cy=\"{:.1f}\" "
                       "r=\"4\" fill=\"#2e7d32\"><title>{}</title></circle>\n",
                       points[i].x, points[i].y, escape(kernels[i].label));
}

void Roofline::drawList() {
  const std::string_view right = "text-anchor=\"end\"";
  const double columns[] = {kListLeft + 18,  kListLeft + 26,  kListLeft + 380,
                            kListLeft + 435, kListLeft + 490, kListLeft + 550};
  double y = kTop + 8;
  auto row = [&](const std::vector<std::string> &cells) {
    for (size_t i = 0; i < cells.size(); ++i)
      text({columns[i], y}, cells[i], i == 1 ? "" : right);
    y += kRow;
  };
  auto percent = [](double part) { return fmt::format("{:.1f}%", 100 * part); };
  row({"", "kernel, × calls", "us", "share", "peak", "copy"});
  for (size_t i = 0; i < kernels.size(); ++i) {
    const WorkTotal &kernel = kernels[i];
    row({std::to_string(i + 1),
         fmt::format("{} × {}", shorten(kernel.label, kNameColumns),
                     kernel.calls),
         fmt::format("{:.1f}", kernel.seconds * 1e6),
         percent(kernel.seconds / seconds),
         percent(rateOf(kernel) / limits.flops),
         percent(kernel.bytes / kernel.seconds / limits.copyBytes)});
  }
}

std::string Roofline::draw(std::string_view title) {
  const double listBottom = kTop + kRow * double(kernels.size() + 2);
  const double height = std::max(kTop + kPlotHeight + 50, listBottom);
  svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" "
      "viewBox=\"0 0 {0} {1}\" font-family=\"sans-serif\" font-size=\"12\">\n"
      "<rect width=\"{0}\" height=\"{1}\" fill=\"white\"/>\n",
      kWidth, height);
  text({kLeft, 28}, title, "font-size=\"15\"");
  drawGrid();
  drawLimits();
  drawPoints();
  drawList();
  return std::move(svg) + "</svg>\n";
}

} // namespace

std::string rooflineSvg(const StepProfile &profile, const MachineLimits &limits,
                        std::string_view title) {
  return Roofline(profile, limits).draw(title);
}

} // namespace betz
