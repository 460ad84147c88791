//===- Trainer.h - Steps a compiled training program ----------------------===//
//
// Knows no compiler: a step program updates its states (weights, moment1,
// moment2), and their running average (Polyak and Juditsky, 1992) is scored on
// val. A run's folder holds
//   log.jsonl      a line for each logged step and each score on val
//   checkpoints/   the newest state and the best ones on val
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/io/Checkpoint.h"
#include "runtime/session/Session.h"
#include "train/data/Batches.h"
#include "train/loop/Parameters.h"
#include "train/loop/Schedule.h"
#include "train/loop/Validation.h"

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <optional>

namespace betz::train {

struct TrainerOptions {
  Schedule schedule;
  BatchSpec batches;
  /// Batches of a step; above one, their mean loss is what a step reduces.
  int64_t accumulate = 1;
  double beta1 = 0.9, beta2 = 0.95;
  /// Steps from one score on val (and checkpoint) to the next.
  int64_t scoreEvery = 200;
  /// Checkpoints kept for their score, beside the newest.
  int64_t keepBest = 1;
  /// Scores without a new best after which training ends; 0 for never.
  int64_t patience = 0;
  int64_t shards = 1;
  /// Of a step, the share that the average of weights keeps of itself; the
  /// average is what is scored and kept as the decoder. 0: the weights
  /// themselves.
  double averageDecay = 0.995;
  /// Steps stop when it becomes true; what is done is saved.
  const std::atomic<bool> *interrupted = nullptr;
};

struct StepPrograms {
  /// The update; and the gradient of a batch before it, which is null where a
  /// step is one batch.
  std::shared_ptr<const Program> step, gradient;
};

struct Best {
  int64_t step = -1;
  double score = -std::numeric_limits<double>::infinity();
};

struct TrainingOutcome {
  int64_t steps = 0;
  bool wasInterrupted = false;
  Best best;
  double seconds = 0;
};

class Trainer {
public:
  /// `dataset` must outlive it.
  static Result<std::unique_ptr<Trainer>>
  create(StepPrograms programs, std::shared_ptr<Device> device,
         std::shared_ptr<Validation> validation, const Dataset &dataset,
         const TrainerOptions &options, std::filesystem::path folder);

  /// From step 0. The vectors are those of train/loop/Parameters.h.
  Status start(std::vector<float> weights, std::vector<float> frozen);
  /// From the newest checkpoint in the folder that can be read; one that cannot
  /// is named in a warning. The steps to come are those that the run would have
  /// done, bit for bit.
  Status resume(std::vector<float> frozen);

  /// Seconds of one step, the median of `steps` that leave no trace; for
  /// choosing how many there are to be.
  Result<double> timeStep(int64_t steps = 8);
  void setSteps(int64_t steps);

  /// To the last step, to a signal, or to an error: a loss that is no number is
  /// one, and names the step.
  Result<TrainingOutcome> run();

  /// Weights of the best checkpoint on val, now those of `validation`. An error
  /// where no score was a number.
  Status loadBest();
  std::span<const float> weights() const { return average; }
  std::span<const float> frozenWeights() const { return frozen; }
  const std::vector<Parameter> &parameters() const { return table; }

private:
  using Clock = std::chrono::steady_clock;
  Trainer(std::unique_ptr<betz::Session> session,
          std::shared_ptr<Validation> validation, const Dataset &dataset,
          const TrainerOptions &options, std::filesystem::path folder);

  Status writeStates(const Checkpoint &checkpoint);
  Status openLog();
  Status updateAverage();
  /// One step on batches as `next` gives them.
  Status submitStep(const std::function<const Batch &()> &next);
  Status addGradient(const Batch &batch, int64_t part);
  Status submitUpdate(const Batch &batch);
  Status finishStep();
  Status scoreAndSave();
  Status save();
  Status prune();
  void drawProgress() const;
  std::filesystem::path checkpoints() const { return folder / "checkpoints"; }

  std::unique_ptr<betz::Session> session;
  /// Null where a step is one batch.
  std::unique_ptr<betz::Session> gradients;
  std::shared_ptr<Validation> validation;
  const Dataset *dataset;
  TrainerOptions options;
  std::filesystem::path folder;
  std::vector<Parameter> table;
  std::vector<float> flat, average, frozen;
  /// Of the batches of a step so far.
  std::vector<float> accumulated;
  double earlierLoss = 0;
  std::ofstream log;

  int64_t step = 0; // done
  /// Score on val by step, in order.
  std::vector<Best> scores;
  Best best;
  double secondsBefore = 0; // of the runs that this one goes on
  Clock::time_point began;

  std::optional<StepTicket> inFlight;
  std::array<float, 4> schedule{};
  std::array<int32_t, 2> seed{};
  float loss = 0, gradSquares = 0;
  double lossSum = 0; // since the last log line
  int64_t lossCount = 0;
};

} // namespace betz::train
