//===- Executable.h - Loaded machine code ---------------------------------===//
#pragma once

namespace betz {

/// The kernels that one piece of machine code holds, by the order of the names
/// given to Device::loadExecutable. Unloaded with the object, which must
/// outlive every command graph that launches it.
class Executable {
public:
  virtual ~Executable() = default;
  Executable(const Executable &) = delete;
  Executable &operator=(const Executable &) = delete;

protected:
  Executable() = default;
};

} // namespace betz
