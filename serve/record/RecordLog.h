//===- RecordLog.h - The format of a log of batches -----------------------===//
//
// A log is a header and frames, little-endian and without padding:
//   header: "BETZLOG\0", u32 version, u32 0
//   frame:  u32 kind, u32 0, u64 bytes, u64 XXH3-64 of the payload, payload
// A text is a u32 length and its bytes. Payloads:
//   Model:  u32 id, u32 columns, texts name, version, program hash, device
//   Batch:  u64 number, u64 batches dropped before it, u32 model id,
//           u32 windows, u32 events, u32 columns, then i32 row_splits
//           [windows + 1], window_start [windows], neuron_id, time_bin, value
//           [events], f32 behavior [windows, columns]
//   End:    u64 batches kept, u64 batches dropped
// A model's frame comes before its first batch. A log without an End is one
// whose writer was killed.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <array>
#include <cstdint>

namespace betz::serve {

inline constexpr std::array<char, 8> kLogMagic = {'B', 'E', 'T', 'Z',
                                                  'L', 'O', 'G', '\0'};
inline constexpr uint32_t kLogVersion = 1;
inline constexpr uint64_t kLogHeaderBytes = 16;
inline constexpr uint64_t kFrameHeaderBytes = 24;

enum class FrameKind : uint32_t { Model = 1, Batch = 2, End = 3 };

} // namespace betz::serve
