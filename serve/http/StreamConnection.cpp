#include "serve/http/StreamConnection.h"

#include "serve/protocol/StreamFrame.h"

#include <charconv>
#include <deque>
#include <fmt/format.h>

namespace betz::serve {
namespace {

namespace websocket = beast::websocket;

/// Answers that a client has not taken; one more ends its stream.
constexpr size_t kMaxUnsent = 1024;

Status readNumber(const Target &target, std::string_view key, double low,
                  double &value) {
  const auto found = target.query.find(key);
  if (found == target.query.end())
    return Status::ok();
  const std::string &text = found->second;
  const char *end = text.data() + text.size();
  auto [stop, code] = std::from_chars(text.data(), end, value);
  if (code != std::errc() || stop != end || value < low || value > 2147483647)
    return invalidArgument(fmt::format(
        "{} is '{}'; it must be a number from {} on", key, text, low));
  return Status::ok();
}

Result<StreamOptions> readOptions(const Exchange &exchange) {
  const Target &target = exchange.target;
  StreamOptions options;
  double window = 0, stride = 0, first = 0, deadline = 0;
  BETZ_RETURN_IF_ERROR(readNumber(target, "window_bins", 1, window));
  BETZ_RETURN_IF_ERROR(readNumber(target, "stride_bins", 1, stride));
  BETZ_RETURN_IF_ERROR(readNumber(target, "first_bin", 0, first));
  BETZ_RETURN_IF_ERROR(readNumber(target, "deadline_ms", 0.001, deadline));
  options.windowBins = static_cast<int32_t>(window);
  options.strideBins = static_cast<int32_t>(stride);
  options.firstBin = static_cast<int32_t>(first);
  options.deadline = std::chrono::nanoseconds(int64_t(deadline * 1e6));
  if (auto model = target.query.find("model"); model != target.query.end())
    options.model = model->second;
  if (auto version = target.query.find("version");
      version != target.query.end())
    options.version = version->second;
  const std::vector<ModelInfo> models = exchange.service.engine.models();
  if (options.model.empty() && models.size() == 1)
    options.model = models[0].name;
  if (options.model.empty())
    return invalidArgument("name a model: /stream?model=NAME");
  return options;
}

struct Outgoing {
  std::string text;
  bool isBinary = false;
};

/// What the reader, the writer and the engine's callbacks share. The engine's
/// threads touch it only through post(); the rest runs on the strand.
struct Outbox : std::enable_shared_from_this<Outbox> {
  explicit Outbox(asio::any_io_executor executor)
      : executor(executor),
        wakeUp(executor, asio::steady_timer::time_point::max()),
        writerDone(executor, asio::steady_timer::time_point::max()) {}

  /// Any thread.
  void post(StreamReply reply, bool isBinary) {
    asio::post(executor, [self = shared_from_this(), isBinary,
                          reply = std::move(reply)]() mutable {
      reply.late = self->late;
      reply.merged = self->merged;
      self->push({isBinary ? writeStreamBytes(reply) : writeStreamText(reply),
                  isBinary});
    });
  }
  void push(Outgoing message) {
    messages.push_back(std::move(message));
    isOverfull |= messages.size() > kMaxUnsent;
    wakeUp.cancel();
  }
  void end() {
    isEnded = true;
    wakeUp.cancel();
  }

