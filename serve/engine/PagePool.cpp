#include "serve/engine/PagePool.h"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>

namespace betz::serve {
namespace {

constexpr int kFields = 3;
constexpr int64_t kEventBytes = kFields * sizeof(int32_t);

} // namespace

Result<std::unique_ptr<PagePool>>
PagePool::create(Device &device, int64_t bytes, int32_t pageEvents) {
  const int64_t pages = bytes / (pageEvents * kEventBytes);
  if (pageEvents < 1 || pages < 1)
    return invalidArgument(fmt::format(
        "a pool of {} bytes holds no page of {} events", bytes, pageEvents));
  const size_t size = size_t(pages * pageEvents * kEventBytes);
  BETZ_ASSIGN_OR_RETURN(std::unique_ptr<Buffer> memory,
                        device.allocate(size, MemoryKind::Device));
  if (!memory->hostPointer()) {
    BETZ_ASSIGN_OR_RETURN(memory, device.allocate(size, MemoryKind::Staging));
  }
  return std::unique_ptr<PagePool>(
      new PagePool(std::move(memory), size_t(pages), pageEvents));
}

PagePool::PagePool(std::unique_ptr<Buffer> memory, size_t pages,
                   int32_t pageEvents)
    : pageEvents(pageEvents), memory(std::move(memory)), pages(pages) {
  for (size_t page = 0; page < pages; ++page)
    this->pages[page].place = freePages.insert(freePages.end(), int32_t(page));
}

int32_t *PagePool::field(int32_t page, int index) const {
  return reinterpret_cast<int32_t *>(memory->hostPointer()) +
         (int64_t(page) * kFields + index) * pageEvents;
}

void PagePool::read(Tenant &tenant, const StreamHistory &history, int64_t begin,
                    int64_t end, const Destination &to) {
  std::lock_guard lock(mutex);
  counts.bytesRead += uint64_t((end - begin) * kEventBytes);
  forgetBefore(tenant, begin / pageEvents);
  for (int64_t from = begin; from < end;) {
    const int64_t number = from / pageEvents;
    const int64_t until = std::min((number + 1) * pageEvents, end);
    const Tenant::Entry &entry = bring(tenant, history, number, until);
    const int64_t skipped = from - number * pageEvents;
    const size_t bytes = size_t(until - from) * sizeof(int32_t);
    int32_t *const fields[] = {to.neuronId, to.timeBin, to.value};
    for (int index = 0; index < kFields; ++index)
      std::memcpy(fields[index] + (from - begin),
                  field(entry.page, index) + skipped, bytes);
    from = until;
  }
}

void PagePool::forgetBefore(Tenant &tenant, int64_t page) {
  const int64_t gone =
      std::min(page - tenant.firstPage, int64_t(tenant.entries.size()));
  for (int64_t i = 0; i < gone; ++i)
    release(tenant.entries[size_t(i)]);
  tenant.entries.erase(tenant.entries.begin(), tenant.entries.begin() + gone);
  tenant.firstPage = page;
}

PagePool::Tenant::Entry &PagePool::bring(Tenant &tenant,
                                         const StreamHistory &history,
                                         int64_t number, int64_t end) {
  const size_t index = size_t(number - tenant.firstPage);
  if (index >= tenant.entries.size())
    tenant.entries.resize(index + 1);
  if (tenant.entries[index].page < 0) {
    const int32_t page = takePage();
    pages[size_t(page)].tenant = &tenant;
    pages[size_t(page)].number = number;
    tenant.entries[index] = {page, 0};
    ++counts.pageMisses;
  } else {
    ++counts.pageHits;
  }
  Tenant::Entry &entry = tenant.entries[index];
  usedPages.splice(usedPages.end(), usedPages, pages[size_t(entry.page)].place);
  // Events before the history's first are of no window any more.
  int64_t from = std::max(number * pageEvents + entry.filled, history.first());
  counts.bytesUploaded +=
      uint64_t(std::max<int64_t>(end - from, 0) * kEventBytes);
  for (; from < end; ++from) {
    const StreamEvent &event = history.at(from);
    const int64_t slot = from - number * pageEvents;
    field(entry.page, 0)[slot] = event.neuron;
    field(entry.page, 1)[slot] = event.bin;
    field(entry.page, 2)[slot] = event.value;
  }
  entry.filled = std::max(entry.filled, int32_t(end - number * pageEvents));
  return entry;
}

int32_t PagePool::takePage() {
  if (freePages.empty()) {
    const Page &oldest = pages[size_t(usedPages.front())];
    Tenant &loser = *oldest.tenant;
    ++counts.evictions;
    release(loser.entries[size_t(oldest.number - loser.firstPage)]);
  }
  const int32_t page = freePages.front();
  usedPages.splice(usedPages.end(), freePages, freePages.begin());
  return page;
}

void PagePool::release(Tenant::Entry &entry) {
  if (entry.page < 0)
    return;
  // Taken first by the next: it is the warmest.
  freePages.splice(freePages.begin(), usedPages,
                   pages[size_t(entry.page)].place);
  entry = {};
}

void PagePool::leave(Tenant &tenant) {
  std::lock_guard lock(mutex);
  for (Tenant::Entry &entry : tenant.entries)
    release(entry);
  tenant.entries.clear();
}

void PagePool::count(StreamStatistics &statistics) const {
  std::lock_guard lock(mutex);
  statistics.pages = int64_t(pages.size());
  statistics.pagesUsed = int64_t(pages.size() - freePages.size());
  statistics.pageHits = counts.pageHits;
  statistics.pageMisses = counts.pageMisses;
  statistics.evictions = counts.evictions;
  statistics.bytesRead = counts.bytesRead;
  statistics.bytesUploaded = counts.bytesUploaded;
}

} // namespace betz::serve
