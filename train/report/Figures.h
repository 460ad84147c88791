//===- Figures.h - An evaluation in pictures ------------------------------===//
#pragma once

#include "train/report/Evaluation.h"

#include <string>
#include <vector>

namespace betz::train {

/// An inline SVG and the line below it.
struct Figure {
  std::string svg;
  std::string caption;
};

/// A row a predictor with R² and its interval; one figure a scope.
std::vector<Figure> scoreFigures(const Evaluation &evaluation);

/// A trial or block, chosen by its error.
struct ShownPiece {
  /// Rows of the split.
  std::vector<int64_t> rows;
  /// Root mean square.
  double error = 0;
  /// "5th percentile of error", "worst", ...
  std::string rank;
};

/// From those decoded well to the worst one; fewer where there are few.
std::vector<ShownPiece> choosePieces(const Evaluation &evaluation);

/// Measured and decoded behaviour over time.
std::vector<Figure> traceFigures(const Evaluation &evaluation,
                                 const std::vector<ShownPiece> &pieces);

/// Velocity of two columns, summed up over each piece; none for others, or for
/// several sessions.
std::vector<Figure> pathFigures(const Evaluation &evaluation,
                                const std::vector<ShownPiece> &pieces);

/// Error over the time of a trial, and by its phases.
std::vector<Figure> errorFigures(const Evaluation &evaluation);

/// R² by number of units; nothing where it was left out.
std::vector<Figure> unitFigures(const Evaluation &evaluation);

} // namespace betz::train
