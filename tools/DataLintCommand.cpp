// `data lint`: faults of a protocol that make its scores worth nothing.
#include "runtime/base/File.h"
#include "tools/DataCommands.h"
#include "train/protocol/Lint.h"

#include <fmt/format.h>

namespace betz {
namespace {

struct LintOptions {
  std::string file;
  std::string json;
};

void print(const train::LintReport &report) {
  for (const train::Fault &fault : report.faults)
    fmt::print("{}: {}{}{}\n", fault.rule, fault.file,
               fault.file.empty() ? "" : ": ", fault.message);
  for (const std::string &note : report.notes)
    fmt::print("note: {}\n", note);
  if (report.faults.empty())
    fmt::print("no fault found\n");
}

Status runLint(const LintOptions &options) {
  BETZ_RETURN_IF_ERROR(checkOutputs({options.json}, {options.file}));
  BETZ_ASSIGN_OR_RETURN(train::ProtocolDescription protocol,
                        train::ProtocolDescription::read(options.file));
  BETZ_ASSIGN_OR_RETURN(train::LintReport report,
                        train::lintProtocol(protocol));
  if (options.json != "-")
    print(report);
  if (!options.json.empty())
    BETZ_RETURN_IF_ERROR(writeJsonReport(toJson(report), options.json));
  if (report.faults.empty())
    return Status::ok();
  return checkFailed(fmt::format("{}: {} fault{}", options.file,
                                 report.faults.size(),
                                 report.faults.size() == 1 ? "" : "s"));
}

} // namespace

void addDataLint(CommandLine &line, CLI::App *data) {
  auto options = std::make_shared<LintOptions>();
  CLI::App *command = line.addCommand(
      "lint",
      "Hold a decoding protocol to its recordings: future data, overlapping "
      "splits, behaviour shifted by gaps, held-out statistics, time told by "
      "padding.",
      [options] { return runLint(*options); }, data);
  command->add_option("protocol", options->file, "The protocol (TOML)")
      ->required();
  command->add_option("--json", options->json,
                      "Write the report as JSON to a file, or - for stdout");
  command->footer(
      "Exits 1 with a line for each fault. A protocol; all keys but "
      "recordings may be left out:\n"
      "  recordings = [\"day1.nwb\"]      # relative to this file\n"
      "  series = \"hand_vel\"\n"
      "  bin_ms = 20\n"
      "  history_bins = 15\n"
      "  stride_bins = 1\n"
      "  target = \"last\"               # or middle, first: bin of the "
      "window\n"
      "  padding = \"empty\"             # or none: whole windows only\n"
      "  windows_cross_trials = false\n"
      "  smoothing = \"none\"            # or causal, symmetric\n"
      "  smoothing_ms = 0\n"
      "  split = \"trial\"               # or window\n"
      "  scale = \"train\"               # or all\n"
      "  behavior_rows = \"time\"        # or number, interpolated\n"
      "  clock_r2_limit = 0.1\n"
      "  seed = 0");
}

} // namespace betz
