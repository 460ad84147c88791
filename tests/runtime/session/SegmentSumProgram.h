//===- SegmentSumProgram.h - A small program that runs --------------------===//
//
// out[b] = bias + sum over events e of window b of
//   (1 + time[e] - window_start[b]) * table[id[e]]
// through two kernels of tests/runtime/hal/TestKernels.c and the arena.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/program/Program.h"
#include "runtime/session/Bindings.h"
#include "tests/runtime/hal/CudaCode.h"

#include <cstring>
#include <random>

namespace betz {

inline constexpr int32_t kIds = 7, kTimes = 5, kColumns = 3, kMaxRows = 16;

struct Bucket {
  int64_t batch;
  int64_t events;
};

/// For a device that is called `name`, still without machine code.
inline std::shared_ptr<Program>
makeSegmentSumTarget(const std::string &name, const std::vector<float> &table,
                     const std::vector<float> &bias,
                     const std::vector<Bucket> &buckets) {
  auto program = std::make_shared<Program>();
  program->symbols = {"batch", "events"};
  const Dim batch = {0, 1, 0}, events = {1, 1, 0};
  program->inputs = {{{"id", DType::I32, {events}}, "", {}},
                     {{"time", DType::I32, {events}}, "", {}},
                     {{"row_splits", DType::I32, {{0, 1, 1}}}, "offsets", {}},
                     {{"window_start", DType::I32, {batch}}, "", 0}};
  program->outputs = {{"out", DType::F32, {batch, Dim::constant(kColumns)}}};
  program->splitsChecks = {{2, 1, kMaxRows}};
  program->indexChecks = {{0, kIds, {}, {}}, {1, kTimes, 3, 2}};

  auto weights = std::make_shared<std::vector<std::byte>>(192);
  std::memcpy(weights->data(), table.data(), table.size() * sizeof(float));
  std::memcpy(weights->data() + 128, bias.data(), bias.size() * sizeof(float));
  program->ownedBytes.push_back(weights);

  TargetVariant target;
  target.target = name;
  target.derived = {
      {{"table", DType::F32, {Dim::constant(kIds), Dim::constant(kColumns)}},
       0},
      {{"bias", DType::F32, {Dim::constant(kColumns)}}, 128}};
  target.derivedData = {"cpu.derived", *weights};
  target.kernels = {
      {"segment_sum", "segment_sum", "encoder", {{{batch, 2}}}, "{}"},
      {"add_bias", "add_bias", "head", {{{batch, 1}}}, R"({"flops": 3})"}};
  for (const Bucket &bucket : buckets) {
    LaunchPlan plan;
    plan.capacity = {bucket.batch, bucket.events};
    plan.arenaBytes = 64 + bucket.batch * kColumns * 4;
    plan.launches = {{0,
                      {{BufferKind::Input, 0, 0},
                       {BufferKind::Input, 1, 0},
                       {BufferKind::Input, 2, 0},
                       {BufferKind::Input, 3, 0},
                       {BufferKind::Derived, 0, 0},
                       {BufferKind::Arena, 0, 64}}},
                     {1,
                      {{BufferKind::Arena, 0, 64},
                       {BufferKind::Derived, 1, 0},
                       {BufferKind::Output, 0, 0}}}};
    target.plans.push_back(plan);
  }
  program->targets.push_back(std::move(target));
  return program;
}

/// `isa` is what the machine code claims to be.
inline std::shared_ptr<const Program>
makeSegmentSumProgram(const std::vector<float> &table,
                      const std::vector<float> &bias,
                      const std::vector<Bucket> &buckets = {{2, 8}, {5, 40}},
                      const std::string &isa = "scalar") {
  auto program = makeSegmentSumTarget("cpu", table, bias, buckets);
  auto map = MappedFile::open(BETZ_TEST_KERNELS);
  program->file = std::make_shared<const MappedFile>(std::move(map).value());
  program->targets.front().executables = {
      {isa, {"cpu.code", program->file->bytes()}}};
  return program;
}

/// The same program for a GPU, from tests/runtime/hal/TestKernels.ptx.
inline std::shared_ptr<const Program>
makeCudaSegmentSumProgram(const std::vector<float> &table,
                          const std::vector<float> &bias) {
  auto program =
      makeSegmentSumTarget("cuda:sm_80", table, bias, {{2, 8}, {5, 40}});
  auto code = std::make_shared<const std::vector<std::byte>>(
      packPtx({kTestKernelsPtx}));
  program->ownedBytes.push_back(code);
  program->targets.front().executables = {{"compute_80", {"cuda.code", *code}}};
  return program;
}

/// Inputs of a batch with the given window lengths, and what must come out.
struct SegmentSumBatch {
  std::vector<int32_t> id, time, rowSplits{0}, windowStart;
  std::vector<float> expected, out;
  std::vector<int64_t> eventShape, splitsShape, batchShape, outShape;

  SegmentSumBatch(const std::vector<int> &lengths,
                  const std::vector<float> &table,
                  const std::vector<float> &bias, std::mt19937 &random) {
    for (int length : lengths) {
      windowStart.push_back(int32_t(random() % 2001) - 1000);
      std::vector<float> sum(kColumns, 0);
      for (int e = 0; e < length; ++e) {
        id.push_back(int32_t(random() % kIds));
        int32_t step = int32_t(random() % kTimes);
        time.push_back(windowStart.back() + step);
        for (int c = 0; c < kColumns; ++c)
          sum[size_t(c)] +=
              float(1 + step) * table[size_t(id.back() * kColumns + c)];
      }
      rowSplits.push_back(int32_t(id.size()));
      for (int c = 0; c < kColumns; ++c)
        expected.push_back(sum[size_t(c)] + bias[size_t(c)]);
    }
    eventShape = {int64_t(id.size())};
    batchShape = {int64_t(lengths.size())};
    splitsShape = {batchShape[0] + 1};
    outShape = {batchShape[0], kColumns};
    out.assign(expected.size(), -99);
  }

  std::vector<InputBinding> inputs() const {
    return {{0, DType::I32, id.data(), eventShape},
            {1, DType::I32, time.data(), eventShape},
            {2, DType::I32, rowSplits.data(), splitsShape},
            {3, DType::I32, windowStart.data(), batchShape}};
  }
  std::vector<OutputBinding> outputs() {
    return {{0, DType::F32, out.data(), outShape}};
  }
};

inline std::vector<float> randomFloats(size_t count, std::mt19937 &random) {
  // Quarters: sums of a few of them are exact in any order.
  std::vector<float> values(count);
  for (float &value : values)
    value = float(int(random() % 65) - 32) / 4;
  return values;
}

} // namespace betz
