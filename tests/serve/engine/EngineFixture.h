//===- EngineFixture.h - An engine, and answers to keep -------------------===//
#pragma once

#include "serve/engine/Engine.h"
#include "tests/serve/engine/SumDecoder.h"

#include <condition_variable>
#include <future>
#include <gtest/gtest.h>
#include <mutex>

namespace betz::serve {

/// An answer that outlives its callback.
struct KeptAnswer {
  std::optional<ErrorKind> error;
  std::string message;
  std::chrono::nanoseconds retryAfter{0};
  std::vector<float> behavior;
  std::string version;
  uint64_t batch = 0;
  int64_t batchWindows = 0;

  explicit KeptAnswer(const Answer &answer) {
    if (const Error *failed = std::get_if<Error>(&answer)) {
      error = failed->kind;
      message = failed->message;
      retryAfter = failed->retryAfter;
      return;
    }
    const Decoded &decoded = std::get<Decoded>(answer);
    behavior.assign(decoded.behavior.begin(), decoded.behavior.end());
    version = decoded.version;
    batch = decoded.batch;
    batchWindows = decoded.batchWindows;
  }
};

inline std::future<KeptAnswer> submit(Engine &engine, const Request &request,
                                      RequestId *id = nullptr) {
  auto promise = std::make_shared<std::promise<KeptAnswer>>();
  std::future<KeptAnswer> future = promise->get_future();
  const RequestId given =
      engine.submit(request, [promise](const Answer &answer) {
        promise->set_value(KeptAnswer(answer));
      });
  if (id)
    *id = given;
  return future;
}

/// Holds the engine's thread inside a callback, so that requests pile up.
class Gate {
public:
  Gate(Engine &engine, const Request &request) {
    engine.submit(request, [this](const Answer &) {
      entered.set_value();
      opened.get_future().wait();
      left.set_value();
    });
    entered.get_future().wait();
  }
  void open() {
    opened.set_value();
    left.get_future().wait();
  }

private:
  std::promise<void> entered, opened, left;
};

inline std::unique_ptr<Engine> makeEngine(EngineConfig config = {}) {
  if (config.threads == 0)
    config.threads = 1;
  auto engine = Engine::create(config);
  EXPECT_TRUE(engine.isOk()) << engine.status().message();
  return std::move(engine).value();
}

inline void load(Engine &engine, const SumDecoder &decoder,
                 const std::string &name = "sum",
                 const std::string &version = "", int64_t largest = 8) {
  const auto path = decoder.write(name, largest);
  const Status status =
      engine.load({.path = path, .name = name, .version = version});
  EXPECT_TRUE(status.isOk()) << status.message();
  std::filesystem::remove(path);
}

} // namespace betz::serve