  asio::any_io_executor executor;
  asio::steady_timer wakeUp;
  asio::steady_timer writerDone;
  std::deque<Outgoing> messages;
  int64_t late = 0;
  int64_t merged = 0;
  /// Of the decode before; negative before the first. Any thread.
  std::atomic<std::chrono::nanoseconds> lastLatency{
      std::chrono::nanoseconds(-1)};
  bool isOverfull = false;
  bool isEnded = false;
  bool isWriterDone = false;
};

StreamReply errorReply(const StreamFrame &frame, int status,
                       std::string message) {
  StreamReply reply;
  reply.sequenceNumber = frame.sequenceNumber;
  reply.endBin = frame.advanceTo.value_or(-1);
  reply.status = status;
  reply.error = std::move(message);
  return reply;
}

StreamReply toReply(const StreamAnswer &answer, uint32_t sequenceNumber,
                    Clock::time_point arrived) {
  StreamReply reply;
  reply.sequenceNumber = sequenceNumber;
  reply.endBin = answer.endBin;
  reply.latency = Clock::now() - arrived;
  if (const Error *error = std::get_if<Error>(&answer.answer)) {
    reply.status = httpStatus(error->kind);
    reply.error = error->message;
    return reply;
  }
  const Decoded &decoded = std::get<Decoded>(answer.answer);
  reply.behavior.assign(decoded.behavior.begin(), decoded.behavior.end());
  reply.isNonFinite = decoded.isNonFinite;
  reply.isHeld = decoded.isHeld;
  return reply;
}

void countJitter(Outbox &outbox, std::chrono::nanoseconds latency,
                 FrontMetrics &metrics) {
  const std::chrono::nanoseconds before = outbox.lastLatency.exchange(latency);
  if (before.count() >= 0)
    metrics.countJitter(std::chrono::abs(latency - before));
}

/// Pushes a frame's events and asks for its decodes.
Status applyFrame(StreamSession &session, const StreamFrame &frame,
                  bool isBinary, FrontMetrics &metrics,
                  const std::shared_ptr<Outbox> &outbox) {
  const Clock::time_point arrived = Clock::now();
  if (!frame.events.empty()) {
    BETZ_ASSIGN_OR_RETURN(const StreamSession::Counts counts,
                          session.push(frame.events));
    outbox->late += counts.late;
    outbox->merged += counts.merged;
  }
  if (!frame.advanceTo)
    return Status::ok();
  return session
      .advance(*frame.advanceTo,
               [outbox, isBinary, arrived, &metrics,
                number = frame.sequenceNumber](const StreamAnswer &answer) {
                 StreamReply reply = toReply(answer, number, arrived);
                 metrics.countRequest("stream", reply.status, reply.latency);
                 if (reply.status == 200)
                   countJitter(*outbox, reply.latency, metrics);
                 outbox->post(std::move(reply), isBinary);
               })
      .status();
}

void takeFrame(Exchange &exchange, StreamSession &session,
               std::string_view text, bool isBinary,
               const std::shared_ptr<Outbox> &outbox) {
  const size_t maxEvents = size_t(exchange.service.config.maxEvents);
  Result<StreamFrame> frame = isBinary ? parseStreamBytes(text, maxEvents)
                                       : parseStreamText(text, maxEvents);
  Status status = frame.isOk() ? applyFrame(session, *frame, isBinary,
                                            exchange.service.metrics, outbox)
                               : frame.status();
  if (status.isOk())
    return;
  const int code = status.getCode() == StatusCode::Unavailable ? 503 : 400;
  exchange.service.metrics.countRequest("stream", code, {});
  outbox->post(
      errorReply(frame.isOk() ? *frame : StreamFrame(), code, status.message()),
      isBinary);
}

template <class Socket>
asio::awaitable<void> writeAnswers(Socket &socket,
                                   std::shared_ptr<Outbox> outbox) {
  while (true) {
    while (outbox->messages.empty() && !outbox->isEnded)
      co_await outbox->wakeUp.async_wait(kAwait);
    if (outbox->isOverfull) {
      co_await socket.async_close(
          {websocket::close_code::policy_error, "answers are not taken"},
          kAwait);
      break;
    }
    if (outbox->messages.empty())
      break;
    const Outgoing message = std::move(outbox->messages.front());
    outbox->messages.pop_front();
    socket.binary(message.isBinary);
    auto [ec, bytes] =
        co_await socket.async_write(asio::buffer(message.text), kAwait);
    if (ec)
      break;
  }
  boost::system::error_code ignored;
  beast::get_lowest_layer(socket).socket().shutdown(tcp::socket::shutdown_both,
                                                    ignored);
  outbox->isWriterDone = true;
  outbox->writerDone.cancel();
}

std::string describeStream(const StreamSession &session) {
  return fmt::format(R"({{"window_bins":{},"stride_bins":{},"columns":{}}})",
                     session.windowBins(), session.strideBins(),
                     session.columns());
}

template <class Socket>
asio::awaitable<void> runStream(Exchange &exchange, StreamSession &session,
                                Socket &socket) {
  const ServerConfig &config = exchange.service.config;
  websocket::stream_base::timeout timeout{
      std::chrono::duration_cast<Clock::duration>(config.headerTimeout),
      std::chrono::duration_cast<Clock::duration>(config.idleTimeout), true};
  socket.set_option(timeout);
  socket.read_message_max(size_t(config.maxBodyBytes));
  auto [acceptError] = co_await socket.async_accept(exchange.request, kAwait);
  if (acceptError)
    co_return;
  const auto executor = co_await asio::this_coro::executor;
  auto outbox = std::make_shared<Outbox>(executor);
  outbox->push({describeStream(session), false});
  asio::co_spawn(executor, writeAnswers(socket, outbox), asio::detached);
  beast::flat_buffer buffer;
  while (!exchange.service.isDraining) {
    auto [ec, bytes] = co_await socket.async_read(buffer, kAwait);
    if (ec)
      break;
    const auto data = buffer.data();
    takeFrame(exchange, session,
              {static_cast<const char *>(data.data()), data.size()},
              socket.got_binary(), outbox);
    buffer.consume(buffer.size());
  }
  session.close();
  outbox->end();
  // The writer uses the socket, which ends with this coroutine.
  while (!outbox->isWriterDone)
    co_await outbox->writerDone.async_wait(kAwait);
}

} // namespace

bool prepareStream(Exchange &exchange, StreamRequest &request) {
  exchange.endpoint = "stream";
  Service &service = exchange.service;
  if (!(exchange.target.path == std::vector<std::string>{"stream"})) {
    exchange.replyError(404, "WebSockets are at /stream");
    return false;
  }
  if (!exchange.mayPass())
    return false;
  Result<StreamOptions> options = readOptions(exchange);
  if (!options.isOk()) {
    exchange.replyError(options.status());
    return false;
  }
  auto opened = service.engine.openStream(*options);
  if (const Error *error = std::get_if<Error>(&opened)) {
    exchange.replyError(*error);
    return false;
  }
  request.session = std::get<std::shared_ptr<StreamSession>>(opened);
  return true;
}

asio::awaitable<void> serveStream(Exchange &exchange, StreamRequest &request,
                                  PlainSocket &socket) {
  co_await runStream(exchange, *request.session, socket);
}
asio::awaitable<void> serveStream(Exchange &exchange, StreamRequest &request,
                                  TlsSocket &socket) {
  co_await runStream(exchange, *request.session, socket);
}

} // namespace betz::serve
