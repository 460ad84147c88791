//===- KernelSpecTest.cpp - Specs as text, their names and their sizes ----===//
#include "codegen/common/KernelSpec.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <random>
#include <regex>

namespace betz {
namespace {

uint64_t freshSeed() {
  static const uint64_t seed = std::random_device()();
  return seed;
}

/// Draws legal specs: operand and symbol numbers are in range.
class SpecMaker {
public:
  explicit SpecMaker(uint64_t seed) : random(seed) {}

  KernelSpec make(size_t core) {
    spec = {};
    spec.symbols = {"batch", "events"};
    for (int64_t i = number(3, 9); i > 0; --i)
      spec.operands.push_back({DType(number(0, 4)), dim(), number(1, 999),
                               number(1, 5000), number(0, 64)});
    spec.core = makeCore(core);
    if (number(0, 1))
      spec.prologue = norm();
    if (core == 0 && number(0, 1))
      spec.rowScale = rowScale();
    for (int64_t i = number(0, 3); i > 0; --i) {
      auto kind = EpilogueStep::Kind(number(0, kLastStep));
      spec.epilogue.push_back({kind,
                               describe(kind).operands == 2 ? operand() : -1,
                               number(0, 1) == 1, real(), number(0, 99)});
    }
    spec.plan = {number(0, 999), number(0, 16), number(0, 64), number(0, 512)};
    spec.tile = {number(1, 512), number(1, 512), number(0, 128), number(0, 8)};
    return spec;
  }

private:
  static constexpr int64_t kLastStep = int64_t(EpilogueStep::Kind::Dropout);

  int64_t number(int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  }
  double real() { return std::lognormal_distribution<double>(0, 30)(random); }
  int32_t operand() {
    return int32_t(number(0, int64_t(spec.operands.size()) - 1));
  }
  int32_t optional() { return number(0, 1) ? operand() : -1; }
  Dim dim() {
    if (number(0, 1))
      return Dim::constant(number(0, int64_t(1) << 40));
    return {int32_t(number(0, 1)), number(1, 512), number(0, 1)};
  }
  NormSpec norm() {
    return {NormForm(number(0, 1)), real(), operand(), optional()};
  }
  RowScaleSpec rowScale() { return {NormForm(number(0, 1)), real()}; }
  AttentionCore attention() {
    AttentionCore core{operand(), operand(), operand(), optional()};
    if (number(0, 1))
      core.keyTime = core.bounds = operand();
    core.kvHeads = number(1, 4);
    core.heads = core.kvHeads * number(1, 4);
    core.headSize = number(1, 128);
    core.queries = number(1, 512);
    core.keys = core.rowSplits < 0 ? number(1, 512) : 0;
    core.sharedQuery = number(0, 1);
    core.causal = number(0, 1);
    core.scale = real();
    core.batchSymbol = int32_t(number(0, 1));
    core.blockMap = optional();
    core.mapBlock = 64 * number(1, 3);
    core.mapColumns = number(1, 9);
    core.sparsity = SparsityRule(number(0, 4));
    return core;
  }
  Core makeCore(size_t core) {
    switch (core) {
    case 0:
      return MatmulCore{operand(), operand(), number(1, 4096), number(1, 4096),
                        16};
    case 1:
      return attention();
    case 2:
      return NormCore{operand(), norm()};
    case 3: {
      GatherCore gather;
      for (int64_t i = number(1, 4); i > 0; --i) {
        gather.indices.push_back(operand());
        gather.tables.push_back(operand());
      }
      if (number(0, 1))
        gather.reduce = rowScale();
      return gather;
    }
    case 4:
      return IdentityCore{operand()};
    case 5:
      return RotaryCore{operand(), optional(), number(1, 16), number(1, 512),
                        real(),    real(),     real(),        real()};
    case 6:
      return SegmentSubCore{operand(), operand(), operand()};
    case 7:
      return NormScaleCore{operand(), rowScale()};
    case 8:
      return ContractRowsCore{operand(), operand()};
    case 9:
      return ColumnSumCore{operand()};
    case 10:
      return ScatterSumCore{operand(), operand()};
    case 11:
      return NormGradCore{operand(), operand(), operand(), rowScale()};
    case 12:
      return AttentionGradCore{AttentionPart(number(1, 2)), attention(),
                               operand(), operand(), operand()};
    case 13:
      return HeadDotsCore{operand(), operand(), number(1, 16)};
    case 14:
      return JoinCore{{operand(), operand()}, {number(0, 9), number(10, 99)}};
    case 15:
      return LossCore{LossKind(number(0, 1)), operand(), operand(), optional()};
    case 16:
      return SquareSumCore{operand()};
    case 17:
      return AdamwCore{operand(), operand(), operand(), operand(),
                       operand(), operand(), real(),    real(),
                       real(),    real(),    real()};
    case 18:
      return PackCore{operand(), number(0, 1) == 1, 16 * number(0, 1)};
    default:
      return FillCore{real()};
    }
  }

