// Any bytes are a body, a frame or a header, or fail with a Status. The first
// byte says which.
#include "serve/protocol/DecodeMessage.h"
#include "serve/protocol/InferRequest.h"
#include "serve/protocol/StreamFrame.h"
#include "serve/protocol/TraceContext.h"

#include <cstdlib>
#include <nlohmann/json.hpp>

using namespace betz::serve;

namespace {

void require(bool holds) {
  if (!holds)
    std::abort();
}

/// Numbers that no double holds are JSON; members that are not read may have
/// them.
bool isJson(std::string_view text) {
  try {
    return !nlohmann::json::parse(text).is_discarded();
  } catch (const nlohmann::json::out_of_range &) {
    return true;
  } catch (const nlohmann::json::parse_error &) {
    return false;
  }
}

/// JSON up to the first zero byte, tensors behind it.
void infer(std::string_view text) {
  const size_t zero = std::min(text.find('\0'), text.size());
  const std::string_view binary = text.substr(std::min(zero + 1, text.size()));
  auto request = parseInferRequest(text.substr(0, zero), binary);
  if (request.isOk())
    require(isJson(text.substr(0, zero)) &&
            request->events.rowSplits.size() <= text.size() + 2);
}

void decode(std::string_view text) {
  auto request = parseDecodeRequest(text, 64);
  if (request.isOk())
    require(isJson(text) && request->events.neuronId.size() <= 64);
}

void stream(std::string_view text) {
  auto frame = parseStreamText(text, 64);
  if (frame.isOk())
    require(isJson(text) && frame->events.size() <= 64);
  auto bytes = parseStreamBytes(text, 64);
  if (bytes.isOk())
    require(text.size() == 12 + 12 * bytes->events.size());
}

void trace(std::string_view text) {
  if (auto context = parseTraceparent(text))
    require(parseTraceparent(formatTraceparent(*context)) == context);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size == 0)
    return 0;
  const std::string_view text(reinterpret_cast<const char *>(data) + 1,
                              size - 1);
  static constexpr void (*kReaders[])(std::string_view) = {infer, decode,
                                                           stream, trace};
  kReaders[data[0] % 4](text);
  return 0;
}
