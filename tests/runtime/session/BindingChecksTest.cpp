#include "runtime/session/BindingChecks.h"
#include "runtime/session/OpenDevice.h"
#include "runtime/session/Session.h"
#include "tests/runtime/session/SegmentSumProgram.h"

#include <functional>
#include <gtest/gtest.h>

namespace betz {
namespace {

using Inputs = std::vector<InputBinding>;

struct BadInput {
  std::function<void(SegmentSumBatch &, Inputs &)> change;
  std::string_view error;
};

TEST(BindingChecks, WrongInputsAreNamed) {
  std::mt19937 random(std::random_device{}());
  const std::vector<float> table = randomFloats(kIds * kColumns, random);
  const std::vector<float> bias = randomFloats(kColumns, random);
  auto device = openDevice("cpu", {.threads = 1});
  ASSERT_TRUE(device.isOk());
  auto session = Session::create(makeSegmentSumProgram(table, bias), *device);
  ASSERT_TRUE(session.isOk()) << session.status().message();

  using B = SegmentSumBatch;
  const std::vector<int64_t> seven = {7}, matrix = {3, 3}, none = {};
  const BadInput cases[] = {
      {[](B &, Inputs &in) { in.erase(in.begin()); }, "missing input id"},
      {[](B &, Inputs &in) { in.clear(); },
       "missing inputs id, time, row_splits"},
      {[](B &, Inputs &in) { in.push_back(in[1]); },
       "input time is there twice"},
      {[](B &, Inputs &in) { in[0].input = 9; }, "input 9 of 4"},
      {[](B &, Inputs &in) { in[0].dtype = DType::F32; },
       "input id is f32; the program takes i32"},
      {[&](B &, Inputs &in) { in[0].shape = matrix; },
       "input id has shape [3, 3]; the program takes [events]"},
      {[&](B &, Inputs &in) { in[2].shape = none; },
       "input row_splits has shape []; the program takes [batch + 1]"},
      {[&](B &b, Inputs &in) {
         in[2].shape = (b.splitsShape = {0}, b.splitsShape);
       },
       "input row_splits has shape [0]"},
      {[&](B &, Inputs &in) { in[1].shape = seven; },
       "input time has shape [7], which makes events 7, but another input "
       "makes it 9"},
      {[](B &b, Inputs &) { b.rowSplits[0] = 1; },
       "row_splits[0] is 1; it must be 0"},
      {[](B &b, Inputs &) { b.rowSplits[2] = 1; },
       "row_splits[2] is 1, less than 3 before it (window 1)"},
      {[](B &b, Inputs &) { b.rowSplits[3] = 8; },
       "row_splits ends at 8, but there are 9 events"},
      {[](B &b, Inputs &) { b.rowSplits[3] = 10; },
       "row_splits ends at 10, but there are 9 events"},
      {[](B &b, Inputs &) { b.rowSplits[2] = INT32_MAX; },
       "window 1 has 2147483644 events; the program takes at most 16 (compile "
       "with a larger --max-events)"},
      {[](B &b, Inputs &) { b.rowSplits[1] = INT32_MIN; },
       "row_splits[1] is -2147483648, less than 0 before it (window 0)"},
      {[](B &b, Inputs &) { b.id[8] = kIds; },
       "id[8] is 7; it must be in [0, 7) (window 2)"},
      {[](B &b, Inputs &) { b.id[0] = -1; },
       "id[0] is -1; it must be in [0, 7) (window 0)"},
      {[](B &b, Inputs &) { b.windowStart[2] = 100, b.time[7] = 105; },
       "time[7] is 105; less its window_start 100 it must be in [0, 5) "
       "(window 2)"},
      {[](B &b, Inputs &) {
         b.windowStart[0] = INT32_MIN, b.time[0] = INT32_MAX;
       },
       "time[0] is 2147483647; less its window_start -2147483648 it must"},
  };
  for (const BadInput &bad : cases) {
    // The middle window is empty, so row 3 begins the last.
    SegmentSumBatch batch({3, 0, 6}, table, bias, random);
    batch.windowStart = {-3, 0, 100};
    for (size_t e = 0; e < 9; ++e)
      batch.time[e] = e < 3 ? -3 : 100;
    Inputs inputs = batch.inputs();
    bad.change(batch, inputs);
    Status status = (*session)->run(inputs, batch.outputs());
    EXPECT_EQ(status.getCode(), StatusCode::InvalidArgument);
    EXPECT_EQ(status.message().substr(0, bad.error.size()), bad.error);
    EXPECT_EQ(batch.out, std::vector<float>(9, -99)) << bad.error;
  }
}

TEST(BindingChecks, WrongOutputsAreNamed) {
  auto program =
      makeSegmentSumProgram(std::vector<float>(21), std::vector<float>(3));
  const int64_t extents[] = {2, 5};
  const std::vector<int64_t> right = {2, 3}, wrong = {2, 4};
  float data[8];
  auto check = [&](OutputBinding binding) {
    return checkOutputs(*program, {&binding, 1}, extents).message();
  };
  EXPECT_EQ(check({0, DType::F32, data, right}), "");
  EXPECT_EQ(check({0, DType::F32, data, wrong}),
            "output out is f32 [batch, 3], not f32 [2, 4]");
  EXPECT_EQ(check({0, DType::F64, data, right}),
            "output out is f32 [batch, 3], not f64 [2, 3]");
  EXPECT_EQ(check({1, DType::F32, data, right}), "output 1 of 1");
}

} // namespace
} // namespace betz
