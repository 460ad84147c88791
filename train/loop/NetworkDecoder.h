//===- NetworkDecoder.h - A compiled network as a decoder -----------------===//
#pragma once

#include "runtime/session/Session.h"
#include "train/data/Batches.h"
#include "train/data/Decoder.h"
#include "train/loop/Validation.h"

#include <memory>

namespace betz::train {

/// Decodes by a forward program whose weights are a state; its score is the
/// mean R² over sessions. For one thread at a time.
class NetworkDecoder : public Decoder, public Validation {
public:
  /// `rows`: samples a step, at most what the program takes.
  static Result<std::shared_ptr<NetworkDecoder>>
  create(std::shared_ptr<const Program> program, std::shared_ptr<Device> device,
         int32_t rows);

  const char *name() const override { return "val_r2"; }
  /// Weights that only a step has (the spike head) may follow the decoder's.
  Status setWeights(std::span<const float> trained,
                    std::span<const float> frozen) override;
  Result<double> scoreVal(const Dataset &dataset) const override;

  Result<Table> predict(const Dataset &dataset, Split split) const override;

private:
  NetworkDecoder(std::unique_ptr<betz::Session> session, int32_t rows,
                 uint32_t output)
      : session(std::move(session)), rows(rows), output(output) {}
  Status predictBatch(const Batch &batch, std::vector<float> &behavior) const;

  std::unique_ptr<betz::Session> session;
  int32_t rows;
  uint32_t output;
  /// Of the program's own flat vectors.
  size_t trainedSize = 0, frozenSize = 0;
};

} // namespace betz::train
