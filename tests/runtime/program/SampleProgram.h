//===- SampleProgram.h - A small program with one of everything -----------===//
#pragma once

#include "runtime/program/Program.h"

#include <cstring>
#include <random>

namespace betz {

/// A segment sum with checks, two plans, two executables and random bytes in
/// its sections. Valid; nothing runs it.
inline Program makeSampleProgram(uint32_t seed, size_t derivedBytes = 320) {
  std::mt19937 random(seed);
  auto makeSection = [&](Program &program, std::string name, size_t size) {
    auto bytes = std::make_shared<std::vector<std::byte>>(size);
    for (std::byte &byte : *bytes)
      byte = std::byte(random());
    program.ownedBytes.push_back(bytes);
    return Section{std::move(name), *bytes};
  };

  Program program;
  program.symbols = {"batch", "events"};
  const Dim batch = {0, 1, 0}, events = {1, 1, 0};
  program.inputs = {
      {{"id", DType::I32, {events}}, "", {}},
      {{"time", DType::I32, {events}}, "", {}},
      {{"row_splits", DType::I32, {{0, 1, 1}}}, "offsets", {}},
      {{"window_start", DType::I32, {batch}}, "", 0},
  };
  program.outputs = {{"out", DType::F32, {batch, Dim::constant(3)}}};
  program.states = {{"moment", DType::F32, {Dim::constant(5)}}};
  program.splitsChecks = {{2, 1, 16}};
  program.indexChecks = {{0, 7, {}, {}}, {1, 5, 3, 2}};
  program.metadata = {{"config", R"({"dim": 3})"}, {"stride_bins", "1"}};

  TargetVariant target;
  target.target = "cpu";
  target.derived = {
      {{"table", DType::F32, {Dim::constant(7), Dim::constant(3)}}, 0},
      {{"bias", DType::F32, {Dim::constant(3)}}, 128}};
  target.irText = "module {\n}\n";
  target.derivedData = makeSection(program, "cpu.derived", derivedBytes);
  target.kernels = {
      {"segment_sum", "segment_sum", "encoder", {{{batch, 2}}}, "{}"},
      {"add_bias", "add_bias", "head", {{{batch, 1}}}, R"({"flops": 3})"}};
  for (int64_t capacity : {2, 8}) {
    LaunchPlan plan;
    plan.capacity = {capacity, 16 * capacity};
    plan.arenaBytes = 64 * capacity;
    plan.launches = {{0,
                      {{BufferKind::Input, 0, 0},
                       {BufferKind::Input, 2, 0},
                       {BufferKind::Derived, 0, 0},
                       {BufferKind::Arena, 0, 64}}},
                     {1,
                      {{BufferKind::Arena, 0, 64},
                       {BufferKind::Derived, 1, 0},
                       {BufferKind::Output, 0, 0},
                       {BufferKind::State, 0, 4}}}};
    target.plans.push_back(plan);
  }
  target.executables = {{"avx2", makeSection(program, "cpu.avx2", 5000)},
                        {"scalar", makeSection(program, "cpu.scalar", 4096)}};
  target.tuning = R"({"device": "one"})";
  program.targets.push_back(std::move(target));
  return program;
}

} // namespace betz
