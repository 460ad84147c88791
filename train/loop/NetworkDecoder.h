//===- NetworkDecoder.h - A compiled network as a decoder -----------------===//
#pragma once

#include "runtime/session/Session.h"
#include "train/data/Batches.h"
#include "train/data/Decoder.h"

#include <memory>

namespace betz::train {

/// Decodes by a forward program whose weights are a state. For one thread at a
/// time.
class NetworkDecoder : public Decoder {
public:
  /// `rows`: samples a step, at most what the program takes.
  static Result<NetworkDecoder> create(std::shared_ptr<const Program> program,
                                       std::shared_ptr<Device> device,
                                       int32_t rows);

  /// The flat vectors that train/loop/Parameters.h describes; `frozen` may be
  /// empty.
  Status setWeights(std::span<const float> trained,
                    std::span<const float> frozen);

  Result<Table> predict(const Dataset &dataset, Split split) const override;

private:
  NetworkDecoder(std::unique_ptr<betz::Session> session, int32_t rows,
                 uint32_t output)
      : session(std::move(session)), rows(rows), output(output) {}
  Status predictBatch(const Batch &batch, std::vector<float> &behavior) const;

  std::unique_ptr<betz::Session> session;
  int32_t rows;
  uint32_t output;
};

} // namespace betz::train
