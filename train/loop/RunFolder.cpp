#include "train/loop/RunFolder.h"

#include <fmt/format.h>

namespace betz::train {

Status checkRunFolder(const std::filesystem::path &folder, bool isStarted,
                      bool resume) {
  if (isStarted && !resume)
    return invalidArgument(
        fmt::format("{}: holds a run already; go on with it by --resume, or "
                    "name another folder",
                    folder.string()));
  if (!isStarted && resume)
    return notFound(
        fmt::format("{}: holds no checkpoint to go on from", folder.string()));
  return Status::ok();
}

Json toJson(const TrainingOutcome &outcome) {
  return {{"val_r2", outcome.best.score},
          {"best_step", outcome.best.step},
          {"steps", outcome.steps},
          {"seconds", outcome.seconds}};
}

std::string toText(const TrainingOutcome &outcome) {
  return fmt::format("best of {} steps on val: {} (R² {:.4f}); {:.0f} s\n",
                     outcome.steps, outcome.best.step, outcome.best.score,
                     outcome.seconds);
}

} // namespace betz::train
