#include "runtime/base/Options.h"

#include <cstdlib>

namespace betz {
namespace {
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
      .debug = variable("BETZ_DEBUG"),
  };
  return values;
}

} // namespace betz
