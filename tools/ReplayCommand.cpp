// `replay F M.betz`: a log of `serve --record` once more.
#include "runtime/base/File.h"
#include "runtime/base/Json.h"
#include "runtime/session/OpenDevice.h"
#include "serve/record/Replay.h"
#include "tools/RuntimeCommands.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace betz {
namespace {

struct ReplayOptions {
  std::string log;
  std::string program;
  std::string device = "cpu";
  int threads = 0;
  std::string json;
};

Json toJson(const serve::ReplayResult &result, const ReplayOptions &options,
            const std::string &device) {
  Json report = {{"log", options.log},
                 {"program", options.program},
                 {"device", device},
                 {"recorded_devices", result.devices},
                 {"batches", result.batches},
                 {"windows", result.windows},
                 {"skipped_batches", result.skipped},
                 {"dropped_batches", result.dropped},
                 {"complete", result.isComplete},
                 {"equal", !result.difference.has_value()},
                 {"difference", nullptr}};
  if (const auto &first = result.difference)
    report["difference"] = {{"batch", first->batch},
                            {"window", first->window},
                            {"column", first->column},
                            {"recorded", first->recorded},
                            {"replayed", first->replayed}};
  return report;
}

void print(const serve::ReplayResult &result) {
  if (!result.difference)
    fmt::print("{} batches with {} windows have the bits that were recorded\n",
               result.batches, result.windows);
  if (result.skipped > 0)
    fmt::print("{} batches are of other programs and were not run\n",
               result.skipped);
  if (result.dropped > 0)
    fmt::print("{} batches are not in the log: its writer dropped them\n",
               result.dropped);
  if (!result.isComplete && !result.difference)
    fmt::print("the log has no end: its server was killed, or the file is cut "
               "off; these are the batches up to the last whole one\n");
}

/// A failed check that names the first difference.
Status judge(const serve::ReplayResult &result, const std::string &device) {
  if (!result.difference)
    return Status::ok();
  const serve::ReplayDifference &first = *result.difference;
  return checkFailed(fmt::format(
      "batch {}, window {}, column {}: recorded {:.9g}, replayed {:.9g}; "
      "recorded on {}, replayed on {}",
      first.batch, first.window, first.column, first.recorded, first.replayed,
      fmt::join(result.devices, " and "), device));
}

Status run(const ReplayOptions &options) {
  BETZ_RETURN_IF_ERROR(
      checkOutputs({options.json}, {options.log, options.program}));
  BETZ_ASSIGN_OR_RETURN(const MappedFile file, MappedFile::open(options.log));
  Result<serve::RecordReader> log = serve::RecordReader::open(file.bytes());
  if (!log.isOk())
    return std::move(log).status().withContext(options.log);
  BETZ_ASSIGN_OR_RETURN(std::shared_ptr<const Program> program,
                        readProgram(options.program));
  const std::string hash = programHash(*program);
  BETZ_ASSIGN_OR_RETURN(
      std::shared_ptr<Device> device,
      openDevice(options.device, {.threads = options.threads}));
  const std::string deviceName = device->name();
  BETZ_ASSIGN_OR_RETURN(
      std::unique_ptr<serve::LoadedModel> model,
      serve::LoadedModel::create(std::move(program), std::move(device), 1, 0));
  Result<serve::ReplayResult> result = serve::replay(*log, *model, hash);
  if (!result.isOk())
    return std::move(result).status().withContext(options.log);
  if (options.json != "-")
    print(*result);
  if (!options.json.empty())
    BETZ_RETURN_IF_ERROR(
        writeJsonReport(toJson(*result, options, deviceName), options.json));
  return judge(*result, deviceName);
}

} // namespace

void addReplayCommand(CommandLine &line) {
  auto options = std::make_shared<ReplayOptions>();
  CLI::App *command = line.addCommand(
      "replay", "Run the batches of a server's log again and compare the bits",
      [options] { return run(*options); });
  command->add_option("log", options->log, "A log of serve --record")
      ->required();
  command->add_option("program", options->program, "The program that ran")
      ->required();
  command->add_option("--device", options->device, "cpu, cuda or cuda:N")
      ->capture_default_str();
  command->add_option("--threads", options->threads,
                      "Threads of the cpu device (default: one a core)");
  command->add_option("--json", options->json,
                      "Write a report to FILE, or - for standard output");
  command->footer(
      "Exits with 0 if all outputs have the recorded bits, with 1 if one has "
      "not; the first\nbatch, window and column are named. Batches of other "
      "programs are left out.\n"
      "Examples:\n"
      "  serve m.betz --record day.log\n"
      "  replay day.log m.betz\n"
      "  replay day.log m.betz --json -");
}

} // namespace betz
