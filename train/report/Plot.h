//===- Plot.h - Inline SVG, styled by the page ----------------------------===//
//
// Elements carry classes only; Html.cpp has their colours, for light and dark.
// A drawing is about 350 units wide, which is a telephone's width, and scales.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace betz::train {

struct Point {
  double x = 0;
  double y = 0;
};

/// Values from `low` to `high` on the drawing from `from` to `to`.
struct Axis {
  double low = 0, high = 1;
  double from = 0, to = 1;

  double operator()(double value) const {
    return from + (value - low) / (high - low) * (to - from);
  }
};

/// One to about `most` round numbers within the range, rising.
std::vector<double> roundTicks(double low, double high, int most);

/// As short as tells `step` apart; with a true minus sign.
std::string tickText(double value, double step);

/// Three digits of a size of any unit; "–" for what is no number.
std::string sizeText(double value);

class Plot {
public:
  /// `label` says what it shows, for those who cannot see it.
  Plot(double width, double height, std::string_view label);

  void line(Point from, Point to, std::string_view className);
  /// Broken where a point is not finite.
  void curve(std::span<const Point> points, std::string_view className);
  void dot(Point at, double radius, std::string_view className);
  /// `anchor`: start, middle or end.
  void text(Point at, std::string_view text, std::string_view className,
            std::string_view anchor = "start");
  /// Ticks and numbers below `y`.
  void ticksBelow(const Axis &x, double y, int most);
  /// Numbers left of the axis' `x`, with faint lines to `right`.
  void ticksLeft(const Axis &y, double x, double right, int most);

  std::string finish() const;

private:
  std::string head, body;
};

} // namespace betz::train
