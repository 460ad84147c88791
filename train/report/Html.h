//===- Html.h - An evaluation as one page ---------------------------------===//
#pragma once

#include "train/report/Evaluation.h"

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace betz::train {

/// What the evaluation does not know of the decoder: "parameters", "device".
struct ReportFacts {
  /// What was judged: "run/decoder.safetensors", "m.betz".
  std::string decoder;
  std::vector<std::pair<std::string, std::string>> lines;
};

/// One file without scripts or links, for wide and narrow screens, in light
/// and dark.
std::string toHtml(const Evaluation &evaluation, const ReportFacts &facts);

/// Writes report.json (`json`) and report.html into `folder`.
Status writeReport(const Evaluation &evaluation, const ReportFacts &facts,
                   const Json &json, const std::filesystem::path &folder);

} // namespace betz::train
