#include "frontend/ModelConfig.h"

#include "runtime/base/Suggest.h"
#include "runtime/base/Toml.h"

#include <charconv>
#include <cmath>
#include <fmt/format.h>
#include <variant>

namespace betz {
namespace {

using Member = std::variant<int64_t ModelConfig::*, double ModelConfig::*,
                            std::string ModelConfig::*>;

struct Key {
  const char *name;
  Member member;
};

/// Every configuration key; files, checks and metadata follow this table.
const std::vector<Key> &configKeys() {
  static const std::vector<Key> keys = {
      {"dim", &ModelConfig::dim},
      {"layers", &ModelConfig::layers},
      {"heads", &ModelConfig::heads},
      {"latents", &ModelConfig::latents},
      {"max_neurons", &ModelConfig::maxNeurons},
      {"max_time_bins", &ModelConfig::maxTimeBins},
      {"value_buckets", &ModelConfig::valueBuckets},
      {"behavior_dim", &ModelConfig::behaviorDim},
      {"mlp_ratio", &ModelConfig::mlpRatio},
      {"norm", &ModelConfig::norm},
      {"eps", &ModelConfig::eps},
      {"time", &ModelConfig::time},
      {"bin_ms", &ModelConfig::binMs},
      {"window_bins", &ModelConfig::windowBins},
      {"stride_bins", &ModelConfig::strideBins},
      {"period_min_ms", &ModelConfig::periodMinMs},
      {"period_max_ms", &ModelConfig::periodMaxMs},
      {"reach_bins", &ModelConfig::reachBins},
  };
  return keys;
}

/// Keys that travel into Program metadata beside the configuration.
const std::vector<std::string> kExtraKeys = {"outputs",    "output_units",
                                             "units",      "target_mean",
                                             "target_std", "sessions"};
const std::vector<std::string> kRequiredKeys = {"dim", "layers", "heads",
                                                "latents"};
constexpr int64_t kLargestSize = int64_t(1) << 20;

std::vector<std::string> allKeys() {
  std::vector<std::string> names = kExtraKeys;
  for (const Key &key : configKeys())
    names.push_back(key.name);
  return names;
}

const Key *findKey(std::string_view name) {
  for (const Key &key : configKeys())
    if (name == key.name)
      return &key;
  return nullptr;
}

Status checkSizes(const ModelConfig &c) {
  struct Size {
    const char *name;
    int64_t value;
  };
  for (const Size &size :
       {Size{"dim", c.dim}, Size{"layers", c.layers}, Size{"heads", c.heads},
        Size{"latents", c.latents}, Size{"max_neurons", c.maxNeurons},
        Size{"max_time_bins", c.maxTimeBins},
        Size{"value_buckets", c.valueBuckets},
        Size{"behavior_dim", c.behaviorDim}, Size{"mlp_ratio", c.mlpRatio},
        Size{"window_bins", c.windowBins}, Size{"stride_bins", c.strideBins}})
    if (size.value < 1 || size.value > kLargestSize)
      return invalidArgument(fmt::format("{} = {}: must be from 1 to {}",
                                         size.name, size.value, kLargestSize));
  if (c.dim * c.mlpRatio > kLargestSize)
    return invalidArgument(
        fmt::format("dim * mlp_ratio = {}: must be at most {}",
                    c.dim * c.mlpRatio, kLargestSize));
  if (c.layers > 1024)
    return invalidArgument(
        fmt::format("layers = {}: must be at most 1024", c.layers));
  return Status::ok();
}

Status checkConfig(const ModelConfig &c) {
  BETZ_RETURN_IF_ERROR(checkSizes(c));
  if (c.dim % c.heads != 0)
    return invalidArgument(
        fmt::format("heads = {} must divide dim = {}", c.heads, c.dim));
  if (c.valueBuckets < 2)
    return invalidArgument("value_buckets = 1: must be 2 or more");
  if (c.norm != "layernorm" && c.norm != "rmsnorm")
    return invalidArgument(fmt::format(
        "norm = \"{}\": must be \"layernorm\" or \"rmsnorm\"", c.norm));
  if (c.time != "table" && c.time != "rotary")
    return invalidArgument(
        fmt::format("time = \"{}\": must be \"table\" or \"rotary\"", c.time));
  if (c.time == "rotary" && (c.dim / c.heads) % 2 != 0)
    return invalidArgument(
        fmt::format("time = \"rotary\" needs an even dim / heads, not {}",
                    c.dim / c.heads));
  if (c.time == "table" && c.windowBins > c.maxTimeBins)
    return invalidArgument(
        fmt::format("window_bins = {} exceeds max_time_bins = {}", c.windowBins,
                    c.maxTimeBins));
  struct Positive {
    const char *name;
    double value;
  };
  for (const Positive &p : {Positive{"eps", c.eps}, Positive{"bin_ms", c.binMs},
                            Positive{"period_min_ms", c.periodMinMs},
                            Positive{"period_max_ms", c.periodMaxMs}})
    if (!(p.value > 0) || !std::isfinite(p.value))
      return invalidArgument(
          fmt::format("{} = {}: must be above zero", p.name, p.value));
  if (!(c.reachBins >= 0) || !std::isfinite(c.reachBins))
    return invalidArgument(fmt::format(
        "reach_bins = {}: must be zero (off) or above", c.reachBins));
  return Status::ok();
}

Status checkRequired(const ModelDescription &model) {
  std::string missing;
  for (const std::string &name : kRequiredKeys)
    if (std::find(model.given.begin(), model.given.end(), name) ==
        model.given.end())
      missing += (missing.empty() ? "" : ", ") + name;
  if (!missing.empty())
    return invalidArgument("missing: " + missing);
  return Status::ok();
}

/// Every element of the array `value` must satisfy `suits`, and there must be
/// one for each column of the behaviour.
Status checkColumns(const char *key, const Json &value, int64_t columns,
                    const char *kind, bool (*suits)(const Json &)) {
  if (!value.is_array() || !std::all_of(value.begin(), value.end(), suits))
    return invalidArgument(fmt::format("{} must be an array of {}", key, kind));
  if (int64_t(value.size()) != columns)
    return invalidArgument(fmt::format("{} has {} elements, behavior_dim is {}",
                                       key, value.size(), columns));
  return Status::ok();
}

/// {"unit id": neuron}: what a recording calls a unit, and its row of the
/// neuron table.
Status checkUnits(const Json &units) {
  auto suits = [](const std::string &unit, const Json &neuron) {
    int64_t id = 0;
    auto [end, error] =
        std::from_chars(unit.data(), unit.data() + unit.size(), id);
    return error == std::errc() && end == unit.data() + unit.size() &&
           neuron.is_number_integer() && neuron >= 0 && neuron <= INT32_MAX;
  };
  if (!units.is_object())
    return invalidArgument("units must be a table, unit id = neuron");
  for (const auto &[unit, neuron] : units.items())
    if (!suits(unit, neuron))
      return invalidArgument(fmt::format(
          "units: \"{}\" = {} is not a unit id with its neuron, 0 or above",
          unit, neuron.dump()));
  return Status::ok();
}

/// [{"name": text, "units": {...}, "target_mean": [...], ...}]: a decoder's
/// recordings, each with the extra keys that are its own.
Status checkSessions(const Json &sessions, const ModelConfig &config) {
  if (!sessions.is_array())
    return invalidArgument("sessions must be an array of tables");
  auto isNumber = [](const Json &value) { return value.is_number(); };
  for (const Json &session : sessions) {
    if (!session.is_object() || !session.contains("name") ||
        !session["name"].is_string())
      return invalidArgument("sessions: each must be a table with a name");
    if (session.contains("units"))
      BETZ_RETURN_IF_ERROR(checkUnits(session["units"]));
    for (const char *key : {"target_mean", "target_std"})
      if (session.contains(key))
        BETZ_RETURN_IF_ERROR(checkColumns(key, session[key], config.behaviorDim,
                                          "numbers", isNumber));
  }
  return Status::ok();
}

/// The extra keys must suit the configuration, or decoding would mislabel.
Status checkExtras(const ModelDescription &model) {
  auto isText = [](const Json &value) { return value.is_string(); };
  auto isNumber = [](const Json &value) { return value.is_number(); };
  for (const auto &[key, text] : model.metadata) {
    BETZ_ASSIGN_OR_RETURN(Json value, parseJson(text));
    Status status;
    if (key == "outputs")
      status = checkColumns(key.c_str(), value, model.config.behaviorDim,
                            "names", isText);
    else if (key == "target_mean" || key == "target_std")
      status = checkColumns(key.c_str(), value, model.config.behaviorDim,
                            "numbers", isNumber);
    else if (key == "units")
      status = checkUnits(value);
    else if (key == "sessions")
      status = checkSessions(value, model.config);
    else if (key == "output_units" && !value.is_string())
      status = invalidArgument("output_units must be text");
    BETZ_RETURN_IF_ERROR(std::move(status));
  }
  return Status::ok();
}

Result<Json> toJson(const toml::node &node) {
  if (auto text = node.value_exact<std::string>())
    return Json(*text);
  if (auto integer = node.value_exact<int64_t>())
    return Json(*integer);
  if (auto real = node.value_exact<double>())
    return Json(*real);
  if (const toml::array *array = node.as_array()) {
    Json values = Json::array();
    for (const toml::node &element : *array) {
      BETZ_ASSIGN_OR_RETURN(Json value, toJson(element));
      values.push_back(std::move(value));
    }
    return values;
  }
  if (const toml::table *table = node.as_table()) {
    Json values = Json::object();
    for (auto &&[key, element] : *table) {
      BETZ_ASSIGN_OR_RETURN(Json value, toJson(element));
      values[std::string(key.str())] = std::move(value);
    }
    return values;
  }
  return invalidArgument("must be text, a number, an array or a table");
}

Status setFromToml(ModelConfig &config, const Key &key,
                   const toml::node &node) {
  return std::visit(
      [&](auto member) -> Status {
        using T = std::remove_reference_t<decltype(config.*member)>;
        std::optional<T> value;
        if constexpr (std::is_same_v<T, double>)
          value = node.value<double>(); // an integer is fine
        else
          value = node.value_exact<T>();
        if (!value)
          return invalidArgument(
              fmt::format("{} must be {}", key.name,
                          std::is_same_v<T, int64_t>  ? "an integer"
                          : std::is_same_v<T, double> ? "a number"
                                                      : "text"));
        config.*member = *value;
        return Status::ok();
      },
      key.member);
}

/// Python writes `1e-05` and `120`; the whole text must be a number.
template <typename T> bool parseNumber(std::string_view text, T &value) {
  auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

Status setFromText(ModelConfig &config, const Key &key,
                   const std::string &text) {
  return std::visit(
      [&](auto member) -> Status {
        using T = std::remove_reference_t<decltype(config.*member)>;
        if constexpr (std::is_same_v<T, std::string>) {
          config.*member = text;
        } else if (!parseNumber(text, config.*member)) {
          return invalidArgument(
              fmt::format("{} = \"{}\" is not a number", key.name, text));
        }
        return Status::ok();
      },
      key.member);
}

Json configToJson(const ModelConfig &config) {
  Json json;
  for (const Key &key : configKeys())
    std::visit([&](auto member) { json[key.name] = config.*member; },
               key.member);
  return json;
}

Status finish(const ModelDescription &model) {
  BETZ_RETURN_IF_ERROR(checkRequired(model));
  BETZ_RETURN_IF_ERROR(checkConfig(model.config));
  return checkExtras(model);
}

} // namespace

Result<ModelDescription> readModelToml(const std::filesystem::path &path) {
  BETZ_ASSIGN_OR_RETURN(toml::table root, readToml(path));
  auto place = [&](const toml::source_region &region) {
    return tomlPlace(path, region);
  };
  ModelDescription model;
  for (auto &&[name, node] : root) {
    std::string key(name.str());
    if (const Key *known = findKey(key)) {
      BETZ_RETURN_IF_ERROR(setFromToml(model.config, *known, node)
                               .withContext(place(node.source())));
      model.given.push_back(key);
      continue;
    }
    if (std::find(kExtraKeys.begin(), kExtraKeys.end(), key) ==
        kExtraKeys.end()) {
      std::string near = nearestName(key, allKeys());
      return invalidArgument(fmt::format(
          "{}: unknown key \"{}\"{}", place(node.source()), key,
          near.empty() ? "" : fmt::format("; did you mean \"{}\"?", near)));
    }
    auto value = toJson(node);
    if (!value.isOk())
      return invalidArgument(fmt::format("{}: {} {}", place(node.source()), key,
                                         value.status().message()));
    model.metadata[key] = value->dump();
  }
  BETZ_RETURN_IF_ERROR(finish(model).withContext(path.string()));
  return model;
}

Result<ModelDescription>
readModelMetadata(const std::map<std::string, std::string> &metadata,
                  const std::string &origin) {
  ModelDescription model;
  for (const auto &[name, text] : metadata) {
    if (const Key *key = findKey(name)) {
      BETZ_RETURN_IF_ERROR(setFromText(model.config, *key, text)
                               .withContext(origin + ": metadata"));
      model.given.push_back(name);
    } else if (std::find(kExtraKeys.begin(), kExtraKeys.end(), name) !=
               kExtraKeys.end()) {
      auto json = parseJson(text);
      // A unit is text, also where it reads as a number ("1").
      bool isJson =
          json.isOk() && (name != "output_units" || json->is_string());
      model.metadata[name] = isJson ? json->dump() : Json(text).dump();
    }
  }
  if (model.given.empty())
    return notFound(fmt::format("{}: its metadata holds no model "
                                "configuration; give a model TOML too",
                                origin));
  BETZ_RETURN_IF_ERROR(finish(model).withContext(origin + ": metadata"));
  return model;
}

Status checkAgreement(const ModelDescription &model, const std::string &origin,
                      const ModelDescription &other,
                      const std::string &otherOrigin) {
  Json left = configToJson(model.config);
  Json right = configToJson(other.config);
  std::string differences;
  for (const std::string &key : other.given)
    if (key != "stride_bins" && left[key] != right[key])
      differences +=
          fmt::format("{}{} {} against {}", differences.empty() ? "" : ", ",
                      key, left[key].dump(), right[key].dump());
  if (differences.empty())
    return Status::ok();
  return invalidArgument(
      fmt::format("{} and {} describe different models: {}; leave the model "
                  "file out to use the weights' own configuration",
                  origin, otherOrigin, differences));
}

std::map<std::string, std::string>
toProgramMetadata(const ModelDescription &model) {
  std::map<std::string, std::string> metadata = model.metadata;
  metadata["config"] = configToJson(model.config).dump();
  metadata["stride_bins"] = Json(model.config.strideBins).dump();
  return metadata;
}

} // namespace betz