  std::mt19937_64 random;
  KernelSpec spec;
};

constexpr size_t kCores = std::variant_size_v<Core>;

class KernelSpecTest : public testing::TestWithParam<size_t> {
protected:
  SpecMaker maker{freshSeed() + GetParam()};
};

TEST_P(KernelSpecTest, SurvivesJson) {
  for (int i = 0; i < 50; ++i) {
    KernelSpec spec = maker.make(GetParam());
    std::string text = toJson(spec).dump();
    auto json = parseJson(text);
    ASSERT_TRUE(json.isOk()) << json.status().message();
    auto back = kernelSpecFromJson(*json);
    ASSERT_TRUE(back.isOk()) << back.status().message() << "\n" << text;
    EXPECT_TRUE(*back == spec) << text;
    EXPECT_EQ(toJson(*back).dump(), text);
  }
}

/// Calls `visit` with the path to each member of the objects inside `json`.
void forEachMember(const Json &json, const Json::json_pointer &place,
                   const std::function<void(Json::json_pointer)> &visit) {
  if (json.is_object())
    for (const auto &[name, value] : json.items()) {
      visit(place / name);
      forEachMember(value, place / name, visit);
    }
  if (json.is_array())
    for (size_t i = 0; i < json.size(); ++i)
      forEachMember(json[i], place / i, visit);
}

TEST_P(KernelSpecTest, NamesWhatIsMissingOrMistyped) {
  Json whole = toJson(maker.make(GetParam()));
  int members = 0;
  forEachMember(whole, Json::json_pointer(), [&](Json::json_pointer place) {
    ++members;
    std::string name = place.back();
    Json missing = whole;
    missing[place.parent_pointer()].erase(name);
    auto spec = kernelSpecFromJson(missing);
    ASSERT_FALSE(spec.isOk()) << place;
    EXPECT_NE(spec.status().message().find("\"" + name + "\" is missing"),
              std::string::npos)
        << place << ": " << spec.status().message();

    Json mistyped = whole;
    mistyped[place] = whole[place].is_number() ? Json("x") : Json(17);
    spec = kernelSpecFromJson(mistyped);
    ASSERT_FALSE(spec.isOk()) << place;
    EXPECT_NE(spec.status().message().find(name), std::string::npos)
        << place << ": " << spec.status().message();
    EXPECT_EQ(spec.status().getCode(), StatusCode::DataLoss);
  });
  EXPECT_GT(members, 20);
}

/// Every number that code generators index with.
TEST_P(KernelSpecTest, RejectsNumbersOutOfRange) {
  const std::set<std::string> kOperands = {
      "x",        "weight",  "q",      "k",         "v",        "row_splits",
      "key_time", "bounds",  "gain",   "shift",     "position", "values",
      "base",     "indices", "tables", "block_map", "squares",  "a",
      "b",        "dout",    "lse",    "delta",     "dloss",    "dy",
      "index",    "parts",   "target", "weights",   "moment1",  "moment2",
      "schedule"};
  KernelSpec spec = maker.make(GetParam());
  spec.prologue.emplace(NormSpec{NormForm::Layer, 1, 0, 0});
  spec.epilogue = {{EpilogueStep::Kind::Add, 0}};
  spec.operands[0].rows = {1, 1, 0};
  Json whole = toJson(spec);
  auto expectError = [&](const Json::json_pointer &place, int64_t value) {
    Json wrong = whole;
    (wrong[place].is_array() ? wrong[place][0] : wrong[place]) = value;
    EXPECT_FALSE(kernelSpecFromJson(wrong).isOk()) << place << " = " << value;
  };
  forEachMember(whole, Json::json_pointer(), [&](Json::json_pointer place) {
    bool isOperand = kOperands.count(place.back()) ||
                     (place.back() == "operand" && place.to_string() != "");
    if (isOperand) {
      expectError(place, int64_t(spec.operands.size()));
      expectError(place, -2);
    }
    if (place.back() == "symbol" || place.back() == "batch_symbol")
      expectError(place, 2);
  });
}

TEST_P(KernelSpecTest, EqualSpecsShareOneIdentifier) {
  static const std::regex identifier("[A-Za-z_][A-Za-z0-9_]*");
  std::map<std::string, std::string> specs;
  for (int i = 0; i < 50; ++i) {
    KernelSpec spec = maker.make(GetParam());
    KernelSpec copy = spec;
    std::string name = codeName(spec);
    EXPECT_EQ(name, codeName(copy));
    EXPECT_TRUE(std::regex_match(name, identifier)) << name;
    std::string text = toJson(spec).dump();
    EXPECT_EQ(specs.emplace(name, text).first->second, text);
    copy.plan.depthChunk += 1;
    EXPECT_NE(codeName(copy), name);
    copy = spec;
    copy.operands[0].offset += 1;
    EXPECT_NE(codeName(copy), name);
  }
}

const char *coreName(const testing::TestParamInfo<size_t> &info) {
  static constexpr const char *names[kCores] = {
      "Matmul",     "Attention",  "Norm",          "Gather",       "Identity",
      "Rotary",     "SegmentSub", "NormScale",     "ContractRows", "ColumnSum",
      "ScatterSum", "NormGrad",   "AttentionGrad", "HeadDots",     "Join",
      "Loss",       "SquareSum",  "Adamw",         "Pack",         "Fill"};
  return names[info.param];
}

INSTANTIATE_TEST_SUITE_P(Cores, KernelSpecTest,
                         testing::Range(size_t(0), kCores), coreName);

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

constexpr int64_t kBatch = 3, kEvents = 100;
constexpr int64_t kExtents[] = {kBatch, kEvents};

OperandSpec operand(Dim rows, int64_t columns, DType dtype = DType::F32) {
  return {dtype, rows, columns, columns, 0};
}
Dim perWindow(int64_t rows) { return {0, rows, 0}; }
const Dim kPerEvent{1, 1, 0};

KernelSpec matmulSpec() {
  KernelSpec spec;
  spec.symbols = {"batch", "events"};
  spec.operands = {operand(perWindow(24), 64), operand(Dim::constant(64), 1),
                   operand(Dim::constant(12 * 64), 16),
                   operand(perWindow(24), 192)};
  spec.core = MatmulCore{0, 2, 64, 192, 16};
  spec.tile = {48, 128};
  return spec;
}

TEST(KernelSpecValues, Matmul) {
  KernelSpec spec = matmulSpec();
  EXPECT_EQ(familyName(spec), "matmul");
  // 72 rows in blocks of 48, 192 columns in blocks of 128.
  EXPECT_EQ(taskSpace(spec).count(kExtents), 2 * 2);
  KernelWork work = estimateWork(spec, kExtents);
  EXPECT_EQ(work.flops, 2.0 * 72 * 192 * 64);
  EXPECT_EQ(work.bytes, 4.0 * (72 * 64 + 64 + 12 * 64 * 16 + 72 * 192));

  // Six for each normalised element, one for each step on a result.
  spec.prologue = NormSpec{NormForm::Rms, 1e-5, 1, -1};
  spec.epilogue = {{EpilogueStep::Kind::Gelu, -1},
                   {EpilogueStep::Kind::Mul, 0}};
  EXPECT_EQ(estimateWork(spec, kExtents).flops,
            2.0 * 72 * 192 * 64 + 6.0 * 72 * 64 + 2.0 * 72 * 192);
  EXPECT_TRUE(codeName(spec).starts_with("norm_matmul_gelu_mul_f32_64x192_"))
      << codeName(spec);
}

TEST(KernelSpecValues, RaggedAttention) {
  KernelSpec spec;
  spec.symbols = {"batch", "events"};
  spec.operands = {operand(Dim::constant(50), 64), operand(kPerEvent, 32),
                   operand(kPerEvent, 32), operand({0, 1, 1}, 1, DType::I32),
                   operand(perWindow(50), 64)};
  AttentionCore core{0, 1, 2, 3};
  core.heads = 4;
  core.kvHeads = 2;
  core.headSize = 16;
  core.queries = 50;
  core.sharedQuery = true;
  core.batchSymbol = 0;
  spec.core = core;
  spec.tile = {48, 0};
  EXPECT_EQ(familyName(spec), "attention");
  EXPECT_EQ(taskSpace(spec).count(kExtents), kBatch * 4 * 2);
  KernelWork work = estimateWork(spec, kExtents);
  EXPECT_EQ(work.flops, 4.0 * kEvents * 50 * 64);
  EXPECT_EQ(work.bytes, 4.0 * (50 * 64 + 2 * kEvents * 32 + (kBatch + 1) +
                               kBatch * 50 * 64));
}

TEST(KernelSpecValues, DenseAttention) {
  KernelSpec spec;
  spec.symbols = {"batch", "events"};
  spec.operands = {operand(perWindow(7), 30), operand(perWindow(9), 30),
                   operand(perWindow(9), 30), operand(perWindow(7), 30)};
  AttentionCore core{0, 1, 2};
  core.heads = core.kvHeads = 3;
  core.headSize = 10;
  core.queries = 7;
  core.keys = 9;
  core.batchSymbol = 0;
  spec.core = core;
  spec.tile = {48, 0};
  EXPECT_EQ(taskSpace(spec).count(kExtents), kBatch * 3);
  EXPECT_EQ(estimateWork(spec, kExtents).flops, 4.0 * kBatch * 9 * 7 * 30);
}

TEST(KernelSpecValues, GatherReadsRowsAndNotTables) {
  KernelSpec spec;
  spec.symbols = {"batch", "events"};
  spec.operands = {operand(kPerEvent, 1, DType::I32),
                   operand(kPerEvent, 1, DType::I32),
                   operand(Dim::constant(512), 33),
                   operand(Dim::constant(8), 33), operand(kPerEvent, 33)};
  spec.core = GatherCore{{0, 1}, {2, 3}, {}};
  spec.tile = {64, 0};
  EXPECT_EQ(familyName(spec), "gather");
  EXPECT_EQ(taskSpace(spec).count(kExtents), 2);
  KernelWork work = estimateWork(spec, kExtents);
  EXPECT_EQ(work.flops, kEvents * 33.0);
  EXPECT_EQ(work.bytes, 4.0 * (2 * kEvents + 3 * kEvents * 33));
}

TEST(KernelSpecValues, RowScales) {
  KernelSpec spec = matmulSpec();
  spec.rowScale = RowScaleSpec{};
  EXPECT_EQ(estimateWork(spec, kExtents).flops,
            2.0 * 72 * 192 * 64 + 2.0 * 72 * 64);
  EXPECT_TRUE(codeName(spec).starts_with("scaled_matmul_f32_"));

  // A gather that gives one factor a row still reads whole rows of its tables.
  spec = {};
  spec.symbols = {"batch", "events"};
  spec.operands = {operand(kPerEvent, 1, DType::I32),
                   operand(Dim::constant(512), 33), operand(kPerEvent, 1)};
  spec.core = GatherCore{{0}, {1}, RowScaleSpec{}};
  spec.tile = {64, 0};
  KernelWork work = estimateWork(spec, kExtents);
  EXPECT_EQ(work.flops, kEvents * 33.0 * 2);
  EXPECT_EQ(work.bytes, 4.0 * (kEvents + kEvents * 33 + kEvents));
}

TEST(KernelSpecValues, NothingToDo) {
  constexpr int64_t none[] = {0, 0};
  KernelSpec spec = matmulSpec();
  EXPECT_EQ(taskSpace(spec).count(none), 0);
  EXPECT_EQ(estimateWork(spec, none).flops, 0);
}

} // namespace
} // namespace betz
