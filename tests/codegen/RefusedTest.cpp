//===- RefusedTest.cpp - Legal modules that have no CPU code --------------===//
//
// What a user can write in IR and the CPU does not compile is one clear line,
// never a crash or code that computes something else.
//
//===----------------------------------------------------------------------===//
#include "codegen/Compiler.h"

#include <gtest/gtest.h>

namespace betz {
namespace {

struct Refused {
  const char *name;
  const char *phase;
  /// After "func.func @main".
  const char *main;
  /// What the message says.
  const char *message;
};

const Refused kRefused[] = {
    {"slice_output", "model",
     R"((%x: !x {betz.input = "x"}) -> (!half {betz.output = "out"}) {
    %y = betz.gelu %x : (!x) -> !x
    %s = betz.slice %y {offset = 1 : i64} : (!x) -> !half
    return %s : !half)",
     "output \"out\" is a slice of a larger tensor"},
    {"input_as_output", "model",
     R"((%x: !x {betz.input = "x"}) -> (!x {betz.output = "out"}) {
    return %x : !x)",
     "output \"out\" must be the result of a kernel of its own"},
    {"output_twice", "model",
     R"((%x: !x {betz.input = "x"}) -> (!x {betz.output = "a"},
                                         !x {betz.output = "b"}) {
    %y = betz.gelu %x : (!x) -> !x
    return %y, %y : !x, !x)",
     "output \"b\" must be the result of a kernel of its own"},
    {"reshape_of_slice", "model",
     R"((%x: !x {betz.input = "x"})
      -> (tensor<?x2x2xf32, #betz.rows<"batch">> {betz.output = "out"}) {
    %s = betz.slice %x {offset = 1 : i64} : (!x) -> !half
    %r = betz.reshape %s : (!half) -> tensor<?x2x2xf32, #betz.rows<"batch">>
    %y = betz.gelu %r : (tensor<?x2x2xf32, #betz.rows<"batch">>)
        -> tensor<?x2x2xf32, #betz.rows<"batch">>
    return %y : tensor<?x2x2xf32, #betz.rows<"batch">>)",
     "a reshape of a slice, which would move data"},
    {"other_panels", "model",
     R"((%x: !x {betz.input = "x"}, %w: tensor<1x8x8xf32> {betz.input = "w"})
      -> (!x {betz.output = "out"}) {
    %y = betz.matmul %x, %w {columns = 8 : i64}
        : (!x, tensor<1x8x8xf32>) -> !x
    return %y : !x)",
     "its weight is not packed in panels of 16 columns"},
    {"sliced_panels", "model",
     R"((%x: !x {betz.input = "x"}, %w: tensor<1x8x32xf32> {betz.input = "w"})
      -> (!x {betz.output = "out"}) {
    %p = betz.slice %w {offset = 16 : i64}
        : (tensor<1x8x32xf32>) -> tensor<1x8x16xf32>
    %y = betz.matmul %x, %p {columns = 8 : i64}
        : (!x, tensor<1x8x16xf32>) -> !x
    return %y : !x)",
     "a slice in the place of packed weights"},
    {"sliced_bounds", "model",
     R"((%x: !x {betz.input = "x"}, %b: tensor<3x4xi32> {betz.input = "b"},
       %t: tensor<?xi32, #betz.rows<"batch">> {betz.input = "t"},
       %s: tensor<?xi32, #betz.rows<"windows" + 1>> {betz.input = "s"},
       %q: tensor<3x8xf32> {betz.input = "q"})
      -> (tensor<?x3x8xf32, #betz.rows<"windows">> {betz.output = "out"}) {
    %p = betz.slice %b {offset = 2 : i64} : (tensor<3x4xi32>) -> tensor<3x2xi32>
    %y = betz.attention %q, %x, %x splits %s bounds %t, %p
        {heads = 1 : i64, kv_heads = 1 : i64, scale = 1.0 : f64}
        : (tensor<3x8xf32>, !x, !x, tensor<?xi32, #betz.rows<"windows" + 1>>,
           tensor<?xi32, #betz.rows<"batch">>, tensor<3x2xi32>)
        -> tensor<?x3x8xf32, #betz.rows<"windows">>
    return %y : tensor<?x3x8xf32, #betz.rows<"windows">>)",
     "a slice in the place of bounds"},
    {"bf16", "model",
     R"((%x: tensor<?x8xbf16, #betz.rows<"batch">> {betz.input = "x"})
      -> (tensor<?x8xbf16, #betz.rows<"batch">> {betz.output = "out"}) {
    %y = betz.gelu %x : (tensor<?x8xbf16, #betz.rows<"batch">>)
        -> tensor<?x8xbf16, #betz.rows<"batch">>
    return %y : tensor<?x8xbf16, #betz.rows<"batch">>)",
     "the CPU generates no code for elements of type bf16"},
    {"computed_index", "model",
     R"((%t: tensor<9x8xf32> {betz.input = "t"},
       %i: tensor<?xi32, #betz.rows<"batch">> {betz.input = "i"},
       %b: tensor<?xi32, #betz.rows<"windows">> {betz.input = "b"},
       %s: tensor<?xi32, #betz.rows<"windows" + 1>> {betz.input = "s"})
      -> (!x {betz.output = "out"}) {
    %j = betz.segment_sub %i, %b, %s
        : (tensor<?xi32, #betz.rows<"batch">>,
           tensor<?xi32, #betz.rows<"windows">>,
           tensor<?xi32, #betz.rows<"windows" + 1>>)
        -> tensor<?xi32, #betz.rows<"batch">>
    %k = betz.segment_sub %j, %b, %s
        : (tensor<?xi32, #betz.rows<"batch">>,
           tensor<?xi32, #betz.rows<"windows">>,
           tensor<?xi32, #betz.rows<"windows" + 1>>)
        -> tensor<?xi32, #betz.rows<"batch">>
    %y = betz.gather_sum (%k) in (%t)
        : (tensor<?xi32, #betz.rows<"batch">>, tensor<9x8xf32>) -> !x
    return %y : !x)",
     "gather_sum and scatter_sum need indices that are inputs, or inputs "
     "less their segment's base"},
    {"head_too_wide", "model",
     R"((%q: tensor<?x1x9000xf32, #betz.rows<"batch">> {betz.input = "q"})
      -> (tensor<?x1x9000xf32, #betz.rows<"batch">> {betz.output = "out"}) {
    %y = betz.attention %q, %q, %q
        {heads = 1 : i64, kv_heads = 1 : i64, scale = 1.0 : f64}
        : (tensor<?x1x9000xf32, #betz.rows<"batch">>,
           tensor<?x1x9000xf32, #betz.rows<"batch">>,
           tensor<?x1x9000xf32, #betz.rows<"batch">>)
        -> tensor<?x1x9000xf32, #betz.rows<"batch">>
    return %y : tensor<?x1x9000xf32, #betz.rows<"batch">>)",
     "its rows or heads are too wide for the CPU"},
    {"rows_scaled_by_a_slice", "kernels",
     R"((%x: !x {betz.input = "x"}) -> (!x {betz.output = "out"}) {
    %s = betz.slice %x {offset = 3 : i64}
        : (!x) -> tensor<?x1xf32, #betz.rows<"batch">>
    %y = betz.kernel elementwise "k" (%x, %s)
        : (!x, tensor<?x1xf32, #betz.rows<"batch">>) -> !x {
    ^bb0(%a: !x, %b: tensor<?x1xf32, #betz.rows<"batch">>):
      %r = betz.scale_rows %a, %b
          : (!x, tensor<?x1xf32, #betz.rows<"batch">>) -> !x
      betz.yield %r : !x
    }
    return %y : !x)",
     "kernel \"k\": betz.scale_rows at this place of a elementwise kernel"},
    {"step_beside_the_chain", "kernels",
     R"((%x: !x {betz.input = "x"}) -> (!x {betz.output = "out"}) {
    %y = betz.kernel elementwise "k" (%x) : (!x) -> !x {
    ^bb0(%a: !x):
      %g = betz.gelu %a : (!x) -> !x
      %h = betz.mul %a, %a : (!x, !x) -> !x
      betz.yield %h : !x
    }
    return %y : !x)",
     "kernel \"k\": betz.mul at this place of a elementwise kernel"},
    {"chain_by_two_ways", "kernels",
     R"((%x: !x {betz.input = "x"}) -> (!x {betz.output = "out"}) {
    %y = betz.kernel elementwise "k" (%x) : (!x) -> !x {
    ^bb0(%a: !x):
      %g = betz.gelu %a : (!x) -> !x
      %h = betz.mul %g, %g : (!x, !x) -> !x
      betz.yield %h : !x
    }
    return %y : !x)",
     "kernel \"k\": betz.mul at this place of a elementwise kernel"},
    {"chain_that_grows", "kernels",
     R"((%x: !x {betz.input = "x"}, %u: tensor<8xf32> {betz.input = "u"})
      -> (!x {betz.output = "out"}) {
    %y = betz.kernel elementwise "k" (%x, %u) : (!x, tensor<8xf32>) -> !x {
    ^bb0(%a: !x, %b: tensor<8xf32>):
      %g = betz.gelu %b : (tensor<8xf32>) -> tensor<8xf32>
      %h = betz.add %a, %g : (!x, tensor<8xf32>) -> !x
      betz.yield %h : !x
    }
    return %y : !x)",
     "kernel \"k\": betz.add at this place of a elementwise kernel"},
    {"yields_an_earlier_value", "kernels",
     R"((%x: !x {betz.input = "x"}) -> (!x {betz.output = "out"}) {
    %y = betz.kernel elementwise "k" (%x) : (!x) -> !x {
    ^bb0(%a: !x):
      %g = betz.gelu %a : (!x) -> !x
      %h = betz.gelu %g : (!x) -> !x
      betz.yield %g : !x
    }
    return %y : !x)",
     "kernel \"k\": a kernel that does not yield its last value"},
    {"empty_kernel", "kernels",
     R"((%x: !x {betz.input = "x"}) -> (!x {betz.output = "out"}) {
    %y = betz.kernel elementwise "k" (%x) : (!x) -> !x {
    ^bb0(%a: !x):
      betz.yield %a : !x
    }
    return %y : !x)",
     "kernel \"k\": a kernel that does not yield its last value"},
    {"two_results", "kernels",
     R"((%x: !x {betz.input = "x"}) -> (!x {betz.output = "a"},
                                         !x {betz.output = "b"}) {
    %y, %z = betz.kernel elementwise "k" (%x) : (!x) -> (!x, !x) {
    ^bb0(%a: !x):
      %g = betz.gelu %a : (!x) -> !x
      %h = betz.gelu %g : (!x) -> !x
      betz.yield %g, %h : !x, !x
    }
    return %y, %z : !x, !x)",
     "kernel \"k\": a kernel that does not yield its last value"},
    {"prologue_read_twice", "kernels",
     R"((%x: !x {betz.input = "x"}, %u: tensor<8xf32> {betz.input = "u"},
       %w: tensor<1x8x16xf32> {betz.input = "w"})
      -> (!x {betz.output = "out"}) {
    %y = betz.kernel matmul "k" (%x, %u, %w)
        : (!x, tensor<8xf32>, tensor<1x8x16xf32>) -> !x {
    ^bb0(%a: !x, %b: tensor<8xf32>, %c: tensor<1x8x16xf32>):
      %n = betz.norm rms %a, %b {eps = 1.0e-5 : f64}
          : (!x, tensor<8xf32>) -> !x
      %m = betz.matmul %n, %c {columns = 8 : i64}
          : (!x, tensor<1x8x16xf32>) -> !x
      %r = betz.add %m, %n : (!x, !x) -> !x
      betz.yield %r : !x
    }
    return %y : !x)",
     "kernel \"k\": betz.add at this place of a matmul kernel"},
    {"prologue_not_read", "kernels",
     R"((%x: !x {betz.input = "x"}, %u: tensor<8xf32> {betz.input = "u"},
       %w: tensor<1x8x16xf32> {betz.input = "w"})
      -> (!x {betz.output = "out"}) {
    %y = betz.kernel matmul "k" (%x, %u, %w)
        : (!x, tensor<8xf32>, tensor<1x8x16xf32>) -> !x {
    ^bb0(%a: !x, %b: tensor<8xf32>, %c: tensor<1x8x16xf32>):
      %n = betz.norm rms %a, %b {eps = 1.0e-5 : f64}
          : (!x, tensor<8xf32>) -> !x
      %m = betz.matmul %a, %c {columns = 8 : i64}
          : (!x, tensor<1x8x16xf32>) -> !x
      betz.yield %m : !x
    }
    return %y : !x)",
     "kernel \"k\": betz.matmul at this place of a matmul kernel"},
    {"view_in_a_kernel", "kernels",
     R"((%x: !x {betz.input = "x"}) -> (!x {betz.output = "out"}) {
    %y = betz.kernel elementwise "k" (%x) : (!x) -> !x {
    ^bb0(%a: !x):
      %r = betz.reshape %a : (!x) -> !x
      betz.yield %r : !x
    }
    return %y : !x)",
     "kernel \"k\": betz.reshape at this place of a elementwise kernel"},
};

class RefusedTest : public testing::TestWithParam<Refused> {};

TEST_P(RefusedTest, IsOneClearLine) {
  std::string text = "!x = tensor<?x8xf32, #betz.rows<\"batch\">>\n"
                     "!half = tensor<?x4xf32, #betz.rows<\"batch\">>\n"
                     "module attributes {betz.phase = \"" +
                     std::string(GetParam().phase) +
                     "\", betz.symbols = [\"batch\", \"windows\"]} {\n"
                     "  func.func @prepare() {\n    return\n  }\n"
                     "  func.func @main" +
                     GetParam().main + "\n  }\n}\n";
  auto context = ir::makeContext();
  auto module = ir::parseModule(*context, text, "test");
  ASSERT_TRUE(module.isOk()) << module.status().message() << "\n" << text;
  auto program = compileModule(**module, {}, CompileOptions());
  ASSERT_FALSE(program.isOk());
  EXPECT_EQ(program.status().getCode(), StatusCode::InvalidArgument);
  EXPECT_NE(program.status().message().find(GetParam().message),
            std::string::npos)
      << program.status().message();
  EXPECT_EQ(program.status().message().find('\n'), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(Modules, RefusedTest, testing::ValuesIn(kRefused),
                         [](const auto &info) {
                           return std::string(info.param.name);
                         });

TEST(CompileOptions, AreChecked) {
  auto message = [](void (*change)(CompileOptions &)) {
    CompileOptions options;
    change(options);
    return checkCompileOptions(options).message();
  };
  EXPECT_EQ(message([](CompileOptions &) {}), "");
  EXPECT_EQ(message([](CompileOptions &o) { o.targets = {"tpu"}; }),
            "unknown target \"tpu\"; this build compiles for: cpu, "
            "cuda:sm_90a, cuda:sm_80");
  EXPECT_EQ(message([](CompileOptions &o) { o.targets = {"cpu", "cpu"}; }),
            "a target is named twice");
  EXPECT_EQ(message([](CompileOptions &o) { o.batches = {0, 1}; }),
            "batches must be positive, for example 1,8,32");
  EXPECT_EQ(message([](CompileOptions &o) { o.batches = {1, 8, 8}; }),
            "batches must ascend, for example 1,8,32");
  for (int64_t events : {int64_t(0), int64_t(1) << 30, INT64_MAX})
    EXPECT_FALSE(checkCompileOptions({{"cpu"}, {}, {1, 8}, events}).isOk());
}

/// A model of one elementwise op, with `attributes` on its module.
std::string smallModel(const std::string &attributes) {
  return "!x = tensor<?x8xf32, #betz.rows<\"batch\">>\n"
         "module attributes {betz.phase = \"model\", betz.symbols = "
         "[\"batch\"]" +
         attributes + R"(} {
  func.func @prepare() {
    return
  }
  func.func @main(%x: !x {betz.input = "x"}) -> (!x {betz.output = "y"}) {
    %y = betz.gelu %x : (!x) -> !x
    return %y : !x
  }
})";
}

TEST(CompileOptions, AgreeWithTheModule) {
  struct Case {
    const char *attributes;
    ir::Phase phase;
    std::vector<std::string> targets;
    std::optional<DType> precision;
    const char *message;
  };
  const char *forCuda =
      ", betz.target = \"cuda:sm_80\", betz.precision = \"f32\"";
  const Case cases[] = {
      {"", ir::Phase::Model, {}, {}, ""},
      {"", ir::Phase::Model, {"cuda:sm_80"}, {}, ""},
      {"", ir::Phase::Model, {"cpu"}, DType::F32, ""},
      {"",
       ir::Phase::Model,
       {},
       DType::BF16,
       "precision bf16 needs a cuda target; the CPU computes in f32"},
      {"",
       ir::Phase::Model,
       {"cpu", "cuda:sm_80"},
       {},
       "a module is lowered for one target, not for cpu, cuda:sm_80; name one"},
      {"",
       ir::Phase::Program,
       {"cuda:sm_80"},
       {},
       "the module is lowered for cpu, not for cuda:sm_80; start from the "
       "model"},
      {forCuda, ir::Phase::Model, {}, {}, ""},
      {forCuda, ir::Phase::Model, {"cuda:sm_90a"}, DType::F32, ""},
      {forCuda,
       ir::Phase::Model,
       {"cpu"},
       {},
       "the module is lowered for cuda:sm_80, not for cpu; start from the "
       "model"},
      {forCuda,
       ir::Phase::Model,
       {},
       DType::BF16,
       "the module is lowered in f32, not in bf16; start from the model"},
      {", betz.target = 1",
       ir::Phase::Model,
       {},
       {},
       "betz.target must be a name"},
      {", betz.target = \"tpu\"",
       ir::Phase::Model,
       {},
       {},
       "betz.target: unknown target \"tpu\"; this build compiles for: cpu, "
       "cuda:sm_90a, cuda:sm_80"},
      {", betz.precision = \"i32\"",
       ir::Phase::Model,
       {},
       {},
       "betz.precision must be \"f32\" or \"bf16\""},
  };
  for (const Case &one : cases) {
    auto context = ir::makeContext();
    auto module = ir::parseModule(*context, smallModel(one.attributes), "test");
    ASSERT_TRUE(module.isOk()) << module.status().message();
    if (one.phase != ir::Phase::Model) {
      Status lowered = lowerModule(**module, one.phase, CompileOptions());
      ASSERT_TRUE(lowered.isOk()) << lowered.message();
    }
    CompileOptions options;
    options.targets = one.targets;
    options.precision = one.precision;
    EXPECT_EQ(lowerModule(**module, ir::Phase::Program, options).message(),
              one.message);
  }
}

/// A later phase says what it was lowered for, and is compiled for that.
TEST(CompileOptions, ComeFromTheModule) {
  auto context = ir::makeContext();
  auto module = ir::parseModule(*context, smallModel(""), "test");
  ASSERT_TRUE(module.isOk()) << module.status().message();
  CompileOptions options;
  options.targets = {"cuda:sm_80"};
  options.precision = DType::BF16;
  ASSERT_TRUE(lowerModule(**module, ir::Phase::Kernels, options).isOk());
  ASSERT_TRUE(
      lowerModule(**module, ir::Phase::Program, CompileOptions()).isOk());
  std::string text = ir::printModule(**module);
  EXPECT_NE(text.find("betz.target = \"cuda:sm_80\""), std::string::npos);
  EXPECT_NE(text.find("betz.precision = \"bf16\""), std::string::npos);
}

} // namespace
} // namespace betz
