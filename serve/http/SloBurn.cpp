#include "serve/http/SloBurn.h"

namespace betz::serve {

void SloBurn::add(bool isGood, Clock::time_point now) {
  const int64_t number = slotNumber(now);
  Slot &slot = slots[static_cast<size_t>(number) % slots.size()];
  if (slot.number != number)
    slot = {.number = number};
  ++slot.all;
  slot.bad += !isGood;
}

double SloBurn::rate(std::chrono::nanoseconds window,
                     Clock::time_point now) const {
  const int64_t last = slotNumber(now);
  const int64_t first = last - window / kSlot + 1;
  uint64_t all = 0, bad = 0;
  for (const Slot &slot : slots)
    if (slot.number >= first && slot.number <= last) {
      all += slot.all;
      bad += slot.bad;
    }
  return all ? static_cast<double>(bad) / static_cast<double>(all) / kBudget
             : 0;
}

} // namespace betz::serve
