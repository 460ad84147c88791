#include "runtime/base/Json.h"
#include "tools/BenchPictures.h"

namespace betz {
namespace {

Json nameEvent(const char *what, std::string_view name) {
  return {{"name", what},
          {"ph", "M"},
          {"pid", 1},
          {"tid", 1},
          {"args", {{"name", name}}}};
}

Json launchEvent(const KernelTime &kernel, const LaunchTime &launch) {
  Json args = {{"section", kernel.section}, {"code", kernel.code}};
  if (launch.work) {
    args["flops"] = launch.work->flops;
    args["bytes"] = launch.work->bytes;
  }
  return {{"name", kernel.name},
          {"cat", kernel.section},
          {"ph", "X"},
          {"ts", launch.begin * 1e6},
          {"dur", (launch.end - launch.begin) * 1e6},
          {"pid", 1},
          {"tid", 1},
          {"args", std::move(args)}};
}

} // namespace

std::string traceJson(const StepProfile &profile, std::string_view title) {
  Json events = Json::array();
  events.push_back(nameEvent("process_name", title));
  events.push_back(nameEvent("thread_name", "kernels"));
  for (const LaunchTime &launch : profile.launches)
    events.push_back(launchEvent(profile.kernels[launch.kernel], launch));
  return Json{{"displayTimeUnit", "ns"}, {"traceEvents", std::move(events)}}
             .dump(1) +
         "\n";
}

} // namespace betz
