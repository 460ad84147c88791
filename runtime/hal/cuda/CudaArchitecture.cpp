#include "runtime/hal/cuda/CudaArchitecture.h"

#include <charconv>

namespace betz {
namespace {

bool consume(std::string_view &text, std::string_view prefix) {
  bool starts = text.starts_with(prefix);
  if (starts)
    text.remove_prefix(prefix.size());
  return starts;
}

} // namespace

bool runsCudaIsa(CudaCapability gpu, std::string_view isa) {
  bool isPtx = consume(isa, "compute_");
  if (!isPtx && !consume(isa, "sm_"))
    return false;
  bool isExact = isa.ends_with('a');
  if (isExact)
    isa.remove_suffix(1);
  int number = 0;
  auto [end, error] =
      std::from_chars(isa.data(), isa.data() + isa.size(), number);
  if (error != std::errc() || end != isa.data() + isa.size() || number < 10)
    return false;

  int device = gpu.major * 10 + gpu.minor;
  if (isExact)
    return device == number;
  return device >= number && (isPtx || gpu.major == number / 10);
}

} // namespace betz
