#include "tools/Svg.h"

#include <fmt/format.h>
#include <iterator>

namespace betz {

namespace {

/// Width of a sans-serif character, in ems: more than the average of common
/// fonts, as text must not overlap in any.
constexpr double kCharacterEms = 0.62;

} // namespace

std::string fitText(std::string_view text, double width, double size) {
  size_t limit = size_t(width / (size * kCharacterEms));
  // Counts characters of UTF-8, not bytes.
  auto continues = [&](size_t at) { return (text[at] & 0xC0) == 0x80; };
  size_t count = 0, cut = text.size();
  for (size_t at = 0; at < text.size(); ++at) {
    if (continues(at))
      continue;
    if (++count == limit)
      cut = at;
  }
  if (count <= limit)
    return std::string(text);
  return std::string(text.substr(0, cut)) + "…";
}

void SvgPage::beginGroup(std::string_view className, std::string_view tooltip) {
  body += fmt::format("<g class=\"{}\">\n", className);
  if (!tooltip.empty())
    body += fmt::format("<title>{}</title>\n", escapeXml(tooltip));
}

void SvgPage::endGroup() { body += "</g>\n"; }

void SvgPage::rect(double x, double y, double width, double height,
                   std::string_view fill, std::string_view stroke,
                   double radius) {
  fmt::format_to(
      std::back_inserter(body),
      "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" "
      "height=\"{:.1f}\" rx=\"{:.1f}\" fill=\"{}\" stroke=\"{}\"/>\n",
      x, y, width, height, radius, fill, stroke);
}

void SvgPage::text(double x, double y, std::string_view text,
                   const TextStyle &style) {
  fmt::format_to(std::back_inserter(body),
                 "<text x=\"{:.1f}\" y=\"{:.1f}\" font-size=\"{:g}\" "
                 "text-anchor=\"{}\" fill=\"{}\"{}>{}</text>\n",
                 x, y, style.size, style.anchor, style.fill,
                 style.bold ? " font-weight=\"bold\"" : "", escapeXml(text));
}

void SvgPage::path(std::string_view path, std::string_view stroke, bool arrow) {
  fmt::format_to(std::back_inserter(body),
                 "<path d=\"{}\" fill=\"none\" stroke=\"{}\" "
                 "stroke-width=\"1.3\"{}/>\n",
                 path, stroke, arrow ? " marker-end=\"url(#arrow)\"" : "");
}

void SvgPage::dot(double x, double y, std::string_view fill) {
  fmt::format_to(std::back_inserter(body),
                 "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"2.5\" "
                 "fill=\"{}\"/>\n",
                 x, y, fill);
}

std::string SvgPage::finish(double width, double height,
                            std::string_view title) const {
  return fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" "
      "height=\"{1:.0f}\" viewBox=\"0 0 {0:.0f} {1:.0f}\" "
      "font-family=\"Helvetica, Arial, sans-serif\">\n"
      "<title>{2}</title>\n"
      "<defs><marker id=\"arrow\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" "
      "markerWidth=\"6\" markerHeight=\"6\" orient=\"auto\">"
      "<path d=\"M0 0 L8 4 L0 8 z\" fill=\"#52606d\"/></marker></defs>\n"
      "<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n{3}</svg>\n",
      width, height, escapeXml(title), body);
}

} // namespace betz
