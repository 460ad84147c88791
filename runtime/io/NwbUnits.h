//===- NwbUnits.h - The units table, checked ------------------------------===//
#pragma once

#include "runtime/io/Hdf5.h"
#include "runtime/io/Nwb.h"

namespace betz {

/// Reads /units. A file without the table gives no units and a warning; an
/// index that does not fit its data, or spike times that are not in seconds
/// (judged by the trials), are errors.
Status readUnits(const Hdf5File &file, const Trials &trials, Units &units,
                 std::vector<std::string> &warnings);

} // namespace betz
