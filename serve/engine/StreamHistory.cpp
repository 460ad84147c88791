#include "serve/engine/StreamHistory.h"

#include <algorithm>
#include <fmt/format.h>
#include <tuple>

namespace betz::serve {
namespace {

auto placeOf(const StreamEvent &event) {
  return std::tuple(event.bin, event.neuron);
}

} // namespace

StreamHistory::StreamHistory(const EventLimits &limits, int32_t firstBin,
                             int64_t expectedEvents)
    : limits(limits), closedBin(firstBin) {
  open.reserve(size_t(expectedEvents) / 4 + 16);
  closed.reserve(2 * size_t(expectedEvents));
}

Status StreamHistory::check(std::span<const StreamEvent> events) const {
  for (size_t i = 0; i < events.size(); ++i) {
    const StreamEvent &event = events[i];
    if (event.neuron < 0 || event.neuron >= limits.neurons)
      return invalidArgument(fmt::format("event {}: neuron {} is not below {}",
                                         i, event.neuron, limits.neurons));
    if (event.bin < 0 || event.value < 0)
      return invalidArgument(
          fmt::format("event {}: bin {} and value {} must be 0 or more", i,
                      event.bin, event.value));
  }
  if (int64_t(open.size() + events.size()) <= limits.openEvents)
    return Status::ok();
  return invalidArgument(fmt::format(
      "{} events wait in bins that are open, and a stream holds {}; advance "
      "past their bins first",
      open.size() + events.size(), limits.openEvents));
}

bool StreamHistory::insert(const StreamEvent &event) {
  const auto place =
      std::ranges::lower_bound(open, placeOf(event), {}, placeOf);
  const bool isNew = place == open.end() || placeOf(*place) != placeOf(event);
  StreamEvent &kept = isNew ? *open.insert(place, event) : *place;
  const int64_t sum = isNew ? event.value : int64_t(kept.value) + event.value;
  kept.value = int32_t(std::min<int64_t>(sum, limits.values - 1));
  return isNew;
}

Result<StreamSession::Counts>
StreamHistory::push(std::span<const StreamEvent> events) {
  BETZ_RETURN_IF_ERROR(check(events));
  StreamSession::Counts counts;
  for (const StreamEvent &event : events)
    if (event.bin < closedBin)
      ++counts.late;
    else
      ++(insert(event) ? counts.accepted : counts.merged);
  return counts;
}

void StreamHistory::close(int32_t bin) {
  const auto end = std::ranges::lower_bound(open, bin, {}, &StreamEvent::bin);
  closed.insert(closed.end(), open.begin(), end);
  open.erase(open.begin(), end);
  closedBin = bin;
}

int64_t StreamHistory::find(int32_t bin) const {
  const auto begin = closed.begin() + ptrdiff_t(dropped);
  const auto place = std::lower_bound(
      begin, closed.end(), bin, [](const StreamEvent &event, int32_t wanted) {
        return event.bin < wanted;
      });
  return firstKept + (place - begin);
}

void StreamHistory::forget(int32_t bin) {
  const int64_t keepFrom = find(bin);
  dropped += size_t(keepFrom - firstKept);
  firstKept = keepFrom;
  if (2 * dropped <= closed.size())
    return;
  closed.erase(closed.begin(), closed.begin() + ptrdiff_t(dropped));
  dropped = 0;
}

} // namespace betz::serve
