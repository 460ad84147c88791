#include "train/build/Recipe.h"
#include "runtime/base/Suggest.h"
#include "runtime/base/Toml.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <functional>
#include <vector>

namespace betz::train {
namespace {

/// Takes a value; the error says what it must be.
using Set = std::function<Status(Recipe &, const toml::node &)>;

struct Key {
  const char *table, *name;
  Set set;
};

template <typename T, typename Place> Set number(Place place, T least, T most) {
  return [=](Recipe &recipe, const toml::node &node) -> Status {
    std::optional<T> value;
    if constexpr (std::is_same_v<T, double>)
      value = node.value<double>(); // an integer is fine
    else
      value = node.value_exact<int64_t>();
    if (!value || *value < least || *value > most)
      return invalidArgument(fmt::format(
          "must be {} from {} to {}",
          std::is_same_v<T, double> ? "a number" : "an integer", least, most));
    place(recipe) = std::remove_reference_t<decltype(place(recipe))>(*value);
    return Status::ok();
  };
}

#define BETZ_PLACE(member)                                                     \
  [](Recipe &recipe) -> auto & { return recipe.member; }

Status setSeries(Recipe &recipe, const toml::node &node) {
  const auto text = node.value_exact<std::string>();
  if (!text)
    return invalidArgument("must be text");
  recipe.data.series = *text;
  return Status::ok();
}

Status setPrecision(Recipe &recipe, const toml::node &node) {
  const auto text = node.value_exact<std::string>();
  if (!text || (*text != "f32" && *text != "bf16"))
    return invalidArgument("must be \"f32\" or \"bf16\"");
  recipe.precision = *text;
  return Status::ok();
}

const std::vector<Key> &keys() {
  constexpr int64_t kMany = int64_t(1) << 40;
  static const std::vector<Key> table = {
      {"data", "bin_ms", number<double>(BETZ_PLACE(data.binMs), 0, 1e6)},
      {"data", "history_bins",
       number<int64_t>(BETZ_PLACE(data.historyBins), 1, 1 << 20)},
      {"data", "stride_bins",
       number<int64_t>(BETZ_PLACE(data.strideBins), 1, 1 << 20)},
      {"data", "value_buckets",
       number<int64_t>(BETZ_PLACE(data.valueBuckets), 2, 1 << 20)},
      {"data", "target_times",
       number<int64_t>(BETZ_PLACE(data.targetTimes), 1, 1 << 20)},
      {"data", "target_step_bins",
       number<int64_t>(BETZ_PLACE(data.targetStepBins), 1, 1 << 20)},
      {"data", "series", setSeries},
      {"train", "steps", number<int64_t>(BETZ_PLACE(steps), 1, kMany)},
      {"train", "batch", number<int64_t>(BETZ_PLACE(batch), 1, 1 << 20)},
      {"train", "accumulate",
       number<int64_t>(BETZ_PLACE(accumulate), 1, 1 << 20)},
      {"train", "learning_rate",
       number<double>(BETZ_PLACE(learningRate), 0, 1e3)},
      {"train", "warmup_steps",
       number<int64_t>(BETZ_PLACE(warmupSteps), 0, kMany)},
      {"train", "final_rate", number<double>(BETZ_PLACE(finalRate), 0, 1)},
      {"train", "weight_decay",
       number<double>(BETZ_PLACE(weightDecay), 0, 1e3)},
      {"train", "clip", number<double>(BETZ_PLACE(clip), 0, 1e9)},
      {"train", "beta1", number<double>(BETZ_PLACE(beta1), 0, 0.999999)},
      {"train", "beta2", number<double>(BETZ_PLACE(beta2), 0, 0.9999999)},
      {"train", "dropout", number<double>(BETZ_PLACE(dropout), 0, 0.95)},
      {"train", "average_decay",
       number<double>(BETZ_PLACE(averageDecay), 0, 0.9999999)},
      {"train", "score_every",
       number<int64_t>(BETZ_PLACE(scoreEvery), 1, kMany)},
      {"train", "keep_best", number<int64_t>(BETZ_PLACE(keepBest), 1, 1000)},
      {"train", "patience", number<int64_t>(BETZ_PLACE(patience), 0, kMany)},
      {"train", "shards", number<int64_t>(BETZ_PLACE(shards), 1, 1024)},
      {"train", "precision", setPrecision},
      {"pretrain", "steps",
       number<int64_t>(BETZ_PLACE(pretrainSteps), 0, kMany)},
      {"pretrain", "mask", number<double>(BETZ_PLACE(mask), 0.01, 0.99)},
      {"pretrain", "beside", number<double>(BETZ_PLACE(beside), 0, 1e3)},
      {"augment", "unit_dropout",
       number<double>(BETZ_PLACE(augment.unitDropout), 0, 0.99)},
      {"augment", "spike_dropout",
       number<double>(BETZ_PLACE(augment.spikeDropout), 0, 0.99)},
      {"augment", "added_spikes",
       number<double>(BETZ_PLACE(augment.addedSpikes), 0, 10)},
      {"augment", "jitter_bins",
       number<int64_t>(BETZ_PLACE(augment.jitterBins), 0, 1 << 20)},
  };
  return table;
}

#undef BETZ_PLACE

constexpr std::string_view kTables[] = {"model", "data", "train", "pretrain",
                                        "augment"};

/// What the recordings and [data] decide.
constexpr const char *kDecided[] = {
    "max_neurons", "max_time_bins", "value_buckets", "behavior_dim",
    "bin_ms",      "window_bins",   "stride_bins"};

Status setModelKey(Recipe &recipe, const std::string &name,
                   const toml::node &node) {
  for (const char *decided : kDecided)
    if (name == decided)
      return invalidArgument("is decided by the recordings and [data]");
  if (const auto text = node.value_exact<std::string>())
    recipe.model[name] = *text;
  else if (const auto integer = node.value_exact<int64_t>())
    recipe.model[name] = fmt::to_string(*integer);
  else if (const auto real = node.value_exact<double>())
    recipe.model[name] = fmt::to_string(*real);
  else
    return invalidArgument("must be text or a number");
  return Status::ok();
}

Status setKey(Recipe &recipe, const std::string &table, const std::string &name,
              const toml::node &node) {
  if (table == "model")
    return setModelKey(recipe, name, node);
  std::vector<std::string> names;
  for (const Key &key : keys()) {
    if (table == key.table && name == key.name)
      return key.set(recipe, node);
    if (table == key.table)
      names.push_back(key.name);
  }
  const std::string near = nearestName(name, names);
  return invalidArgument(
      "is no key of this table" +
      (near.empty() ? "" : fmt::format("; did you mean \"{}\"?", near)));
}

} // namespace

Result<Recipe> readRecipe(const std::filesystem::path &path) {
  BETZ_ASSIGN_OR_RETURN(toml::table root, readToml(path));
  auto place = [&](const toml::source_region &region) {
    return tomlPlace(path, region);
  };
  Recipe recipe;
  for (auto &&[tableName, node] : root) {
    const std::string table(tableName.str());
    const toml::table *entries = node.as_table();
    if (!entries || std::ranges::find(kTables, table) == std::end(kTables))
      return invalidArgument(
          fmt::format("{}: \"{}\" is none of the tables [{}]",
                      place(node.source()), table, fmt::join(kTables, "], [")));
    for (auto &&[name, value] : *entries)
      BETZ_RETURN_IF_ERROR(
          setKey(recipe, table, std::string(name.str()), value)
              .withContext(fmt::format("{}: {}.{}", place(value.source()),
                                       table, name.str())));
  }
  return recipe;
}

} // namespace betz::train
