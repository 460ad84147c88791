// make_recording KIND FILE: a small recording with something odd about it.
#include "tests/train/SmallRecordings.h"

#include <cstdio>
#include <limits>

using namespace betz::test;

int main(int argc, char **argv) {
  if (argc != 3) {
    std::fputs("usage: make_recording KIND FILE\n", stderr);
    return 2;
  }
  const std::string kind = argv[1];
  SmallRecording made = makeTrials(kind == "one_trial" ? 1 : 20, 6, 3);
  if (kind == "no_behavior") {
    made.time.clear();
    made.velocity.clear();
  } else if (kind == "nan_rows") {
    for (size_t row = 0; row < made.velocity.size() / 2; row += 3)
      made.velocity[2 * row] = std::numeric_limits<double>::quiet_NaN();
  } else if (kind == "silent_val") {
    for (size_t trial = 0; trial < made.trials.size(); ++trial)
      if (made.split[trial] == "val")
        for (std::vector<double> &list : made.spikes)
          std::erase_if(list, [&](double spike) {
            return spike >= made.trials[trial].start &&
                   spike < made.trials[trial].stop;
          });
  } else if (kind == "other_units") {
    for (int64_t &id : made.ids)
      id += 1000;
  } else if (kind != "plain" && kind != "one_trial") {
    std::fprintf(stderr, "make_recording: no kind %s\n", argv[1]);
    return 2;
  }
  made.write(argv[2]);
  return 0;
}
