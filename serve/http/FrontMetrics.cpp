#include "serve/http/FrontMetrics.h"

#include "runtime/session/OpenDevice.h"

#include <algorithm>

namespace betz::serve {
namespace {

constexpr MetricKind kCounter = MetricKind::Counter;
constexpr MetricKind kGauge = MetricKind::Gauge;

double seconds(std::chrono::nanoseconds time) {
  return static_cast<double>(time.count()) * 1e-9;
}

double number(auto value) { return static_cast<double>(value); }

void writeErrors(MetricsText &text, const Statistics &statistics) {
  text.family("betz_errors_total", kCounter,
              "Requests without a result, by reason");
  for (size_t kind = 0; kind < kErrorKinds; ++kind) {
    uint64_t count = statistics.errors[kind];
    for (const ModelStatistics &model : statistics.models)
      count += model.errors[kind];
    text.sample({{"error_type", toString(ErrorKind(kind))}}, number(count));
  }
}

struct ModelHistogram {
  const char *name;
  const char *help;
  Histogram ModelStatistics::*histogram;
};
constexpr ModelHistogram kModelHistograms[] = {
    {"betz_decode_latency_seconds", "Arrival to answer, in the engine",
     &ModelStatistics::latencySeconds},
    {"betz_queue_wait_seconds", "Arrival to dispatch",
     &ModelStatistics::queueSeconds},
    {"betz_inference_latency_seconds", "Dispatch to the end of the batch",
     &ModelStatistics::computeSeconds},
    {"betz_batch_size", "Windows of a batch", &ModelStatistics::batchWindows},
    {"betz_batch_fill", "Windows of a batch over the most that one may have",
     &ModelStatistics::batchFill},
    {"betz_batch_actual_over_predicted",
     "A batch's time over what was predicted for it",
     &ModelStatistics::actualOverPredicted},
};

struct ModelCounter {
  const char *name;
  const char *help;
  uint64_t ModelStatistics::*value;
};
constexpr ModelCounter kModelCounters[] = {
    {"betz_windows_total", "Windows decoded", &ModelStatistics::windows},
    {"betz_batches_total", "Batches run", &ModelStatistics::batches},
    {"betz_missed_deadlines_total", "Accepted requests answered too late",
     &ModelStatistics::missedDeadlines},
    {"betz_non_finite_outputs_total",
     "Windows whose output has a NaN or an infinity",
     &ModelStatistics::nonFinite},
};

void writeModels(MetricsText &text, std::span<const ModelStatistics> models) {
  for (const ModelHistogram &row : kModelHistograms) {
    text.family(row.name, MetricKind::Histogram, row.help);
    for (const ModelStatistics &model : models)
      text.histogram({{"model", model.name}, {"version", model.version}},
                     model.*row.histogram);
  }
  for (const ModelCounter &row : kModelCounters) {
    text.family(row.name, kCounter, row.help);
    for (const ModelStatistics &model : models)
      text.sample({{"model", model.name}, {"version", model.version}},
                  number(model.*row.value));
  }
}

/// A metric without labels.
struct Row {
  const char *name;
  MetricKind kind;
  const char *help;
  double value;
};

void writeRows(MetricsText &text, std::span<const Row> rows) {
  for (const Row &row : rows) {
    text.family(row.name, row.kind, row.help);
    text.sample({}, row.value);
  }
}

void writeStreams(MetricsText &text, const StreamStatistics &streams) {
  const uint64_t looked = streams.pageHits + streams.pageMisses;
  const double hitRate = looked ? number(streams.pageHits) / number(looked) : 0;
  const Row rows[] = {
      {"betz_streams_open", kGauge, "Streams open", number(streams.open)},
      {"betz_stream_decodes_total", kCounter, "Decodes of streams",
       number(streams.decodes)},
      {"betz_stream_events_total", kCounter, "Events pushed to streams",
       number(streams.events)},
      {"betz_stream_late_events_total", kCounter, "Events of closed bins",
       number(streams.late)},
      {"betz_stream_merged_events_total", kCounter,
       "Events added to one of the same neuron and bin",
       number(streams.merged)},
      {"betz_stream_idle_closed_total", kCounter, "Streams closed as idle",
       number(streams.idleClosed)},
      {"betz_stream_pages", kGauge, "Pages of the pool", number(streams.pages)},
      {"betz_stream_pages_used", kGauge, "Pages that hold events",
       number(streams.pagesUsed)},
      {"betz_stream_page_hit_rate", kGauge,
       "Share of pages that decodes found on the device", hitRate},
      {"betz_stream_page_evictions_total", kCounter,
       "Pages taken from one stream for another", number(streams.evictions)},
      {"betz_stream_bytes_read_total", kCounter,
       "Bytes of events that decodes read", number(streams.bytesRead)},
      {"betz_stream_bytes_uploaded_total", kCounter,
       "Bytes of events that were uploaded", number(streams.bytesUploaded)},
  };
  writeRows(text, rows);
}

/// What a GPU says of itself; nothing of other devices.
void writeDevice(MetricsText &text, const DeviceState &state) {
  auto gauge = [&](const char *name, const char *help, double value) {
    text.family(name, kGauge, help);
    text.sample({}, value);
  };
  if (state.memoryUsed)
    gauge("betz_gpu_memory_used_bytes", "Memory in use, by all processes",
          number(*state.memoryUsed));
  if (state.memoryTotal)
    gauge("betz_gpu_memory_total_bytes", "Memory of the GPU",
          number(*state.memoryTotal));
  if (state.utilization)
    gauge("betz_gpu_utilization_percent", "Recent time in which the GPU worked",
          100 * *state.utilization);
}

constexpr double kJitterSeconds[] = {.0001, .0002, .0005, .001, .002, .005,
                                     .01,   .02,   .05,   .1,   .25};

/// Requests whose latency the SLO is about.
bool isDecode(std::string_view endpoint) {
  return endpoint == "infer" || endpoint == "decode" || endpoint == "stream";
}

} // namespace

FrontMetrics::FrontMetrics(std::chrono::nanoseconds slo)
    : slo(slo), bounds{.0001, .00025, .0005, .001, .0025, .005, .01, .02,
                       .03,   .05,    .1,    .25,  .5,    1,    2.5},
      jitter(kJitterSeconds) {
  bounds.push_back(seconds(slo));
  std::ranges::sort(bounds);
  bounds.erase(std::ranges::unique(bounds).begin(), bounds.end());
}

void FrontMetrics::countRequest(std::string_view endpoint, int status,
                                std::chrono::nanoseconds latency) {
  std::scoped_lock lock(mutex);
  auto found = endpoints.find(endpoint);
  if (found == endpoints.end())
    found = endpoints
                .emplace(std::string(endpoint), Endpoint{{}, Histogram(bounds)})
                .first;
  ++found->second.byStatus[status];
  found->second.latency.add(seconds(latency));
  if (isDecode(endpoint))
    countForSlo(status, latency);
}

/// A client's own mistakes are neither good nor bad.
void FrontMetrics::countForSlo(int status, std::chrono::nanoseconds latency) {
  const bool isRefused = status >= 500 || status == 429;
  if (status == 200 || isRefused)
    burn.add(!isRefused && latency <= slo, SloBurn::Clock::now());
}

void FrontMetrics::countJitter(std::chrono::nanoseconds difference) {
  std::scoped_lock lock(mutex);
  jitter.add(seconds(difference));
}

void FrontMetrics::writeFront(MetricsText &text) const {
  std::scoped_lock lock(mutex);
  text.family("betz_requests_total", kCounter, "Requests answered");
  for (const auto &[name, endpoint] : endpoints)
    for (const auto &[status, count] : endpoint.byStatus)
      text.sample({{"endpoint", name}, {"code", std::to_string(status)}},
                  number(count));
  text.family("betz_request_latency_seconds", MetricKind::Histogram,
              "A request's last byte in to its answer's first byte out");
  for (const auto &[name, endpoint] : endpoints)
    text.histogram({{"endpoint", name}}, endpoint.latency);
  text.family("betz_stream_jitter_seconds", MetricKind::Histogram,
              "Difference between a decode's latency and the one before");
  text.histogram({}, jitter);
  text.family("betz_slo_burn_rate", kGauge,
              "Share of requests refused or over the SLO, over 1 %");
  const auto now = SloBurn::Clock::now();
  text.sample({{"window", "5m"}}, burn.rate(std::chrono::minutes(5), now));
  text.sample({{"window", "1h"}}, burn.rate(std::chrono::hours(1), now));
}

std::string FrontMetrics::write(const Engine &engine) const {
  const Statistics statistics = engine.statistics();
  MetricsText text;
  writeFront(text);
  const Row rows[] = {
      {"betz_ready", kGauge, "1 where requests are taken",
       number(engine.isReady())},
      {"betz_queue_depth", kGauge, "Requests that wait",
       number(statistics.queueDepth)},
      {"betz_in_flight", kGauge, "Requests accepted and not yet answered",
       number(statistics.inFlight)},
      {"betz_engine_heartbeat_age_seconds", kGauge,
       "Since the engine's thread last turned, while it has work",
       seconds(engine.sinceTurn())},
      {"betz_connections", kGauge, "Connections open",
       number(connections.load())},
      {"betz_connections_accepted_total", kCounter, "Connections accepted",
       number(connectionsAccepted.load())},
      {"betz_connections_refused_total", kCounter,
       "Connections refused as too many", number(connectionsRefused.load())},
      {"betz_slow_clients_total", kCounter,
       "Connections closed because a request took too long to arrive",
       number(timeouts.load())},
      {"betz_clients_gone_total", kCounter,
       "Clients that left before their answer", number(clientsGone.load())},
      {"betz_spans_exported_total", kCounter, "Spans that the collector took",
       number(spansExported.load())},
      {"betz_spans_dropped_total", kCounter, "Spans lost",
       number(spansDropped.load())},
      {"betz_record_batches_total", kCounter, "Batches in the log",
       number(statistics.observed.kept)},
      {"betz_record_dropped_total", kCounter, "Batches that the log lacks",
       number(statistics.observed.dropped)},
  };
  writeRows(text, rows);
  writeDevice(text, readDeviceState(engine.config().device));
  writeErrors(text, statistics);
  writeModels(text, statistics.models);
  writeStreams(text, statistics.streams);
  return std::move(text).take();
}

} // namespace betz::serve
