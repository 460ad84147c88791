#include "tools/CommandLine.h"

#include <cstdio>
#include <fmt/format.h>

namespace betz {

CommandLine::CommandLine(std::string program, std::string description)
    : program(program), app(std::move(description), program) {
  app.set_version_flag("--version", program + " " BETZ_VERSION);
  app.require_subcommand(1);
  app.set_help_all_flag("--help-all", "Help of every command");
}

CLI::App *CommandLine::addCommand(std::string name, std::string description,
                                  std::function<Status()> action,
                                  CLI::App *parent) {
  CLI::App *command =
      (parent ? parent : &app)->add_subcommand(name, std::move(description));
  command->set_version_flag("--version", program + " " BETZ_VERSION);
  if (action)
    command->callback([this, action = std::move(action)] { chosen = action; });
  else
    command->require_subcommand(1);
  return command;
}

int CommandLine::run(int argc, char **argv) {
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError &error) {
    if (error.get_exit_code() == 0)
      return app.exit(error); // --help, --version
    fmt::print(stderr, "{}: error: {}; see {} --help\n", program, error.what(),
               program);
    return 2;
  }
  Status status = chosen();
  if (std::fflush(stdout) != 0 && status.isOk())
    status = resourceExhausted("cannot write to standard output");
  if (status.isOk())
    return 0;
  fmt::print(stderr, "{}: error: {}\n", program, status.message());
  return status.getCode() == StatusCode::CheckFailed ? 1 : 2;
}

} // namespace betz
