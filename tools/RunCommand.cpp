// `run M.betz --input C`: one batch from a file. `run M.betz --nwb F`: every
// window of a recording (Decode.h).
#include "runtime/base/File.h"
#include "runtime/base/Json.h"
#include "runtime/base/Log.h"
#include "runtime/io/Safetensors.h"
#include "runtime/session/BatchedRun.h"
#include "tools/Compare.h"
#include "tools/Decode.h"
#include "tools/HostStep.h"
#include "tools/OpenProgram.h"
#include "tools/RuntimeCommands.h"

#include <bit>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace betz {
namespace {

struct RunOptions {
  ProgramRequest program;
  std::string input;
  std::string expect;
  double tolerance = 2e-5;
  std::string output;
  std::string json;
  DecodeOptions decode;
};

/// The elements as doubles.
std::vector<double> toDoubles(const HostTensor &tensor) {
  auto convert = [](auto values) {
    return std::vector<double>(values.begin(), values.end());
  };
  switch (tensor.dtype) {
  case DType::F32:
    return convert(tensor.as<float>());
  case DType::F64:
    return convert(tensor.as<double>());
  case DType::I32:
    return convert(tensor.as<int32_t>());
  case DType::I8:
    return convert(tensor.as<int8_t>());
  case DType::BF16:
    break;
  }
  std::vector<double> values;
  for (uint16_t bits : tensor.as<uint16_t>())
    values.push_back(std::bit_cast<float>(uint32_t(bits) << 16));
  return values;
}

Status compareWithFile(std::span<const HostTensor> results,
                       const RunOptions &options, Json &report) {
  BETZ_ASSIGN_OR_RETURN(SafetensorsFile file,
                        SafetensorsFile::open(options.expect));
  std::vector<NamedValues> outputs, expected;
  for (const HostTensor &result : results) {
    outputs.push_back({result.name, result.shape, toDoubles(result)});
    const SafeTensor *found = file.find(result.name);
    if (!found)
      continue;
    Result<HostTensor> tensor = toHost(*found);
    if (!tensor.isOk())
      return std::move(tensor).status().withContext(options.expect);
    expected.push_back({result.name, tensor->shape, toDoubles(*tensor)});
  }
  return compareOutputs(outputs, expected, options.tolerance, report);
}

Status runInputFile(OpenedProgram &opened, const RunOptions &options) {
  Session &session = *opened.session;
  BETZ_ASSIGN_OR_RETURN(HostStep step,
                        readStep(session.program(), options.input));
  Clock::time_point start = Clock::now();
  BETZ_RETURN_IF_ERROR(
      runBatched(session, step.bindInputs(), step.bindOutputs())
          .withContext(options.input));
  const double seconds = secondsSince(start);

  Json report = {{"program", options.program.program.string()},
                 {"device", session.device().name()},
                 {"isa", session.isa()},
                 {"load_s", opened.seconds},
                 {"device_s", opened.deviceSeconds},
                 {"seconds", seconds},
                 {"outputs", Json::object()}};
  std::vector<SafeTensor> tensors;
  for (const HostTensor &result : step.outputs) {
    report["outputs"][result.name] = result.shape;
    tensors.push_back(toSafe(result));
    if (options.expect.empty() && options.json != "-")
      fmt::print("{}: {} [{}]\n", result.name, toString(result.dtype),
                 fmt::join(result.shape, ", "));
  }
  if (!options.output.empty())
    BETZ_RETURN_IF_ERROR(writeSafetensors(options.output, tensors, {}));
  Status status;
  if (!options.expect.empty()) {
    status = compareWithFile(step.outputs, options, report);
    if (options.json != "-" && report.contains("compared"))
      printComparison(report, options.tolerance);
  }
  if (!options.json.empty())
    BETZ_RETURN_IF_ERROR(writeJsonReport(report, options.json));
  return status;
}

Status runRecording(OpenedProgram &opened, const RunOptions &options) {
  BETZ_ASSIGN_OR_RETURN(Json report,
                        decodeRecording(*opened.session, options.decode));
  report["program"] = options.program.program.string();
  report["load_s"] = opened.seconds;
  report["device_s"] = opened.deviceSeconds;
  if (options.json != "-")
    printDecodeReport(report);
  return options.json.empty() ? Status::ok()
                              : writeJsonReport(report, options.json);
}

Status run(const RunOptions &options) {
  if (options.input.empty() == options.decode.recording.empty())
    return invalidArgument("give either --input FILE or --nwb FILE");
  if (!(options.tolerance >= 0))
    return invalidArgument("--tol must be 0 or more");
  BETZ_RETURN_IF_ERROR(
      checkOutputs({options.output, options.decode.csv, options.json},
                   {options.program.program, options.input, options.expect,
                    options.decode.recording, options.decode.behavior}));
  BETZ_ASSIGN_OR_RETURN(OpenedProgram opened, openProgram(options.program));
  return options.input.empty() ? runRecording(opened, options)
                               : runInputFile(opened, options);
}

} // namespace

void addRunCommand(CommandLine &line) {
  auto options = std::make_shared<RunOptions>();
  CLI::App *command = line.addCommand(
      "run", "Run a program on one batch, or on every window of a recording",
      [options] { return run(*options); });
  addProgramOptions(*command, options->program);
  CLI::Option *input = command->add_option(
      "--input", options->input,
      "Safetensors with one batch of any size, by the program's input names");
  CLI::Option *expect =
      command
          ->add_option("--expect", options->expect,
                       "Compare the outputs with those in this file; exit 1 "
                       "where they differ")
          ->needs(input);
  command
      ->add_option("--tol", options->tolerance,
                   "Allowed error, relative to the largest magnitude of each "
                   "expected tensor")
      ->capture_default_str()
      ->needs(expect);
  command
      ->add_option("--output", options->output,
                   "Write the outputs to this safetensors file")
      ->needs(input);
  DecodeOptions &decode = options->decode;
  CLI::Option *nwb =
      command->add_option("--nwb", decode.recording, "A recording to decode")
          ->excludes(input);
  command
      ->add_option("--behavior", decode.behavior,
                   "A second NWB file on the same clock with the behaviour")
      ->needs(nwb);
  command
      ->add_option("--series", decode.series,
                   "The behaviour to score against; else hand_vel, "
                   "finger_vel, cursor_vel, or the only one of two columns")
      ->needs(nwb);
  command
      ->add_option("--session", decode.session,
                   "Of a decoder of several recordings, the one that this is "
                   "of; else the one with this file's name")
      ->needs(nwb);
  command
      ->add_flag("--strict", decode.strict,
                 "Units that the program does not know are an error")
      ->needs(nwb);
  command
      ->add_option("--csv", decode.csv,
                   "Write a row a window: time, outputs, targets")
      ->needs(nwb);
  command->add_option("--json", options->json,
                      "Write a report to FILE, or - for standard output");
  command->footer("Examples:\n"
                  "  run m.betz --input c.safetensors --expect c.safetensors\n"
                  "  run m.betz --nwb session.nwb --csv decoded.csv");
}

} // namespace betz
