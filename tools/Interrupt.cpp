#include "tools/Interrupt.h"

#include <csignal>

namespace betz {

static std::atomic<bool> interrupted = false;

void stopAtFirstInterrupt() {
  struct sigaction action = {};
  action.sa_handler = [](int) { interrupted = true; };
  action.sa_flags = int(SA_RESETHAND);
  ::sigaction(SIGINT, &action, nullptr);
  ::sigaction(SIGTERM, &action, nullptr);
}

const std::atomic<bool> &interruptFlag() { return interrupted; }

} // namespace betz
