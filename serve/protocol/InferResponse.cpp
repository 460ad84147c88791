#include "serve/protocol/InferResponse.h"

#include "runtime/base/Json.h"
#include "serve/engine/DecoderPorts.h"
#include "serve/protocol/JsonText.h"
#include "tools/DecoderInfo.h"

#include <bit>

namespace betz::serve {
namespace {

static_assert(std::endian::native == std::endian::little,
              "tensors go out as they lie in memory");

int64_t microseconds(std::chrono::nanoseconds time) {
  return time.count() / 1000;
}

Json toJson(const Duration &duration) {
  return {{"count", duration.count}, {"ns", duration.total.count()}};
}

Json toJson(const ModelStatistics &model) {
  const Json none = {{"count", 0}, {"ns", 0}};
  Json batches = Json::array();
  for (const BatchStatistics &batch : model.byWindows)
    batches.push_back({{"batch_size", batch.windows},
                       {"compute_input", none},
                       {"compute_infer", toJson(batch.computed)},
                       {"compute_output", none}});
  const auto last = std::chrono::duration_cast<std::chrono::milliseconds>(
      model.lastBatch.time_since_epoch());
  return {{"name", model.name},
          {"version", model.version},
          {"last_inference", last.count()},
          {"inference_count", model.windows},
          {"execution_count", model.batches},
          {"inference_stats",
           {{"success", toJson(model.success)},
            {"fail", toJson(model.failure)},
            {"queue", toJson(model.queued)},
            {"compute_input", toJson(model.packed)},
            {"compute_infer", toJson(model.computed)},
            {"compute_output", toJson(model.unpacked)},
            {"cache_hit", none},
            {"cache_miss", none}}},
          {"batch_stats", batches}};
}

Json tensorJson(const char *name, const char *datatype,
                std::initializer_list<int64_t> shape) {
  return {{"name", name}, {"datatype", datatype}, {"shape", shape}};
}

/// What events may be and how bins lie in time, as far as the program says.
Json describeLimits(const ModelInfo &model) {
  Json limits = Json::object();
  if (!model.program)
    return limits;
  const Program &program = *model.program;
  if (Result<DecoderPorts> ports = findDecoderPorts(program); ports.isOk()) {
    limits["neurons"] = indexLimit(program, ports->neuronId);
    limits["time_bins"] = indexLimit(program, ports->timeBin);
    limits["values"] = indexLimit(program, ports->value);
  }
  limits["max_events"] = model.maxEvents;
  limits["max_windows"] = model.maxWindows;
  if (Result<DecoderWindows> decoder = readDecoderWindows(program.metadata);
      decoder.isOk())
    limits["bin_ms"] = decoder->windows.binMs;
  return limits;
}

/// The repository's words for a model's state.
std::string_view repositoryState(ModelState state) {
  switch (state) {
  case ModelState::Ready:
    return "READY";
  case ModelState::Loading:
    return "LOADING";
  case ModelState::Unloading:
    return "UNLOADING";
  case ModelState::Failed:
    break;
  }
  return "UNAVAILABLE";
}

} // namespace

InferResponse writeInferResponse(std::string_view model, std::string_view id,
                                 const Decoded &decoded, bool isBinary) {
  std::string out = "{\"model_name\":";
  appendJsonString(out, model);
  out += ",\"model_version\":";
  appendJsonString(out, decoded.version);
  if (!id.empty()) {
    out += ",\"id\":";
    appendJsonString(out, id);
  }
  out += ",\"parameters\":{\"queue_us\":";
  appendJsonNumber(out, microseconds(decoded.queued));
  out += ",\"infer_us\":";
  appendJsonNumber(out, microseconds(decoded.computed));
  if (decoded.isNonFinite)
    out += ",\"non_finite\":true";
  out += "},\"outputs\":[{\"name\":\"behavior\",\"datatype\":\"FP32\","
         "\"shape\":[";
  appendJsonNumber(out, decoded.windows);
  out.push_back(',');
  appendJsonNumber(out, decoded.columns);
  if (!isBinary) {
    out += "],\"data\":";
    appendJsonArray(out, decoded.behavior);
    out += "}]}";
    const size_t size = out.size();
    return {std::move(out), size};
  }
  const std::span<const std::byte> bytes = std::as_bytes(decoded.behavior);
  out += "],\"parameters\":{\"binary_data_size\":";
  appendJsonNumber(out, bytes.size());
  out += "}}]}";
  const size_t jsonBytes = out.size();
  out.append(reinterpret_cast<const char *>(bytes.data()), bytes.size());
  return {std::move(out), jsonBytes};
}

std::string writeServerMetadata() {
  return Json({{"name", "betz"},
               {"version", BETZ_VERSION},
               {"extensions",
                Json::array({"binary_tensor_data", "model_repository",
                             "schedule_policy", "statistics"})}})
      .dump();
}

std::string writeModelMetadata(const ModelInfo &model) {
  Json inputs = Json::array();
  for (const char *name : {"neuron_id", "time_bin", "value", "row_splits"})
    inputs.push_back(tensorJson(name, "INT32", {-1}));
  return Json({{"name", model.name},
               {"versions", Json::array({model.version})},
               {"platform", "betz"},
               {"inputs", inputs},
               {"outputs", Json::array({tensorJson("behavior", "FP32",
                                                   {-1, model.columns})})},
               {"parameters", describeLimits(model)}})
      .dump();
}

std::string writeStatistics(std::span<const ModelStatistics> models) {
  Json list = Json::array();
  for (const ModelStatistics &model : models)
    list.push_back(toJson(model));
  return Json({{"model_stats", list}}).dump();
}

std::string writeRepositoryIndex(std::span<const ModelInfo> models,
                                 bool onlyReady) {
  Json list = Json::array();
  for (const ModelInfo &model : models)
    if (!onlyReady || model.state == ModelState::Ready)
      list.push_back({{"name", model.name},
                      {"version", model.version},
                      {"state", repositoryState(model.state)},
                      {"reason", model.reason}});
  return list.dump();
}

} // namespace betz::serve
