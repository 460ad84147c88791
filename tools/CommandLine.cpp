#include "tools/CommandLine.h"

#include "runtime/base/File.h"
#include "runtime/base/Suggest.h"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <exception>
#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

namespace betz {

namespace {

/// A file that Betz opens must not become standard output because the caller
/// closed that: reads from and writes to a missing one shall fail.
void holdStandardDescriptors() {
  for (int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (::fcntl(fd, F_GETFD) < 0 && errno == EBADF)
      (void)::open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}

/// An interrupt ends the process as ever, but leaves no half-written file.
void cleanUpOnInterrupt() {
  auto handler = [](int signal) {
    removePartialFiles();
    // Made deadly here: NVRTC puts handlers back with other flags.
    struct sigaction deadly = {};
    deadly.sa_handler = SIG_DFL;
    ::sigaction(signal, &deadly, nullptr);
    sigset_t own;
    ::sigemptyset(&own);
    ::sigaddset(&own, signal);
    ::pthread_sigmask(SIG_UNBLOCK, &own, nullptr);
    ::raise(signal);
  };
  struct sigaction action = {};
  action.sa_handler = handler;
  for (int signal : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction before = {};
    // nohup's ignored SIGHUP stays ignored.
    if (::sigaction(signal, nullptr, &before) == 0 &&
        before.sa_handler == SIG_DFL)
      ::sigaction(signal, &action, nullptr);
  }
}

/// The innermost command on the line, "betz data inspect".
const CLI::App *innermost(const CLI::App &app, std::string &names) {
  const CLI::App *command = &app;
  names = app.get_name();
  while (!command->get_subcommands().empty()) {
    command = command->get_subcommands().front();
    names += " " + command->get_name();
  }
  return command;
}

std::vector<std::string> commandsOf(const CLI::App &app) {
  std::vector<std::string> names;
  for (const CLI::App *command : app.get_subcommands({}))
    names.push_back(command->get_name());
  return names;
}

/// What is wrong with a line that names no command of `app`.
std::string missingCommand(const CLI::App &app) {
  std::vector<std::string> extras = app.remaining();
  std::vector<std::string> known = commandsOf(app);
  std::string list = fmt::format("{}", fmt::join(known, ", "));
  if (extras.empty())
    return "no command; give one of " + list;
  std::string near = nearestName(extras.front(), known);
  return fmt::format("no command \"{}\"; {}", extras.front(),
                     near.empty() ? "there are " + list
                                  : fmt::format("did you mean {}?", near));
}

/// The first option of `command` whose value is "", as "$UNSET" gives; it must
/// not pass for an option left out.
const CLI::Option *findEmptyValue(const CLI::App &command) {
  for (const CLI::Option *option : command.get_options())
    for (const std::string &value : option->results())
      if (value.empty())
        return option;
  return nullptr;
}

} // namespace

CommandLine::CommandLine(std::string program, std::string description)
    : program(program), app(std::move(description), program) {
  app.set_version_flag("--version", program + " " BETZ_VERSION);
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
  return command;
}

Status CommandLine::runChosen() {
  // A last resort: sizes are checked before memory is taken wherever they are
  // known.
  try {
    return chosen();
  } catch (const std::bad_alloc &) {
    return resourceExhausted("out of memory; give a smaller model or input");
  } catch (const std::length_error &) {
    return resourceExhausted("a size is larger than memory; give a smaller "
                             "model or input");
  } catch (const std::exception &error) {
    return internalError(error.what());
  }
}

int CommandLine::run(int argc, char **argv) {
  holdStandardDescriptors();
  cleanUpOnInterrupt();
  auto fail = [&](std::string_view message) {
    fmt::print(stderr, "{}: error: {}\n", program, message);
    return 2;
  };
  std::string names;
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError &error) {
    if (error.get_exit_code() == 0)
      return app.exit(error); // --help, --version
    const CLI::App *command = innermost(app, names);
    bool known = commandsOf(*command).empty();
    return fail(fmt::format("{}; see {} --help",
                            known ? error.what() : missingCommand(*command),
                            names));
  }
  if (!chosen) {
    const CLI::App *command = innermost(app, names);
    return fail(
        fmt::format("{}; see {} --help", missingCommand(*command), names));
  }
  if (const CLI::Option *option = findEmptyValue(*innermost(app, names)))
    return fail(fmt::format("{}: its value is empty; give one or leave it out",
                            option->get_name()));
  Status status = runChosen();
  if (std::fflush(stdout) != 0 && status.isOk())
    status = resourceExhausted("cannot write to standard output");
  if (status.isOk())
    return 0;
  fail(status.message());
  return status.getCode() == StatusCode::CheckFailed ? 1 : 2;
}

} // namespace betz
