#include "runtime/base/Options.h"

#include <cstdlib>

namespace betz {
namespace {
bool isSet(const char *name) { return std::getenv(name) != nullptr; }

std::string variable(const char *name) {
  const char *value = std::getenv(name);
  return value ? value : "";
}
} // namespace

const Environment &environment() {
  static const Environment values = {
      .logLevel = variable("BETZ_LOG"),
      .cpuIsa = variable("BETZ_CPU_ISA"),
      .linker = variable("BETZ_LINKER"),
      .nvrtc = variable("BETZ_NVRTC"),
      .cache = isSet("BETZ_CACHE") ? std::optional(variable("BETZ_CACHE"))
                                   : std::nullopt,
      .debug = variable("BETZ_DEBUG"),
  };
  return values;
}

} // namespace betz
