// `serve M.betz...`: models behind one port (serve/http).
#include "serve/http/Server.h"
#include "serve/record/RecordWriter.h"
#include "tools/PlayedSession.h"
#include "tools/RuntimeCommands.h"

#include <algorithm>
#include <csignal>
#include <fmt/format.h>

namespace betz {
namespace {

using serve::ConfigOption;

struct ServeOptions {
  /// FILE, or NAME=FILE.
  std::vector<std::string> programs;
  std::string configFile;
  /// A recording for the page to play; or "".
  std::string session;
  /// Options that the command line gives, as they were written.
  std::vector<std::pair<const ConfigOption *, std::string>> given;
};

Result<serve::ServerConfig> gatherConfig(const ServeOptions &options) {
  serve::ServerConfig config;
  if (!options.configFile.empty())
    BETZ_RETURN_IF_ERROR(serve::readConfigFile(options.configFile, config));
  BETZ_RETURN_IF_ERROR(serve::readConfigEnvironment(config));
  for (const auto &[option, text] : options.given)
    BETZ_RETURN_IF_ERROR(
        serve::setOption(*option, text, config).withContext("command line"));
  BETZ_RETURN_IF_ERROR(serve::checkConfig(config));
  return config;
}

Result<serve::ProgramSources> nameSources(const ServeOptions &options) {
  serve::ProgramSources sources;
  for (const std::string &program : options.programs) {
    const size_t equals = program.find('=');
    const bool isNamed = equals != std::string::npos && equals > 0;
    const std::filesystem::path path =
        isNamed ? program.substr(equals + 1) : program;
    const std::string name =
        isNamed ? program.substr(0, equals) : path.stem().string();
    if (!sources.emplace(name, path).second)
      return invalidArgument(
          fmt::format("two programs are called '{}'; name one, as in other={}",
                      name, path.string()));
  }
  return sources;
}

/// The recording as the first program that was named takes it.
Result<std::string> readSession(const ServeOptions &options,
                                const serve::ProgramSources &sources) {
  if (options.session.empty())
    return std::string();
  if (sources.empty())
    return invalidArgument("--session needs a program that takes its events");
  const std::string &first = options.programs.front();
  const auto source = std::ranges::find_if(sources, [&](const auto &each) {
    return first.ends_with(each.second.string());
  });
  return playedSession(options.session, source->first, source->second);
}

Status startRecord(serve::ServerConfig &config,
                   const serve::ProgramSources &sources) {
  if (config.record.empty())
    return Status::ok();
  for (const auto &[name, path] : sources)
    if (std::error_code ignored;
        std::filesystem::equivalent(path, config.record, ignored))
      return invalidArgument(
          fmt::format("--record {} is a program", config.record));
  config.engine.observer = std::make_shared<serve::RecordWriter>(config.record);
  return Status::ok();
}

Status run(const ServeOptions &options) {
  BETZ_ASSIGN_OR_RETURN(serve::ServerConfig config, gatherConfig(options));
  BETZ_ASSIGN_OR_RETURN(const serve::ProgramSources sources,
                        nameSources(options));
  BETZ_ASSIGN_OR_RETURN(std::string session, readSession(options, sources));
  BETZ_RETURN_IF_ERROR(startRecord(config, sources));
  // Writes to a log or a client that is gone fail instead.
  std::signal(SIGPIPE, SIG_IGN);
  BETZ_ASSIGN_OR_RETURN(std::unique_ptr<serve::Engine> engine,
                        serve::Engine::create(config.engine));
  for (const auto &[name, path] : sources)
    BETZ_RETURN_IF_ERROR(engine->load({path, name, {}}));
  BETZ_ASSIGN_OR_RETURN(
      std::unique_ptr<serve::Server> server,
      serve::Server::create(*engine, config, sources, std::move(session)));
  fmt::print("serving {} model{} on {}://{}:{}, {}\n", sources.size(),
             sources.size() == 1 ? "" : "s",
             config.tlsCertificate.empty() ? "http" : "https", config.host,
             server->port(), engine->deviceName());
  if (!options.session.empty())
    fmt::print("page: {}://{}:{}/#play\n",
               config.tlsCertificate.empty() ? "http" : "https", config.host,
               server->port());
  std::fflush(stdout);
  server->run();
  return Status::ok();
}

void addConfigOption(CLI::App &command, const ConfigOption &option,
                     const std::shared_ptr<ServeOptions> &options) {
  serve::ServerConfig defaults;
  const std::string flag = fmt::format("--{}", option.name);
  const std::string help(option.help);
  if (std::holds_alternative<bool *>(option.target(defaults))) {
    command.add_flag_callback(
        flag,
        [&option, options] { options->given.emplace_back(&option, "true"); },
        help);
    return;
  }
  command
      .add_option_function<std::string>(
          flag,
          [&option, options](const std::string &text) {
            options->given.emplace_back(&option, text);
          },
          help)
      ->default_str(optionText(option, defaults));
}

} // namespace

void addServeCommand(CommandLine &line) {
  auto options = std::make_shared<ServeOptions>();
  CLI::App *command = line.addCommand(
      "serve", "Answer requests to programs over HTTP and WebSockets",
      [options] { return run(*options); });
  command->add_option("programs", options->programs,
                      "Compiled programs, FILE or NAME=FILE; a file's stem is "
                      "its model's name");
  command->add_option("--config", options->configFile,
                      "TOML file with options below, as in max_queue = 64");
  command->add_option("--session", options->session,
                      "Recording (NWB) that the live page can play through the "
                      "first program, at its own pace");
  for (const ConfigOption &option : serve::configOptions())
    addConfigOption(*command, option, options);
  command->footer(
      "Options come from --config, then BETZ_SERVE_MAX_QUEUE and its like, "
      "then the command line.\n"
      "Examples:\n"
      "  serve xs.betz\n"
      "  serve xs.betz --session session.nwb\n"
      "  serve hand=xs.betz gaze=s.betz --port 9000 --deadline-ms 30\n"
      "  curl localhost:8080/decode -d "
      "'{\"events\":[{\"neuron_id\":3,\"time_bin\":7}]}'");
}

} // namespace betz
