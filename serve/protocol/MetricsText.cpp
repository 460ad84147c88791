#include "serve/protocol/MetricsText.h"

#include <cmath>
#include <fmt/format.h>

namespace betz::serve {
namespace {

std::string_view kindName(MetricKind kind) {
  switch (kind) {
  case MetricKind::Counter:
    return "counter";
  case MetricKind::Gauge:
    return "gauge";
  case MetricKind::Histogram:
    break;
  }
  return "histogram";
}

void appendEscaped(std::string &out, std::string_view value) {
  for (char c : value) {
    if (c == '\n') {
      out += "\\n";
      continue;
    }
    if (c == '"' || c == '\\')
      out.push_back('\\');
    out.push_back(c);
  }
}

std::string formatValue(double value) {
  if (std::isnan(value))
    return "NaN";
  if (std::isinf(value))
    return value > 0 ? "+Inf" : "-Inf";
  return fmt::format("{}", value);
}

} // namespace

void MetricsText::family(std::string_view familyName, MetricKind kind,
                         std::string_view help) {
  name = familyName;
  text += fmt::format("# HELP {} {}\n# TYPE {} {}\n", name, help, name,
                      kindName(kind));
}

void MetricsText::line(std::string_view suffix, Labels labels,
                       const Label *last, double value) {
  text += name;
  text += suffix;
  char separator = '{';
  auto append = [&](const Label &label) {
    text.push_back(separator);
    text += label.first;
    text += "=\"";
    appendEscaped(text, label.second);
    text.push_back('"');
    separator = ',';
  };
  for (const Label &label : labels)
    append(label);
  if (last)
    append(*last);
  if (separator == ',')
    text.push_back('}');
  text.push_back(' ');
  text += formatValue(value);
  text.push_back('\n');
}

void MetricsText::sample(Labels labels, double value) {
  line("", labels, nullptr, value);
}

void MetricsText::histogram(Labels labels, const Histogram &histogram) {
  uint64_t below = 0;
  for (size_t i = 0; i < histogram.counts.size(); ++i) {
    below += histogram.counts[i];
    const std::string bound =
        i < histogram.bounds.size() ? formatValue(histogram.bounds[i]) : "+Inf";
    const Label le = {"le", bound};
    line("_bucket", labels, &le, static_cast<double>(below));
  }
  line("_sum", labels, nullptr, histogram.sum);
  line("_count", labels, nullptr, static_cast<double>(below));
}

} // namespace betz::serve
