//===- ProgramDecoder.h - A compiled program under a training protocol ----===//
#pragma once

#include "runtime/session/Session.h"
#include "tools/DecoderInfo.h"
#include "train/data/Decoder.h"

#include <memory>
#include <vector>

namespace betz {

/// The samples that a program was made for, by its metadata: bin, history,
/// stride, value buckets.
Result<train::DataSpec> readDataSpec(const Program &program);

/// Decodes samples through a session. For one thread at a time.
class ProgramDecoder : public train::Decoder {
public:
  /// Errors: the program is no decoder of spikes, knows none of the dataset's
  /// units, or decodes another number of columns. Predictions are in the
  /// units of the program's `target_mean` and `target_std`; without these in
  /// those of the dataset's train bins, with a warning.
  static Result<ProgramDecoder> create(std::unique_ptr<Session> session,
                                       const train::Dataset &dataset);

  Result<train::Table> predict(const train::Dataset &dataset,
                               train::Split split) const override;
  const std::vector<std::string> &warnings() const { return lines; }

private:
  ProgramDecoder(std::unique_ptr<Session> session, uint32_t output)
      : session(std::move(session)), output(output) {}
  Status readSessions(const train::Dataset &dataset);
  /// How many of the session's units the program does not know.
  int64_t mapNeurons(const train::Session &from, const DecoderWindows &info);

  std::unique_ptr<Session> session;
  uint32_t output;
  /// Columns of the output; the last ones are the behaviour at the last bin.
  int64_t outputs = 0;
  /// The program's neuron for each of the dataset's, or -1.
  std::vector<int32_t> neuronOf;
  /// By session.
  std::vector<train::TargetScale> scales;
  std::vector<std::string> lines;
};

} // namespace betz
