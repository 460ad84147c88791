#include "serve/engine/StreamTable.h"

#include "serve/engine/OpenStream.h"
#include "tools/DecoderInfo.h"

#include <algorithm>
#include <fmt/format.h>

namespace betz::serve {
namespace {

Error invalid(std::string message) {
  return {ErrorKind::Invalid, std::move(message), {}};
}

/// Fills in what the options leave to the program. An error says what does not
/// fit it.
Status complete(StreamOptions &options, const LoadedModel &model,
                StreamShape &shape) {
  const DecoderPorts &ports = model.ports();
  const Program &program = model.program();
  if (!ports.windowStart)
    return invalidArgument("the program takes no window_start, which streams "
                           "need; compile it again");
  if (options.windowBins == 0 || options.strideBins == 0) {
    BETZ_ASSIGN_OR_RETURN(DecoderWindows decoder,
                          readDecoderWindows(program.metadata));
    if (options.windowBins == 0)
      options.windowBins = decoder.windows.windowBins;
    if (options.strideBins == 0)
      options.strideBins = decoder.windows.strideBins;
  }
  const int32_t longest = indexLimit(program, ports.timeBin);
  if (options.windowBins < 1 || options.windowBins > longest ||
      options.strideBins < 1 || options.firstBin < 0)
    return invalidArgument(fmt::format(
        "a window of {} bins, a stride of {} and a first bin of {}; the "
        "program takes windows of 1 to {} bins, strides from 1 and bins from 0",
        options.windowBins, options.strideBins, options.firstBin, longest));
  shape.maxEvents = ports.maxEvents;
  shape.columns = ports.columns;
  shape.limits = {indexLimit(program, ports.neuronId),
                  indexLimit(program, ports.value), 4 * ports.maxEvents};
  return Status::ok();
}

} // namespace

Result<std::unique_ptr<StreamTable>>
StreamTable::create(const EngineConfig &config, Dispatcher &dispatcher,
                    Device &device) {
  std::unique_ptr<StreamTable> table(new StreamTable(config, dispatcher));
  BETZ_ASSIGN_OR_RETURN(table->pool,
                        PagePool::create(device, config.streams.poolBytes,
                                         config.streams.pageEvents));
  table->janitor =
      std::thread([self = table.get()] { self->closeIdleStreams(); });
  return table;
}

StreamTable::~StreamTable() {
  {
    std::lock_guard lock(mutex);
    stopping = true;
  }
  stop.notify_one();
  if (janitor.joinable())
    janitor.join();
  for (const std::weak_ptr<OpenStream> &stream : streams)
    if (auto open = stream.lock())
      open->close();
}

std::variant<std::shared_ptr<StreamSession>, Error>
StreamTable::open(const StreamOptions &given, const LoadedModel &model) {
  StreamOptions options = given;
  StreamShape shape;
  if (Status status = complete(options, model, shape); !status.isOk())
    return invalid(status.message());
  // A window may begin and end inside a page.
  if (shape.maxEvents > pool->capacity() - 2 * config.streams.pageEvents)
    return invalid(fmt::format("a window of {} events does not fit the pool of "
                               "pages; give it more memory",
                               shape.maxEvents));
  std::lock_guard lock(mutex);
  std::erase_if(streams, [](const auto &stream) { return stream.expired(); });
  if (counts->open >= config.streams.maxStreams)
    return Error{ErrorKind::QueueFull,
                 fmt::format("{} streams are open already; close one or try "
                             "again later",
                             config.streams.maxStreams),
                 std::chrono::seconds(1)};
  auto stream = std::make_shared<OpenStream>(*this, std::move(options), shape);
  streams.push_back(stream);
  return stream;
}

void StreamTable::closeIdleStreams() {
  const auto timeout = config.streams.idleTimeout;
  std::unique_lock lock(mutex);
  while (!stop.wait_for(lock, timeout / 4, [this] { return stopping; })) {
    const Clock::time_point limit = Clock::now() - timeout;
    std::vector<std::shared_ptr<OpenStream>> idle;
    for (const std::weak_ptr<OpenStream> &stream : streams)
      if (auto open = stream.lock();
          open && !open->isClosed() && open->lastUse() < limit)
        idle.push_back(std::move(open));
    idleClosed += idle.size();
    lock.unlock();
    for (const std::shared_ptr<OpenStream> &stream : idle)
      stream->close();
    idle.clear();
    lock.lock();
  }
}

void StreamTable::count(StreamStatistics &statistics) {
  statistics.open = counts->open;
  statistics.decodes = counts->decodes;
  statistics.events = counts->events;
  statistics.late = counts->late;
  statistics.merged = counts->merged;
  pool->count(statistics);
  std::lock_guard lock(mutex);
  statistics.idleClosed = idleClosed;
}

} // namespace betz::serve
