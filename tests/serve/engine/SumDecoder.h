//===- SumDecoder.h - A decoder that is one hand-written kernel -----------===//
//
// SumKernels.c says what it computes: sums of floats that round, so that events
// in another order have other bits.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/program/Program.h"
#include "serve/engine/Request.h"

#include <cstring>
#include <filesystem>
#include <gtest/gtest.h>
#include <random>
#include <unistd.h>

namespace betz::serve {

struct SumDecoder {
  static constexpr int32_t kNeurons = 7, kBins = 20, kColumns = 3;
  static constexpr int64_t kMaxEvents = 64;

  std::vector<float> table, bias;

  /// A window lasts `seconds`.
  explicit SumDecoder(uint32_t seed, float seconds = 0) {
    std::mt19937 random(seed);
    std::uniform_real_distribution<float> uniform(-1, 1);
    for (int i = 0; i < kNeurons * kColumns; ++i)
      table.push_back(uniform(random));
    for (int i = 0; i < kColumns; ++i)
      bias.push_back(uniform(random));
    bias.push_back(seconds);
  }

  /// With buckets of one window and of `largest`.
  std::shared_ptr<const Program> program(int64_t largest = 8) const {
    auto program = std::make_shared<Program>();
    program->symbols = {"batch", "events"};
    const Dim batch = {0, 1, 0}, events = {1, 1, 0};
    program->inputs = {{{"neuron_id", DType::I32, {events}}, "", {}},
                       {{"time_bin", DType::I32, {events}}, "", {}},
                       {{"value", DType::I32, {events}}, "", {}},
                       {{"row_splits", DType::I32, {{0, 1, 1}}}, "offsets", {}},
                       {{"window_start", DType::I32, {batch}}, "", 0}};
    program->outputs = {
        {"behavior", DType::F32, {batch, Dim::constant(kColumns)}}};
    program->splitsChecks = {{3, 1, kMaxEvents}};
    program->indexChecks = {
        {0, kNeurons, {}, {}}, {1, kBins, 4, 3}, {2, 4, {}, {}}};
    program->metadata = {
        {"config", R"({"bin_ms": 5.0, "window_bins": 20, "value_buckets": 4,)"
                   R"( "max_neurons": 7})"},
        {"stride_bins", "4"}};
    auto map = MappedFile::open(BETZ_SUM_KERNELS);
    program->file = std::make_shared<const MappedFile>(std::move(map).value());
    program->targets.push_back(target(*program, {1, largest}));
    return program;
  }

  /// Writes the program and returns its path.
  std::filesystem::path write(const std::string &name,
                              int64_t largest = 8) const {
    const auto path = std::filesystem::temp_directory_path() /
                      (name + "." + std::to_string(getpid()) + ".betz");
    EXPECT_TRUE(writeProgram(*program(largest), path).isOk());
    return path;
  }

private:
  TargetVariant target(Program &program,
                       const std::vector<int64_t> &batches) const {
    auto weights = std::make_shared<std::vector<std::byte>>(192);
    std::memcpy(weights->data(), table.data(), table.size() * sizeof(float));
    std::memcpy(weights->data() + 128, bias.data(),
                bias.size() * sizeof(float));
    program.ownedBytes.push_back(weights);
    const Dim batch = {0, 1, 0};
    TargetVariant target;
    target.target = "cpu";
    target.derived = {
        {{"table",
          DType::F32,
          {Dim::constant(kNeurons), Dim::constant(kColumns)}},
         0},
        {{"bias", DType::F32, {Dim::constant(kColumns + 1)}}, 128}};
    target.derivedData = {"cpu.derived", *weights};
    target.kernels = {
        {"sum_window", "sum_window", "decoder", {{{batch, 1}}}, "{}"}};
    for (int64_t windows : batches)
      target.plans.push_back(plan(windows));
    target.executables = {{"scalar", {"cpu.code", program.file->bytes()}}};
    return target;
  }

  static LaunchPlan plan(int64_t windows) {
    LaunchPlan plan;
    plan.capacity = {windows, windows * kMaxEvents};
    plan.launches = {{0,
                      {{BufferKind::Input, 0, 0},
                       {BufferKind::Input, 1, 0},
                       {BufferKind::Input, 2, 0},
                       {BufferKind::Input, 3, 0},
                       {BufferKind::Input, 4, 0},
                       {BufferKind::Derived, 0, 0},
                       {BufferKind::Derived, 1, 0},
                       {BufferKind::Output, 0, 0}}}};
    return plan;
  }
};

/// Windows that own their events.
struct OwnedWindows {
  std::vector<int32_t> neuronId, timeBin, value, rowSplits{0}, windowStart;

  OwnedWindows(const std::vector<int> &lengths, std::mt19937 &random) {
    for (int length : lengths) {
      windowStart.push_back(int32_t(random() % 2001));
      for (int event = 0; event < length; ++event) {
        neuronId.push_back(int32_t(random() % SumDecoder::kNeurons));
        timeBin.push_back(windowStart.back() +
                          int32_t(random() % SumDecoder::kBins));
        value.push_back(int32_t(random() % 4));
      }
      rowSplits.push_back(int32_t(neuronId.size()));
    }
  }
  Windows view() const {
    return {neuronId, timeBin, value, rowSplits, windowStart};
  }
  int64_t windows() const { return int64_t(windowStart.size()); }
  std::vector<float> expected(const SumDecoder &decoder) const {
    std::vector<float> rows;
    for (size_t window = 0; window < windowStart.size(); ++window)
      for (size_t column = 0; column < SumDecoder::kColumns; ++column) {
        float sum = decoder.bias[column];
        for (auto event = size_t(rowSplits[window]);
             event < size_t(rowSplits[window + 1]); ++event) {
          const int32_t time = 1 + timeBin[event] - windowStart[window];
          const auto row = size_t(neuronId[event] * SumDecoder::kColumns);
          sum += float(time * (1 + value[event])) * decoder.table[row + column];
        }
        rows.push_back(sum);
      }
    return rows;
  }
};

} // namespace betz::serve
