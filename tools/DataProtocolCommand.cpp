// `data protocol`: what a training run on recordings would be judged by.
#include "runtime/base/File.h"
#include "tools/DataCommands.h"
#include "train/protocol/Report.h"

#include <fmt/format.h>

namespace betz {
namespace {

struct ProtocolOptions {
  std::vector<std::string> files;
  train::DataSpec spec;
  std::string json;
};

Status runProtocol(const ProtocolOptions &options) {
  const std::vector<std::filesystem::path> files(options.files.begin(),
                                                 options.files.end());
  BETZ_RETURN_IF_ERROR(checkOutputs({options.json}, files));
  BETZ_ASSIGN_OR_RETURN(train::Dataset dataset,
                        train::Dataset::open(files, options.spec));
  BETZ_ASSIGN_OR_RETURN(train::ProtocolReport report,
                        train::describeProtocol(dataset));
  if (options.json != "-")
    fmt::print("{}", toText(report));
  return options.json.empty() ? Status::ok()
                              : writeJsonReport(toJson(report), options.json);
}

} // namespace

void addDataProtocol(CommandLine &line, CLI::App *data) {
  auto options = std::make_shared<ProtocolOptions>();
  CLI::App *command = line.addCommand(
      "protocol",
      "Say what a decoder trained on these recordings would be judged by: "
      "window, target, splits, and the R² of controls and baselines.",
      [options] { return runProtocol(*options); }, data);
  command->add_option("files", options->files, "Recordings (NWB)")->required();
  command->add_option("--series", options->spec.series,
                      "The behaviour to predict; else hand_vel, finger_vel, "
                      "cursor_vel, or the only series with two columns");
  command->add_option("--bin-ms", options->spec.binMs,
                      "Else the step of the behaviour's rows if 10 ms or more, "
                      "else 20 ms");
  command
      ->add_option("--history-bins", options->spec.historyBins,
                   "Bins of a window, its last one included")
      ->capture_default_str();
  command
      ->add_option("--stride-bins", options->spec.strideBins,
                   "From one window to the next")
      ->capture_default_str();
  command
      ->add_option("--seed", options->spec.seed,
                   "Draws splits that the file does not give, and resamples")
      ->capture_default_str();
  command->add_option("--json", options->json,
                      "Write the report as JSON to a file, or - for stdout");
  command->footer(
      "Windows never cross the start of a trial. Baselines are fitted on "
      "train, chosen on\nval and scored on test. A decoder must beat ridge, "
      "and its score means little if\nclock only or rotated comes "
      "near.\n\nExample\n  data protocol day1.nwb day2.nwb --history-bins 15 "
      "--json protocol.json");
}

} // namespace betz
