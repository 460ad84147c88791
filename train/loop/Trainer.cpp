#include "train/loop/Trainer.h"
#include "runtime/base/Log.h"
#include "train/loop/StepInputs.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <unistd.h>

namespace betz::train {
namespace {

constexpr int64_t kLogEvery = 10;
/// Steps from one update of the average to the next.
constexpr int64_t kAverageEvery = 10;
constexpr const char *kStates[] = {"weights", "moment1", "moment2"};

Json toJson(const std::vector<Best> &scores) {
  Json list = Json::array();
  for (const Best &one : scores)
    list.push_back({one.step, one.score});
  return list;
}

std::vector<Best> scoresFrom(const Json &list) {
  std::vector<Best> scores;
  for (const Json &one : list)
    scores.push_back({one[0].get<int64_t>(), one[1].get<double>()});
  return scores;
}

Best bestOf(const std::vector<Best> &scores) {
  Best best;
  for (const Best &one : scores)
    if (one.score > best.score)
      best = one;
  return best;
}

} // namespace

Trainer::Trainer(std::unique_ptr<betz::Session> session,
                 std::shared_ptr<Validation> validation, const Dataset &dataset,
                 const TrainerOptions &options, std::filesystem::path folder)
    : session(std::move(session)), validation(std::move(validation)),
      dataset(&dataset), options(options), folder(std::move(folder)) {}

Result<std::unique_ptr<Trainer>>
Trainer::create(StepPrograms programs, std::shared_ptr<Device> device,
                std::shared_ptr<Validation> validation, const Dataset &dataset,
                const TrainerOptions &options, std::filesystem::path folder) {
  BETZ_ASSIGN_OR_RETURN(std::vector<Parameter> table,
                        readParameters(*programs.step));
  BETZ_ASSIGN_OR_RETURN(std::unique_ptr<betz::Session> session,
                        betz::Session::create(programs.step, device));
  std::unique_ptr<Trainer> trainer(new Trainer(std::move(session),
                                               std::move(validation), dataset,
                                               options, std::move(folder)));
  if (options.accumulate > 1) {
    BETZ_ASSIGN_OR_RETURN(
        trainer->gradients,
        betz::Session::create(programs.gradient, std::move(device)));
    trainer->accumulated.resize(size_t(flatSize(table, false)));
  }
  trainer->table = std::move(table);
  trainer->seed = {int32_t(options.batches.seed), 0};
  return trainer;
}

Status Trainer::writeStates(const Checkpoint &checkpoint) {
  for (const char *name : kStates) {
    const auto found = checkpoint.vectors.find(name);
    if (found == checkpoint.vectors.end())
      return invalidArgument(fmt::format("the checkpoint has no {}", name));
    BETZ_RETURN_IF_ERROR(session->writeState(
        name, std::as_bytes(std::span<const float>(found->second))));
  }
  return frozen.empty()
             ? Status::ok()
             : session->writeState(
                   "frozen", std::as_bytes(std::span<const float>(frozen)));
}

/// Lines of steps after this one are of a run that did not come to its next
/// checkpoint.
Status Trainer::openLog() {
  const std::filesystem::path path = folder / "log.jsonl";
  std::string kept;
  std::ifstream old(path);
  for (std::string line; step > 0 && std::getline(old, line);) {
    const Result<Json> entry = parseJson(line);
    if (entry.isOk() && entry->value("step", int64_t(0)) <= step)
      kept += line + "\n";
  }
  BETZ_RETURN_IF_ERROR(writeFileAtomically(path, kept));
  log.open(path, std::ios::app);
  return Status::ok();
}

Status Trainer::start(std::vector<float> weights, std::vector<float> fixed) {
  frozen = std::move(fixed);
  Checkpoint checkpoint;
  checkpoint.vectors["moment1"].resize(weights.size());
  checkpoint.vectors["moment2"].resize(weights.size());
  checkpoint.vectors["weights"] = std::move(weights);
  BETZ_RETURN_IF_ERROR(writeStates(checkpoint));
  flat = std::move(checkpoint.vectors["weights"]);
  average = flat;
  return openLog();
}

Status Trainer::resume(std::vector<float> fixed) {
  frozen = std::move(fixed);
  std::vector<std::filesystem::path> found = listCheckpoints(checkpoints());
  for (; !found.empty(); found.pop_back()) {
    Result<Checkpoint> checkpoint = readCheckpoint(found.back());
    if (!checkpoint.isOk()) {
      logWarn("train", "{}", checkpoint.status().message());
      continue;
    }
    const size_t size = checkpoint->vectors["weights"].size();
    if (size != size_t(flatSize(table, false)))
      return invalidArgument(fmt::format("{}: is of another model: {} weights, "
                                         "not {}; name another folder, or "
                                         "train with the recipe of this one",
                                         found.back().string(), size,
                                         flatSize(table, false)));
    BETZ_RETURN_IF_ERROR(
        writeStates(*checkpoint).withContext(found.back().string()));
    step = checkpoint->step;
    flat = std::move(checkpoint->vectors["weights"]);
    average = std::move(checkpoint->vectors["average"]);
    const Json &state = checkpoint->state;
    options.schedule.steps = state.value("steps", options.schedule.steps);
    options.schedule.warmupSteps =
        state.value("warmup_steps", options.schedule.warmupSteps);
    scores = scoresFrom(state.value("scores", Json::array()));
    best = bestOf(scores);
    secondsBefore = state.value("seconds", 0.0);
    return openLog();
  }
  return notFound(fmt::format("{}: has no checkpoint to go on from",
                              checkpoints().string()));
}

void Trainer::setSteps(int64_t steps) {
  options.schedule.steps = steps;
  options.schedule.warmupSteps =
      std::min(options.schedule.warmupSteps, steps / 10);
}

/// Early on it keeps less, so that the first weights are soon forgotten.
Status Trainer::updateAverage() {
  BETZ_RETURN_IF_ERROR(session->readState(
      "weights", std::as_writable_bytes(std::span<float>(flat))));
  const double keep =
      std::min(std::pow(options.averageDecay, double(kAverageEvery)),
               double(step) / double(step + 10 * kAverageEvery));
  for (size_t i = 0; i < flat.size(); ++i)
    average[i] += float(1 - keep) * (flat[i] - average[i]);
  return Status::ok();
}

Status Trainer::submitStep(const std::function<const Batch &()> &next) {
  std::ranges::fill(accumulated, 0.0f);
  earlierLoss = 0;
  for (int64_t part = 0; part + 1 < options.accumulate; ++part)
    BETZ_RETURN_IF_ERROR(addGradient(next(), part));
  return submitUpdate(next());
}

Status Trainer::addGradient(const Batch &batch, int64_t part) {
  if (part == 0) {
    BETZ_RETURN_IF_ERROR(session->readState(
        "weights", std::as_writable_bytes(std::span<float>(flat))));
    BETZ_RETURN_IF_ERROR(gradients->writeState(
        "weights", std::as_bytes(std::span<const float>(flat))));
    if (!frozen.empty())
      BETZ_RETURN_IF_ERROR(gradients->writeState(
          "frozen", std::as_bytes(std::span<const float>(frozen))));
  }
  seed[1] = int32_t(step * options.accumulate + part);
  const int64_t size = int64_t(accumulated.size());
  StepInputs inputs(gradients->program());
  inputs.bind("accumulated", DType::F32, accumulated.data(), {size});
  inputs.bind("dropout_seed", DType::I32, seed.data(), {2});
  inputs.bindBatch(batch, dataset->outputs());
  const std::vector<int64_t> one = {1}, all = {size};
  BETZ_ASSIGN_OR_RETURN(uint32_t lossNumber,
                        findOutput(gradients->program(), "loss"));
  BETZ_ASSIGN_OR_RETURN(uint32_t sumNumber,
                        findOutput(gradients->program(), "gradient"));
  std::vector<float> sum(accumulated.size());
  const OutputBinding outputs[] = {{lossNumber, DType::F32, &loss, one},
                                   {sumNumber, DType::F32, sum.data(), all}};
  BETZ_RETURN_IF_ERROR(gradients->run(inputs.bindings(), outputs));
  accumulated = std::move(sum);
  earlierLoss += double(loss);
  return Status::ok();
}

Status Trainer::submitUpdate(const Batch &batch) {
  schedule =
      scheduleInput(options.schedule, step, options.beta1, options.beta2);
  schedule[3] = float(1.0 / double(options.accumulate));
  seed[1] = int32_t((step + 1) * options.accumulate - 1);
  StepInputs inputs(session->program());
  inputs.bind("schedule", DType::F32, schedule.data(), {4});
  inputs.bind("accumulated", DType::F32, accumulated.data(),
              {int64_t(accumulated.size())});
  inputs.bind("dropout_seed", DType::I32, seed.data(), {2});
  inputs.bindBatch(batch, dataset->outputs());
  const std::vector<int64_t> one = {1};
  std::vector<OutputBinding> outputs;
  for (auto [name, to] :
       {std::pair("loss", &loss), std::pair("grad_squares", &gradSquares)}) {
    BETZ_ASSIGN_OR_RETURN(uint32_t output,
                          findOutput(session->program(), name));
    outputs.push_back({output, DType::F32, to, one});
  }
  BETZ_ASSIGN_OR_RETURN(inFlight, session->submit(inputs.bindings(), outputs));
  return Status::ok();
}

Status Trainer::finishStep() {
  BETZ_RETURN_IF_ERROR(session->wait(*inFlight));
  inFlight.reset();
  ++step;
  loss = float((earlierLoss + double(loss)) / double(options.accumulate));
  if (!std::isfinite(loss) || !std::isfinite(gradSquares))
    return internalError(fmt::format(
        "the loss of step {} is no number; lower learning_rate (now {:.3g}) or "
        "look at the recording with betz data lint{}",
        step, double(schedule[0]),
        best.step < 0 ? ""
                      : fmt::format("; the best weights, of step {}, are kept",
                                    best.step)));
  lossSum += double(loss);
  ++lossCount;
  if (step % kAverageEvery == 0 || step == options.schedule.steps)
    BETZ_RETURN_IF_ERROR(updateAverage());
  if (step % kLogEvery == 0 || step == options.schedule.steps) {
    log << Json{{"step", step},
                {"loss", lossSum / double(lossCount)},
                {"last_loss", loss},
                {"grad_norm",
                 std::sqrt(double(gradSquares)) / double(options.accumulate)},
                {"learning_rate", schedule[0]}}
               .dump()
        << std::endl;
    drawProgress();
    lossSum = 0, lossCount = 0;
  }
  return Status::ok();
}

/// To a terminal, one line over itself; else a line a score only.
void Trainer::drawProgress() const {
  if (!::isatty(STDERR_FILENO))
    return;
  const double seconds =
      std::chrono::duration<double>(Clock::now() - began).count();
  const double left = seconds / double(std::max<int64_t>(step, 1)) *
                      double(options.schedule.steps - step);
  fmt::print(
      stderr,
      "\r\033[Ktraining: step {} of {}, loss {:.4f}, rate {:.2e}, {} {:.4f}, "
      "{:.0f} s left",
      step, options.schedule.steps, double(loss), double(schedule[0]),
      validation->name(), best.step < 0 ? 0.0 : best.score, left);
}

Status Trainer::save() {
  Checkpoint checkpoint;
  checkpoint.step = step;
  for (const char *name : kStates) {
    std::vector<float> &values = checkpoint.vectors[name];
    values.resize(flat.size());
    BETZ_RETURN_IF_ERROR(session->readState(
        name, std::as_writable_bytes(std::span<float>(values))));
  }
  flat = checkpoint.vectors["weights"];
  checkpoint.vectors["average"] = average;
  checkpoint.state = {
      {"steps", options.schedule.steps},
      {"warmup_steps", options.schedule.warmupSteps},
      {"seed", options.batches.seed},
      {"scores", toJson(scores)},
      {"seconds",
       secondsBefore +
           std::chrono::duration<double>(Clock::now() - began).count()}};
  BETZ_RETURN_IF_ERROR(
      writeCheckpoint(checkpoints(), checkpoint, options.shards).status());
  return prune();
}

/// Keeps the newest and those of the best scores.
Status Trainer::prune() {
  std::vector<Best> ranked = scores;
  std::ranges::sort(ranked, [](const Best &one, const Best &other) {
    return std::pair(-one.score, one.step) <
           std::pair(-other.score, other.step);
  });
  ranked.resize(std::min(ranked.size(), size_t(options.keepBest)));
  const std::vector<std::filesystem::path> all = listCheckpoints(checkpoints());
  for (const std::filesystem::path &path : all) {
    const bool isBest = std::ranges::any_of(ranked, [&](const Best &one) {
      return path.filename() == fmt::format("step-{:08}", one.step);
    });
    std::error_code ignored;
    if (!isBest && path != all.back())
      std::filesystem::remove_all(path, ignored);
  }
  return Status::ok();
}

Status Trainer::scoreAndSave() {
  BETZ_RETURN_IF_ERROR(validation->setWeights(average, frozen));
  BETZ_ASSIGN_OR_RETURN(const double value, validation->scoreVal(*dataset));
  scores.push_back({step, value});
  best = bestOf(scores);
  log << Json{{"step", step},
              {validation->name(), value},
              {"best_step", best.step}}
             .dump()
      << std::endl;
  logInfo("train", "step {}: {} {:.4f} (best {:.4f})", step, validation->name(),
          value, best.score);
  return save();
}

Result<double> Trainer::timeStep(int64_t steps) {
  BETZ_ASSIGN_OR_RETURN(TrainBatches batches,
                        TrainBatches::make(*dataset, options.batches));
  constexpr int64_t kWarmups = 2;
  const Schedule real = options.schedule;
  options.schedule = {.learningRate = 0, .constant = true};
  Checkpoint before;
  for (const char *name : kStates)
    before.vectors[name].resize(flat.size());
  before.vectors["weights"] = flat;
  Batch batch;
  std::vector<double> seconds;
  for (int64_t i = 0; i < kWarmups + steps; ++i) {
    const Clock::time_point from = Clock::now();
    BETZ_RETURN_IF_ERROR(submitStep([&]() -> const Batch & {
      batches.read(i, batch);
      return batch;
    }));
    BETZ_RETURN_IF_ERROR(session->wait(*inFlight));
    inFlight.reset();
    if (i >= kWarmups)
      seconds.push_back(
          std::chrono::duration<double>(Clock::now() - from).count());
  }
  options.schedule = real;
  BETZ_RETURN_IF_ERROR(writeStates(before));
  std::ranges::sort(seconds);
  return seconds[seconds.size() / 2];
}

Result<TrainingOutcome> Trainer::run() {
  began = Clock::now();
  BETZ_ASSIGN_OR_RETURN(TrainBatches batches,
                        TrainBatches::make(*dataset, options.batches));
  BatchQueue queue(std::move(batches), step * options.accumulate);
  TrainingOutcome outcome;
  auto isInterrupted = [&] {
    return options.interrupted && options.interrupted->load();
  };
  while (step < options.schedule.steps && !isInterrupted()) {
    BETZ_RETURN_IF_ERROR(
        submitStep([&]() -> const Batch & { return queue.next(); }));
    BETZ_RETURN_IF_ERROR(finishStep());
    if (step % options.scoreEvery != 0 && step != options.schedule.steps)
      continue;
    BETZ_RETURN_IF_ERROR(scoreAndSave());
    const int64_t since = std::ranges::count_if(
        scores, [&](const Best &one) { return one.step > best.step; });
    if (options.patience > 0 && since >= options.patience)
      break;
  }
  outcome.wasInterrupted = isInterrupted() && step < options.schedule.steps;
  if (outcome.wasInterrupted)
    BETZ_RETURN_IF_ERROR(save());
  outcome.steps = step;
  outcome.best = best;
  outcome.seconds = secondsBefore +
                    std::chrono::duration<double>(Clock::now() - began).count();
  return outcome;
}

Status Trainer::loadBest() {
  if (best.step < 0)
    return invalidArgument(
        "no score on val is a number: does behaviour vary in the val split? "
        "betz data protocol shows it");
  BETZ_ASSIGN_OR_RETURN(
      Checkpoint checkpoint,
      readCheckpoint(checkpoints() / fmt::format("step-{:08}", best.step)));
  average = std::move(checkpoint.vectors["average"]);
  return validation->setWeights(average, frozen);
}

} // namespace betz::train
