#include "train/data/SessionRows.h"
#include "train/data/Decoder.h"

namespace betz::train {

SessionRows rowsOf(const Dataset &dataset, int64_t session, Split split) {
  SessionRows out;
  std::span<const Sample> samples = dataset.samples(split);
  for (size_t row = 0; row < samples.size(); ++row) {
    if (samples[row].session != session)
      continue;
    const bool samePiece =
        !out.rows.empty() &&
        samples[size_t(out.rows.back())].piece == samples[row].piece;
    const int64_t before = out.group.empty() ? -1 : out.group.back();
    out.group.push_back(samePiece ? before : before + 1);
    out.binInPiece.push_back(dataset.binInPiece(samples[row]));
    out.rows.push_back(int64_t(row));
  }
  out.behavior = takeRows(behaviorOf(dataset, split), out.rows);
  return out;
}

Table takeRows(const Table &from, std::span<const int64_t> rows) {
  Table out(int64_t(rows.size()), from.columns);
  for (int64_t row = 0; row < out.rows; ++row)
    for (int64_t column = 0; column < out.columns; ++column)
      out.at(row, column) = from.at(rows[size_t(row)], column);
  return out;
}

void putRows(const Table &values, std::span<const int64_t> rows, Table &to) {
  for (int64_t row = 0; row < values.rows; ++row)
    for (int64_t column = 0; column < values.columns; ++column)
      to.at(rows[size_t(row)], column) = values.at(row, column);
}

} // namespace betz::train
