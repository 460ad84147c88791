//===- CompileFolder.h - Programs of a training folder --------------------===//
#pragma once

#include "tools/EvalFolder.h"

namespace betz {

/// By the compiler, in this process.
class CompileFolder : public EvalFolder {
public:
  Result<std::shared_ptr<const Program>>
  compileDecoder(const std::filesystem::path &folder,
                 const Device &device) const override;
  Result<std::shared_ptr<const Program>>
  compileGru(const std::filesystem::path &folder, const Device &device,
             const train::Dataset &dataset) const override;
};

} // namespace betz
