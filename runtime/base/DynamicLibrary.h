//===- DynamicLibrary.h - A shared library found at run time --------------===//
#pragma once

#include "runtime/base/Status.h"

#include <span>

namespace betz {

/// A library opened with dlopen and closed with the object. Move-only; lookups
/// are safe from several threads.
class DynamicLibrary {
public:
  /// Opens the first of `candidates` (at least one) that the loader finds, by
  /// its rules for names and paths. Having none is Unavailable with what the
  /// loader said of the last.
  static Result<DynamicLibrary> open(std::span<const char *const> candidates);

  DynamicLibrary(DynamicLibrary &&other) noexcept;
  DynamicLibrary &operator=(DynamicLibrary &&other) noexcept;
  ~DynamicLibrary();

  /// The candidate that was opened.
  const std::string &name() const { return openedName; }

  /// Points `function` at the symbol; an absent one is Unavailable and names
  /// symbol and library. `Function` must be what the library declares.
  template <typename Function>
  Status find(Function *&function, const char *symbol) const {
    BETZ_ASSIGN_OR_RETURN(void *address, findAddress(symbol));
    function = reinterpret_cast<Function *>(address);
    return Status::ok();
  }

private:
  DynamicLibrary(void *handle, std::string name)
      : handle(handle), openedName(std::move(name)) {}
  Result<void *> findAddress(const char *symbol) const;

  void *handle = nullptr;
  std::string openedName;
};

} // namespace betz
