//===- CommandLine.h - Subcommands and exit codes -------------------------===//
//
// A command lives in tools/<Name>Command.cpp and offers one function
//   void addNameCommand(CommandLine &line);
// that declares its options with CLI11 and hands over what to do.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/base/Status.h"

#include <CLI/CLI.hpp>
#include <functional>
#include <memory>
#include <string>

namespace betz {

/// For outputs that are files only: "-" is no name of one.
inline const CLI::Validator kFileName(
    [](std::string &name) {
      return name == "-" ? std::string("cannot go to standard output; give a "
                                       "file's name")
                         : std::string();
    },
    "");

class CommandLine {
public:
  CommandLine(std::string program, std::string description);

  /// Declares `name` (under `parent` if given). `action` runs after parsing
  /// when this subcommand was chosen.
  CLI::App *addCommand(std::string name, std::string description,
                       std::function<Status()> action,
                       CLI::App *parent = nullptr);

  /// Parses, runs the chosen action and returns the exit code: 0 ok, 1 a check
  /// failed, 2 bad usage or input. Errors are one line on stderr.
  int run(int argc, char **argv);

private:
  Status runChosen();

  std::string program;
  CLI::App app;
  std::function<Status()> chosen;
};

} // namespace betz
