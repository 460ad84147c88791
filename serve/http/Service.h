//===- Service.h - What all connections of a server share -----------------===//
#pragma once

#include "serve/engine/Engine.h"
#include "serve/http/ApiKeys.h"
#include "serve/http/Asio.h"
#include "serve/http/FrontMetrics.h"
#include "serve/http/ServerConfig.h"
#include "serve/http/SpanExporter.h"

#include <map>

namespace betz::serve {

/// Outlives every connection. Any thread may use it.
struct Service {
  Service(Engine &engine, const ServerConfig &config, ApiKeys keys)
      : engine(engine), config(config), keys(std::move(keys)),
        metrics(config.slo) {}

  Engine &engine;
  const ServerConfig &config;
  const ApiKeys keys;
  FrontMetrics metrics;
  /// Absent where no traces are asked for.
  std::unique_ptr<SpanExporter> spans;
  /// Programs that may be loaded by name; constant once the server runs.
  std::map<std::string, std::filesystem::path, std::less<>> sources;
  /// JSON of the recording that the page can play; empty: none.
  std::string session;
  std::atomic<bool> isDraining{false};
  /// Runs what takes seconds: loading and unloading models.
  asio::thread_pool slowWork{1};
};

} // namespace betz::serve
