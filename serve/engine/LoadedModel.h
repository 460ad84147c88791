//===- LoadedModel.h - A program on a device, ready for batches -----------===//
#pragma once

#include "runtime/session/Session.h"
#include "serve/engine/DecoderPorts.h"
#include "serve/engine/Scheduler.h"

namespace betz::serve {

/// Steps of one decoder, from requests to rows of behaviour. check() may be
/// called from any thread; all else from one at a time.
class LoadedModel {
public:
  /// Allocates all that `stepsInFlight` steps need. `maxBatch` windows at most
  /// in a batch; 0: the largest bucket's.
  static Result<std::unique_ptr<LoadedModel>>
  create(std::shared_ptr<const Program> program, std::shared_ptr<Device> device,
         size_t stepsInFlight, int64_t maxBatch);

  /// Runs every size of batch some times, so that nothing is made late and
  /// schedule().times knows what to expect.
  Status warmUp();

  /// Whether a batch may hold these windows: shapes, splits, ids, sizes.
  /// Allocates only to report an error.
  Status check(const Windows &windows) const;

  /// A step in flight: which of the session's, and its windows.
  struct Step {
    size_t index = 0;
    int64_t windows = 0;
    StepTicket ticket{};
  };
  /// Packs the requests' windows and starts them; each passed check(), and
  /// together they fit a bucket. At most stepsInFlight at once.
  Result<Step> start(std::span<const Windows *const> requests);
  /// Waits for the step. f32 [step.windows, columns], until the step after
  /// next.
  Result<std::span<const float>> finish(const Step &step);
  /// check(), start() and finish() of one request.
  Result<std::span<const float>> run(const Windows &windows);

  ModelSchedule &schedule() { return modelSchedule; }
  const DecoderPorts &ports() const { return decoderPorts; }
  const Program &program() const { return session->program(); }
  std::shared_ptr<const Program> sharedProgram() const { return shared; }
  /// "cpu avx2, 2 threads".
  const std::string &deviceName() const { return nameOfDevice; }
  int64_t maxWindows() const { return modelSchedule.maxWindows; }

private:
  /// The inputs and the output of one step, at their largest.
  struct Buffers {
    std::vector<int32_t> neuronId, timeBin, value, rowSplits, windowStart;
    std::vector<float> behavior;
    bool inUse = false;
  };

  LoadedModel() = default;
  Status makeSchedule(int64_t maxBatch);
  Result<StepTicket> submit(const Windows &windows, Buffers &buffers);
  static Windows pack(std::span<const Windows *const> requests,
                      Buffers &buffers);
  Status timeBatch(int64_t windows, int64_t events);

  std::shared_ptr<const Program> shared;
  std::unique_ptr<Session> session;
  std::string nameOfDevice;
  DecoderPorts decoderPorts;
  ModelSchedule modelSchedule;
  std::vector<Buffers> buffers;
};

} // namespace betz::serve
