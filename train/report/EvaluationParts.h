//===- EvaluationParts.h - What evaluate() is made of ---------------------===//
#pragma once

#include "train/data/Respike.h"
#include "train/report/Evaluation.h"

namespace betz::train {

/// Nothing where there are no trials, or too few bins in the window.
Result<std::optional<NlbScore>>
scoreNlbVelocity(const Dataset &dataset, Split split, std::string_view name,
                 const Table &decoder, const Table &ridge);

/// From a few units to all of them; `units` are readUnits(dataset).
Result<std::vector<UnitCount>> scoreByUnits(const Contestant &contestant,
                                            std::span<const Units> units,
                                            const EvaluationOptions &options,
                                            double r2OfAll);

/// Puts rows of several sessions on one scale: in deviations of each one's
/// train bins, from their mean. Leaves a single session's as they are.
void shareScale(const Dataset &dataset, Split split, Table &rows);

/// Fills evaluation.notes.
void addNotes(const Dataset &dataset, Evaluation &evaluation);

} // namespace betz::train
