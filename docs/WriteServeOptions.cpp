// Writes the table of a server's options in Markdown.
#include "serve/http/ServerConfig.h"

#include <fmt/format.h>

using namespace betz::serve;

int main() {
  fmt::print("# Options of a server\n\n"
             "Flags of `betz serve`. `--max-queue` is `max_queue` in the TOML "
             "file and\n`BETZ_SERVE_MAX_QUEUE` in the environment; so for all. "
             "What ends in `-ms` is in\nmilliseconds.\n\n"
             "| option | default | what |\n|---|---|---|\n");
  ServerConfig defaults;
  for (const ConfigOption &option : configOptions()) {
    const std::string value = optionText(option, defaults);
    fmt::print("| `--{}` | {} | {} |\n", option.name,
               value.empty() ? "" : fmt::format("`{}`", value), option.help);
  }
}
