//===- PagePool.h - Events of streams, near the device --------------------===//
#pragma once

#include "runtime/hal/Device.h"
#include "serve/engine/Statistics.h"
#include "serve/engine/StreamHistory.h"

#include <list>
#include <mutex>

namespace betz::serve {

/// Pages of a fixed number of events in memory that is allocated once. Page p
/// of a stream holds its events [p * pageEvents, (p + 1) * pageEvents). A
/// stream whose pages were taken for another gets them filled again from its
/// history, so what is read never depends on it. Thread-safe.
class PagePool {
public:
  /// The pages of one stream; leave() gives them back.
  struct Tenant {
    struct Entry {
      int32_t page = -1;
      int32_t filled = 0; // events
    };
    int64_t firstPage = 0;
    std::vector<Entry> entries;
  };
  /// Where a window's events go: [events] each.
  struct Destination {
    int32_t *neuronId;
    int32_t *timeBin;
    int32_t *value;
  };

  /// The device's own memory where the host reaches it, else pinned memory.
  static Result<std::unique_ptr<PagePool>> create(Device &device, int64_t bytes,
                                                  int32_t pageEvents);

  /// Events that all pages hold together.
  int64_t capacity() const { return int64_t(pages.size()) * pageEvents; }
  /// Copies events [begin, end) of a history, at most capacity() less two
  /// pages, to `to`; those not on a page yet are put there first.
  void read(Tenant &tenant, const StreamHistory &history, int64_t begin,
            int64_t end, const Destination &to);
  void leave(Tenant &tenant);

  /// Fills in what concerns pages.
  void count(StreamStatistics &statistics) const;

private:
  struct Page {
    Tenant *tenant = nullptr;
    int64_t number = 0; // among the tenant's
    std::list<int32_t>::iterator place;
  };

  PagePool(std::unique_ptr<Buffer> memory, size_t pages, int32_t pageEvents);
  void forgetBefore(Tenant &tenant, int64_t page);
  Tenant::Entry &bring(Tenant &tenant, const StreamHistory &history,
                       int64_t number, int64_t end);
  int32_t takePage();
  void release(Tenant::Entry &entry);
  /// Field 0, 1 or 2 of a page: [pageEvents].
  int32_t *field(int32_t page, int index) const;

  const int32_t pageEvents;
  mutable std::mutex mutex;
  std::unique_ptr<Buffer> memory;
  std::vector<Page> pages;
  /// Every page is in one of them; the page unused for longest comes first.
  std::list<int32_t> freePages, usedPages;
  StreamStatistics counts;
};

} // namespace betz::serve
