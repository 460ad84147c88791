#include "train/report/Plot.h"
#include "runtime/base/Xml.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <iterator>

namespace betz::train {
namespace {

double roundStep(double range, int most) {
  const double raw = range / std::max(1, most);
  const double ten = std::pow(10.0, std::floor(std::log10(raw)));
  for (double factor : {1.0, 2.0, 5.0})
    if (raw <= factor * ten * (1 + 1e-9))
      return factor * ten;
  return 10 * ten;
}

double stepOf(const std::vector<double> &ticks) {
  return ticks.size() > 1 ? ticks[1] - ticks[0] : std::abs(ticks[0]);
}

} // namespace

std::vector<double> roundTicks(double low, double high, int most) {
  const double step = roundStep(high - low, most);
  std::vector<double> ticks;
  for (double i = std::ceil(low / step - 1e-9); i * step <= high + 1e-9 * step;
       ++i)
    ticks.push_back(i * step);
  if (ticks.empty())
    ticks.push_back(low);
  return ticks;
}

std::string tickText(double value, double step) {
  const int digits =
      step > 0 ? std::clamp(int(std::ceil(-std::log10(step) - 1e-9)), 0, 6) : 0;
  std::string text = fmt::format("{:.{}f}", value, digits);
  if (text.starts_with('-'))
    text = (std::stod(text) == 0 ? "" : "−") + text.substr(1);
  return text;
}

std::string sizeText(double value) {
  if (!std::isfinite(value))
    return "–";
  if (value == 0)
    return "0";
  return tickText(value,
                  std::pow(10.0, std::floor(std::log10(std::abs(value))) - 2));
}

Plot::Plot(double width, double height, std::string_view label)
    : head(fmt::format("<svg viewBox=\"0 0 {:g} {:g}\" role=\"img\" "
                       "aria-label=\"{}\">\n",
                       width, height, escapeXml(label))) {}

void Plot::line(Point from, Point to, std::string_view className) {
  fmt::format_to(std::back_inserter(body),
                 "<line class=\"{}\" x1=\"{:.1f}\" y1=\"{:.1f}\" "
                 "x2=\"{:.1f}\" y2=\"{:.1f}\"/>\n",
                 className, from.x, from.y, to.x, to.y);
}

void Plot::curve(std::span<const Point> points, std::string_view className) {
  std::string path;
  bool isDown = false;
  for (const Point &point : points) {
    const bool isUsable = std::isfinite(point.x) && std::isfinite(point.y);
    if (isUsable)
      fmt::format_to(std::back_inserter(path), "{}{:.1f} {:.1f}",
                     isDown ? "L" : "M", point.x, point.y);
    isDown = isUsable;
  }
  fmt::format_to(std::back_inserter(body), "<path class=\"{}\" d=\"{}\"/>\n",
                 className, path);
}

void Plot::dot(Point at, double radius, std::string_view className) {
  fmt::format_to(std::back_inserter(body),
                 "<circle class=\"{}\" cx=\"{:.1f}\" cy=\"{:.1f}\" "
                 "r=\"{:g}\"/>\n",
                 className, at.x, at.y, radius);
}

void Plot::text(Point at, std::string_view text, std::string_view className,
                std::string_view anchor) {
  fmt::format_to(std::back_inserter(body),
                 "<text class=\"{}\" x=\"{:.1f}\" y=\"{:.1f}\" "
                 "text-anchor=\"{}\">{}</text>\n",
                 className, at.x, at.y, anchor, escapeXml(text));
}

void Plot::ticksBelow(const Axis &x, double y, int most) {
  const std::vector<double> ticks = roundTicks(x.low, x.high, most);
  for (double tick : ticks) {
    line({x(tick), y}, {x(tick), y + 3}, "axis");
    text({x(tick), y + 14}, tickText(tick, stepOf(ticks)), "tick", "middle");
  }
}

void Plot::ticksLeft(const Axis &y, double x, double right, int most) {
  const std::vector<double> ticks = roundTicks(y.low, y.high, most);
  for (double tick : ticks) {
    line({x, y(tick)}, {right, y(tick)}, "grid");
    text({x - 5, y(tick) + 3.5}, tickText(tick, stepOf(ticks)), "tick", "end");
  }
}

std::string Plot::finish() const { return head + body + "</svg>\n"; }

} // namespace betz::train
