//===- MetricsText.h - Prometheus' text format, version 0.0.4 -------------===//
#pragma once

#include "serve/engine/Statistics.h"

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

namespace betz::serve {

/// A label's name and value, which is escaped.
using Label = std::pair<std::string_view, std::string_view>;
using Labels = std::initializer_list<Label>;

enum class MetricKind : uint8_t { Counter, Gauge, Histogram };

/// Builds an exposition: one family after another, each with its samples.
class MetricsText {
public:
  static constexpr std::string_view kContentType =
      "text/plain; version=0.0.4; charset=utf-8";

  /// Begins a family; the samples that follow are its own.
  void family(std::string_view name, MetricKind kind, std::string_view help);
  void sample(Labels labels, double value);
  /// Cumulative buckets with +Inf, sum and count, which agree.
  void histogram(Labels labels, const Histogram &histogram);

  std::string take() && { return std::move(text); }

private:
  void line(std::string_view suffix, Labels labels, const Label *last,
            double value);

  std::string text;
  std::string name;
};

} // namespace betz::serve
