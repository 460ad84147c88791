//===- Svg.h - Drawing self-contained SVG files ---------------------------===//
#pragma once

#include "runtime/base/Xml.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace betz {

/// `text`, cut with an ellipsis to what surely fits into `width` pixels of
/// sans-serif at `size`.
std::string fitText(std::string_view text, double width, double size);

/// A page that grows by drawing on it; what comes later lies on top.
class SvgPage {
public:
  struct TextStyle {
    double size = 12;
    std::string_view anchor = "start"; // or "middle", "end"
    bool bold = false;
    std::string_view fill = "#1f2933";
  };

  /// Opens a group with a class, and a tooltip unless it is empty.
  void beginGroup(std::string_view className, std::string_view tooltip = "");
  void endGroup();
  void rect(double x, double y, double width, double height,
            std::string_view fill, std::string_view stroke = "none",
            double radius = 0);
  /// The baseline of the text lies at `y`.
  void text(double x, double y, std::string_view text, const TextStyle &style);
  /// An open path in SVG's notation; `arrow` puts a head at its end.
  void path(std::string_view path, std::string_view stroke, bool arrow);
  void dot(double x, double y, std::string_view fill);

  /// The file, with what was drawn so far.
  std::string finish(double width, double height, std::string_view title) const;

private:
  std::string body;
};

} // namespace betz
