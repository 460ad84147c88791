#include "runtime/base/DynamicLibrary.h"

#include <dlfcn.h>
#include <fmt/format.h>

namespace betz {

Result<DynamicLibrary>
DynamicLibrary::open(std::span<const char *const> candidates) {
  assert(!candidates.empty() && "a library needs a name");
  for (const char *name : candidates)
    if (void *handle = ::dlopen(name, RTLD_NOW | RTLD_LOCAL))
      return DynamicLibrary(handle, name);
  return unavailable(
      fmt::format("cannot load {}: {}", candidates.back(), ::dlerror()));
}

DynamicLibrary::DynamicLibrary(DynamicLibrary &&other) noexcept
    : handle(std::exchange(other.handle, nullptr)),
      openedName(std::move(other.openedName)) {}

DynamicLibrary &DynamicLibrary::operator=(DynamicLibrary &&other) noexcept {
  std::swap(handle, other.handle);
  std::swap(openedName, other.openedName);
  return *this;
}

DynamicLibrary::~DynamicLibrary() {
  if (handle)
    ::dlclose(handle);
}

Result<void *> DynamicLibrary::findAddress(const char *symbol) const {
  if (void *address = ::dlsym(handle, symbol))
    return address;
  return unavailable(fmt::format("{} has no {}", openedName, symbol));
}

} // namespace betz
