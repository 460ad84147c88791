//===- Kalman.h - The velocity Kalman filter ------------------------------===//
#pragma once

#include "runtime/base/Status.h"
#include "train/data/Decoder.h"

#include <Eigen/Core>
#include <cstdint>
#include <vector>

namespace betz::train {

/// A linear Gaussian model: state' = A state + noise(W), counts = mean +
/// C state + noise(Q).
struct KalmanModel {
  Eigen::MatrixXd transition;      // A [d, d]
  Eigen::MatrixXd transitionNoise; // W [d, d]
  Eigen::MatrixXd observation;     // C [units, d]
  Eigen::MatrixXd countNoise;      // Q [units, units], positive definite
  Eigen::VectorXd countMean;       // [units]
  /// Of a piece's first bin.
  Eigen::VectorXd firstMean;  // [d]
  Eigen::MatrixXd firstNoise; // [d, d]
};

/// States after each row of `counts` [bins, units] of one piece; the first
/// `blind` rows hold no counts, so that the model alone moves the state.
Eigen::MatrixXd filterPiece(const KalmanModel &model,
                            const Eigen::Ref<const Eigen::MatrixXd> &counts,
                            int64_t blind);

/// What val chose for one session.
struct KalmanChoice {
  /// Bins by which spikes lead behaviour.
  int32_t lag = 0;
  /// The state holds displacement from the piece's start beside velocity.
  bool displacement = false;
  double valR2 = 0;
};

/// The filter of each session, fitted by least squares to the train pieces:
/// state = behaviour less its mean, with or without its running sum in the
/// piece; observations = counts of single bins, `lag` bins before. Lag (0 to 5
/// steps of a bin, or of about 20 ms for shorter bins) and state are those of
/// the highest R² on val.
class KalmanDecoder : public Decoder {
public:
  /// Fails without behaviour.
  static Result<KalmanDecoder> fit(const Dataset &dataset);

  Result<Table> predict(const Dataset &dataset, Split split) const override;
  const KalmanChoice &choice(int64_t session) const {
    return fitted[size_t(session)].choice;
  }

private:
  struct Fitted {
    KalmanChoice choice;
    KalmanModel model;
  };

  std::vector<Fitted> fitted;
};

} // namespace betz::train
