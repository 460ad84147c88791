#include "train/protocol/Description.h"
#include "runtime/base/Suggest.h"
#include "runtime/base/Toml.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <functional>
#include <map>

namespace betz::train {
namespace {

using Setter = std::function<Status(ProtocolDescription &, const toml::node &)>;

template <typename T, typename Member> Setter number(Member member) {
  return [member](ProtocolDescription &out, const toml::node &node) {
    std::optional<T> value = node.value<T>();
    if (!value)
      return invalidArgument("must be a number");
    member(out) = *value;
    return Status::ok();
  };
}

template <typename T>
Setter choice(T ProtocolDescription::*member,
              std::vector<std::pair<std::string, T>> names) {
  return [=](ProtocolDescription &out, const toml::node &node) {
    std::optional<std::string> text = node.value<std::string>();
    std::vector<std::string> known;
    for (const auto &[name, value] : names) {
      known.push_back(name);
      if (text == name) {
        out.*member = value;
        return Status::ok();
      }
    }
    return invalidArgument(
        fmt::format("must be one of: {}", fmt::join(known, ", ")));
  };
}

Status setRecordings(ProtocolDescription &out, const toml::node &node) {
  if (const toml::array *array = node.as_array())
    for (const toml::node &element : *array)
      if (std::optional<std::string> path = element.value<std::string>())
        out.recordings.push_back(*path);
  return out.recordings.empty()
             ? invalidArgument("must be an array of file names")
             : Status::ok();
}

Status setSeries(ProtocolDescription &out, const toml::node &node) {
  std::optional<std::string> name = node.value<std::string>();
  out.spec.series = name.value_or("");
  return name ? Status::ok() : invalidArgument("must be text");
}

Status setCrosses(ProtocolDescription &out, const toml::node &node) {
  std::optional<bool> value = node.value<bool>();
  out.crossesTrials = value.value_or(false);
  return value ? Status::ok() : invalidArgument("must be true or false");
}

/// Every key; docs/training.md describes them.
const std::map<std::string, Setter> &setters() {
  using P = ProtocolDescription;
  static const std::map<std::string, Setter> table = {
      {"recordings", setRecordings},
      {"series", setSeries},
      {"bin_ms", number<double>([](P &p) -> double & { return p.spec.binMs; })},
      {"history_bins",
       number<int32_t>([](P &p) -> int32_t & { return p.spec.historyBins; })},
      {"stride_bins",
       number<int32_t>([](P &p) -> int32_t & { return p.spec.strideBins; })},
      {"seed",
       number<uint64_t>([](P &p) -> uint64_t & { return p.spec.seed; })},
      {"smoothing_ms",
       number<double>([](P &p) -> double & { return p.smoothingMs; })},
      {"clock_r2_limit",
       number<double>([](P &p) -> double & { return p.clockR2Limit; })},
      {"windows_cross_trials", setCrosses},
      {"target", choice<TargetBin>(&P::target, {{"last", TargetBin::Last},
                                                {"middle", TargetBin::Middle},
                                                {"first", TargetBin::First}})},
      {"padding", choice<bool>(&P::padded, {{"empty", true}, {"none", false}})},
      {"smoothing",
       choice<Smoothing>(&P::smoothing, {{"none", Smoothing::None},
                                         {"causal", Smoothing::Causal},
                                         {"symmetric", Smoothing::Symmetric}})},
      {"split", choice<SplitBy>(&P::split, {{"trial", SplitBy::Trial},
                                            {"window", SplitBy::Window}})},
      {"scale",
       choice<bool>(&P::scaleFromTrain, {{"train", true}, {"all", false}})},
      {"behavior_rows",
       choice<BehaviorRows>(&P::rows,
                            {{"time", BehaviorRows::Time},
                             {"number", BehaviorRows::Number},
                             {"interpolated", BehaviorRows::Interpolated}})}};
  return table;
}

Status unknownKey(const std::string &key) {
  std::vector<std::string> known;
  for (const auto &[name, setter] : setters())
    known.push_back(name);
  const std::string near = nearestName(key, known);
  return invalidArgument(fmt::format(
      "unknown key{}",
      near.empty() ? "" : fmt::format("; did you mean \"{}\"?", near)));
}

Status setKey(ProtocolDescription &out, const std::string &key,
              const toml::node &node) {
  auto setter = setters().find(key);
  return setter == setters().end() ? unknownKey(key)
                                   : setter->second(out, node);
}

} // namespace

Result<ProtocolDescription>
ProtocolDescription::read(const std::filesystem::path &file) {
  BETZ_ASSIGN_OR_RETURN(toml::table root, readToml(file));
  auto place = [&](const toml::source_region &region) {
    return tomlPlace(file, region);
  };
  ProtocolDescription out;
  for (auto &&[name, node] : root) {
    const std::string key(name.str());
    BETZ_RETURN_IF_ERROR(
        setKey(out, key, node)
            .withContext(fmt::format("{}: {}", place(node.source()), key)));
  }
  if (out.recordings.empty())
    return invalidArgument(fmt::format(
        "{}: names no recording; add recordings = [\"F.nwb\"]", file.string()));
  for (std::filesystem::path &recording : out.recordings)
    recording = file.parent_path() / recording;
  return out;
}

} // namespace betz::train
