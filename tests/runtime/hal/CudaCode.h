//===- CudaCode.h - Executables of the CUDA test kernels ------------------===//
#pragma once

#include "runtime/program/CudaImages.h"
#include "tests/runtime/hal/TestPtx.h"

#include <string_view>

namespace betz {

/// An executable whose images are these PTX texts.
inline std::vector<std::byte>
packPtx(std::initializer_list<std::string_view> texts) {
  std::vector<std::vector<std::byte>> images;
  for (std::string_view text : texts) {
    auto bytes = std::as_bytes(std::span(text));
    images.emplace_back(bytes.begin(), bytes.end()).push_back(std::byte(0));
  }
  return packCudaImages(images);
}

} // namespace betz
