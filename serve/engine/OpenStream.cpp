#include "serve/engine/OpenStream.h"

#include <algorithm>
#include <fmt/format.h>

namespace betz::serve {

OpenStream::OpenStream(StreamTable &table, StreamOptions given,
                       const StreamShape &shape)
    : table(table), counts(table.counts), options(std::move(given)),
      shape(shape), usedAt(Clock::now()),
      history(shape.limits, options.firstBin, shape.maxEvents),
      nextEnd(options.firstBin + options.strideBins),
      pending(size_t(table.config.streams.maxPending)) {
  const size_t events =
      size_t(std::min(shape.maxEvents, table.pool->capacity()));
  for (Pending &one : pending)
    for (std::vector<int32_t> *of : {&one.neuronId, &one.timeBin, &one.value})
      of->resize(events);
  pages.entries.reserve(events / size_t(table.config.streams.pageEvents) + 2);
  ++counts->open;
}

OpenStream::~OpenStream() {
  // Pending decodes hold a reference, so that none is left.
  if (!closed.exchange(true)) {
    table.pool->leave(pages);
    --counts->open;
  }
}

Windows OpenStream::Pending::view() const {
  const size_t events = size_t(rowSplits[1]);
  return {{neuronId.data(), events},
          {timeBin.data(), events},
          {value.data(), events},
          rowSplits,
          {&windowStart, 1}};
}

Status OpenStream::beginUse() {
  usedAt = Clock::now();
  return closed ? unavailable("the stream is closed; open another")
                : Status::ok();
}

Result<StreamSession::Counts>
OpenStream::push(std::span<const StreamEvent> events) {
  std::lock_guard lock(mutex);
  BETZ_RETURN_IF_ERROR(beginUse());
  BETZ_ASSIGN_OR_RETURN(Counts pushed, history.push(events));
  counts->events += uint64_t(pushed.accepted);
  counts->late += uint64_t(pushed.late);
  counts->merged += uint64_t(pushed.merged);
  return pushed;
}

Result<int64_t> OpenStream::advance(int32_t bin, StreamCallback callback) {
  std::lock_guard lock(mutex);
  BETZ_RETURN_IF_ERROR(beginUse());
  if (bin < history.closedBefore())
    return invalidArgument(
        fmt::format("bins before {} are closed already; a stream cannot go "
                    "back to {}",
                    history.closedBefore(), bin));
  int64_t decodes = 0;
  for (; nextEnd <= bin; ++decodes) {
    history.close(nextEnd);
    history.forget(nextEnd - options.windowBins);
    decode(nextEnd, callback);
    nextEnd += options.strideBins;
  }
  history.close(bin);
  return decodes;
}

void OpenStream::decode(int32_t endBin, const StreamCallback &callback) {
  ++counts->decodes;
  const int64_t begin = history.find(endBin - options.windowBins);
  const int64_t end = history.end();
  auto refuse = [&](ErrorKind kind, std::string message) {
    const Answer answer = Error{kind, std::move(message), {}};
    callback({endBin, end - begin, answer});
  };
  if (end - begin > shape.maxEvents)
    return refuse(ErrorKind::Invalid,
                  fmt::format("the window that ends before bin {} has {} "
                              "events; the program takes {}",
                              endBin, end - begin, shape.maxEvents));
  Pending *free = takePending();
  if (!free)
    return refuse(ErrorKind::QueueFull,
                  fmt::format("{} decodes of this stream are not answered yet",
                              pending.size()));
  free->callback = callback;
  fill(*free, endBin, begin, end);
  submit(*free);
}

OpenStream::Pending *OpenStream::takePending() {
  std::lock_guard lock(pendingMutex);
  for (Pending &one : pending)
    if (!one.stream) {
      one.stream = shared_from_this();
      one.request = {};
      return &one;
    }
  return nullptr;
}

void OpenStream::fill(Pending &one, int32_t endBin, int64_t begin,
                      int64_t end) {
  one.endBin = endBin;
  one.windowStart = endBin - options.windowBins;
  one.rowSplits[1] = int32_t(end - begin);
  table.pool->read(pages, history, begin, end,
                   {one.neuronId.data(), one.timeBin.data(), one.value.data()});
}

void OpenStream::submit(Pending &one) {
  Request request = {.model = options.model,
                     .version = options.version,
                     .windows = one.view(),
                     .priority = options.priority};
  if (options.deadline.count() > 0)
    request.deadline = Clock::now() + options.deadline;
  const RequestId id = table.dispatcher.submit(
      request, [this, &one](const Answer &answer) { finish(one, answer); });
  std::lock_guard lock(pendingMutex);
  one.request = id;
}

void OpenStream::finish(Pending &one, const Answer &answer) {
  const StreamCallback callback = std::move(one.callback);
  one.callback = nullptr;
  const Decoded *decoded = std::get_if<Decoded>(&answer);
  if (decoded && table.config.streams.holdLastGood)
    callback({one.endBin, one.rowSplits[1], hold(*decoded)});
  else
    callback({one.endBin, one.rowSplits[1], answer});
  std::shared_ptr<OpenStream> last;
  std::lock_guard lock(pendingMutex);
  last.swap(one.stream);
}

Answer OpenStream::hold(const Decoded &decoded) {
  Decoded held = decoded;
  if (!decoded.isNonFinite) {
    lastGood.assign(decoded.behavior.begin(), decoded.behavior.end());
  } else if (!lastGood.empty()) {
    held.behavior = lastGood;
    held.isHeld = true;
  }
  return held;
}

void OpenStream::close() {
  {
    std::lock_guard lock(mutex);
    if (closed.exchange(true))
      return;
    table.pool->leave(pages);
    --counts->open;
  }
  for (Pending &one : pending) {
    pendingMutex.lock();
    const RequestId request = one.stream ? one.request : RequestId{};
    pendingMutex.unlock();
    table.dispatcher.cancel(request);
  }
}

} // namespace betz::serve
