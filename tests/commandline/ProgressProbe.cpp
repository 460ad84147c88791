//===- ProgressProbe.cpp - A task of three seconds for progress_pty.py ----===//
#include "runtime/base/Progress.h"

#include <thread>

int main() {
  constexpr int kSteps = 30;
  betz::Progress progress("probing", kSteps, "steps");
  for (int step = 0; step < kSteps; ++step) {
    progress.update(step);
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
}
