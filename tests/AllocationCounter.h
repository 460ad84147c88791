// Replaces operator new by one that counts, for the whole executable: include
// it in one file of a test of its own.
#pragma once

#include <atomic>
#include <cstdlib>
#include <new>

namespace {
std::atomic<int64_t> heapAllocations = 0;

void *countedAllocation(size_t size, size_t alignment) {
  ++heapAllocations;
  size_t rounded = (size + alignment - 1) / alignment * alignment;
  void *memory = std::aligned_alloc(alignment, rounded);
  if (!memory)
    std::abort();
  return memory;
}
} // namespace

void *operator new(size_t size) { return countedAllocation(size, 16); }
void *operator new(size_t size, std::align_val_t alignment) {
  return countedAllocation(size, size_t(alignment));
}
void operator delete(void *memory) noexcept { std::free(memory); }
void operator delete(void *memory, size_t) noexcept { std::free(memory); }
void operator delete(void *memory, std::align_val_t) noexcept {
  std::free(memory);
}
void operator delete(void *memory, size_t, std::align_val_t) noexcept {
  std::free(memory);
}
