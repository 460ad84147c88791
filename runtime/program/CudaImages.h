//===- CudaImages.h - The machine code of a CUDA target -------------------===//
//
// A CUDA executable is a list of images, each a cubin (ELF) or PTX text that
// ends in NUL:
//
//   char magic[8] = "BETZCUDA"; u32 version = 2; u32 count;
//   count times { u64 offset; u64 size; }
//   the images, at offsets from the start that are multiples of 16
//
// All numbers are little-endian. The driver takes an image without its size, so
// bounds and the final NUL are checked here.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/base/Status.h"

#include <cstddef>
#include <span>
#include <vector>

namespace betz {

/// The bytes of an executable that holds `images` in this order.
std::vector<std::byte>
packCudaImages(std::span<const std::vector<std::byte>> images);

/// The images inside `code`, as views into it. Anything that packCudaImages
/// cannot have written is a DataLoss that says what is wrong.
Result<std::vector<std::span<const std::byte>>>
unpackCudaImages(std::span<const std::byte> code);

/// Whether an image is a cubin; otherwise it is PTX.
bool isCubin(std::span<const std::byte> image);

} // namespace betz
