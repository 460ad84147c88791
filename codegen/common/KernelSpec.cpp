#include "codegen/common/KernelSpec.h"
#include "codegen/common/Overloaded.h"

#include "runtime/base/Hash.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace betz {
namespace {

constexpr ElementwiseOp kElementwiseOps[] = {
#define BETZ_ELEMENTWISE(name, mnemonic, operands) {mnemonic, operands},
#include "codegen/common/ElementwiseOps.def"
};

bool isReduction(const KernelSpec &spec) {
  const auto *gather = std::get_if<GatherCore>(&spec.core);
  return (gather && gather->reduce) ||
         std::holds_alternative<NormScaleCore>(spec.core);
}

/// Cores whose columns are cut into tasks too.
bool cutsColumns(const Core &core) {
  return std::visit(Overloaded{
                        [](const MatmulCore &) { return true; },
                        [](const ContractRowsCore &) { return true; },
                        [](const ColumnSumCore &) { return true; },
                        [](const ScatterSumCore &) { return true; },
                        [](const JoinCore &) { return true; },
                        [](const AdamwCore &) { return true; },
                        [](const FillCore &) { return true; },
                        [](const auto &) { return false; },
                    },
                    core);
}

/// What the op of a core is called where its family does not say it.
std::string_view opName(const KernelSpec &spec) {
  return std::visit(
      Overloaded{
          [](const RotaryCore &) { return "rotary"; },
          [](const SegmentSubCore &) { return "segment_sub"; },
          [](const ContractRowsCore &) { return "contract_rows"; },
          [](const ColumnSumCore &) { return "column_sum"; },
          [](const ScatterSumCore &) { return "scatter_sum"; },
          [](const NormGradCore &) { return "norm_grad"; },
          [](const AttentionGradCore &core) {
            return core.part == AttentionPart::LogSum ? "attention_lse"
                   : core.part == AttentionPart::QueryGrad
                       ? "attention_grad_q"
                       : "attention_grad_kv";
          },
          [](const HeadDotsCore &) { return "head_dots"; },
          [](const JoinCore &) { return "join"; },
          [](const LossCore &core) {
            const bool isMse = core.kind == LossKind::Mse;
            if (core.dloss >= 0)
              return isMse ? "mse_grad" : "cross_entropy_grad";
            return isMse ? "mse_loss" : "cross_entropy";
          },
          [](const SquareSumCore &) { return "square_sum"; },
          [](const AdamwCore &) { return "adamw"; },
          [](const PackCore &core) {
            return core.transposed ? "pack_transposed" : "pack";
          },
          [](const FillCore &) { return "fill"; },
          [](const auto &) { return ""; },
      },
      spec.core);
}

std::string fusedSteps(const KernelSpec &spec) {
  std::string name;
  if (spec.prologue)
    name += "norm_";
  name += familyName(spec);
  if (spec.rowScale)
    name = "scaled_" + name;
  if (isReduction(spec))
    name += "_norm_scale";
  if (std::string_view op = opName(spec); !op.empty())
    name = op;
  for (const EpilogueStep &step : spec.epilogue)
    name += fmt::format("_{}", describe(step.kind).mnemonic);
  if (spec.squareGroup > 0)
    name += "_square_sums";
  return name;
}

std::string sizes(const KernelSpec &spec) {
  return std::visit(Overloaded{
                        [](const MatmulCore &core) {
                          return fmt::format("{}x{}", core.depth, core.columns);
                        },
                        [](const AttentionCore &core) {
                          return fmt::format("{}h{}x{}", core.heads,
                                             core.headSize, core.queries);
                        },
                        [&](const auto &) {
                          return fmt::format("{}", spec.result().columns);
                        },
                    },
                    spec.core);
}

double elements(const OperandSpec &operand, std::span<const int64_t> extents) {
  return double(operand.rows.evaluate(extents)) * double(operand.columns);
}

double coreFlops(const KernelSpec &spec, std::span<const int64_t> extents) {
  double result = elements(spec.result(), extents);
  auto all = [&](int32_t operand) {
    return elements(spec.operands[size_t(operand)], extents);
  };
  auto scoredPairs = [&](const AttentionCore &core) {
    double keys =
        core.keys > 0
            ? double(core.keys) * double(extents[size_t(core.batchSymbol)])
            : all(core.k) / double(core.kvHeads * core.headSize);
    return keys * double(core.queries * core.heads);
  };
  return std::visit(
      Overloaded{
          [&](const MatmulCore &core) {
            return 2 * result * double(core.depth);
          },
          [&](const AttentionCore &core) {
            return 4 * scoredPairs(core) * double(core.headSize);
          },
          [&](const NormCore &) { return 6 * result; },
          [&](const GatherCore &core) {
            double sums =
                double(spec.operands[size_t(core.tables[0])].columns) *
                double(spec.result().rows.evaluate(extents));
            double adds = double(core.tables.size()) - 1;
            return sums * (core.reduce ? adds + 2 : adds);
          },
          [&](const NormScaleCore &core) {
            return 2 * elements(spec.operands[size_t(core.x)], extents);
          },
          [](const IdentityCore &) { return 0.0; },
          [&](const RotaryCore &) { return 3 * result; },
          [](const SegmentSubCore &) { return 0.0; },
          [&](const ContractRowsCore &core) {
            return 2 * result *
                   double(spec.operands[size_t(core.a)].rows.evaluate(extents));
          },
          [&](const ColumnSumCore &core) { return all(core.x); },
          [&](const ScatterSumCore &core) { return all(core.x); },
          [&](const NormGradCore &) { return 12 * result; },
          [&](const AttentionGradCore &core) {
            // Products of queries, keys and values, each as wide as a head.
            const double products = core.part == AttentionPart::LogSum      ? 1
                                    : core.part == AttentionPart::QueryGrad ? 3
                                                                            : 4;
            return 2 * products * scoredPairs(core.forward) *
                   double(core.forward.headSize);
          },
          [&](const HeadDotsCore &core) { return 2 * all(core.a); },
          [](const JoinCore &) { return 0.0; },
          [&](const LossCore &core) {
            return (core.kind == LossKind::Mse ? 3 : 8) * all(core.x);
          },
          [&](const SquareSumCore &core) { return 2 * all(core.x); },
          [&](const AdamwCore &core) { return 14 * all(core.weights); },
          [](const PackCore &) { return 0.0; },
          [](const FillCore &) { return 0.0; },
      },
      spec.core);
}

} // namespace

const ElementwiseOp &describe(EpilogueStep::Kind kind) {
  return kElementwiseOps[size_t(kind)];
}

std::optional<EpilogueStep::Kind> findElementwise(std::string_view mnemonic) {
  for (size_t i = 0; i < std::size(kElementwiseOps); ++i)
    if (kElementwiseOps[i].mnemonic == mnemonic)
      return static_cast<EpilogueStep::Kind>(i);
  return std::nullopt;
}

std::string_view familyName(const KernelSpec &spec) {
  return std::visit(Overloaded{
                        [](const MatmulCore &) { return "matmul"; },
                        [](const AttentionCore &) { return "attention"; },
                        [](const NormCore &) { return "row"; },
                        [](const NormScaleCore &) { return "row"; },
                        [](const GatherCore &) { return "gather"; },
                        [](const ContractRowsCore &) { return "contraction"; },
                        [](const ColumnSumCore &) { return "reduction"; },
                        [](const ScatterSumCore &) { return "reduction"; },
                        [](const SquareSumCore &) { return "reduction"; },
                        [](const HeadDotsCore &) { return "reduction"; },
                        [](const NormGradCore &) { return "row"; },
                        [](const AttentionGradCore &) { return "attention"; },
                        [](const LossCore &) { return "loss"; },
                        [](const AdamwCore &) { return "optimizer"; },
                        [](const JoinCore &) { return "layout"; },
                        [](const PackCore &) { return "layout"; },
                        [](const auto &) { return "elementwise"; },
                    },
                    spec.core);
}

std::string codeName(const KernelSpec &spec) {
  std::string hash = toHex(hashBytes(toJson(spec).dump()));
  return fmt::format("{}_{}_{}_{}", fusedSteps(spec),
                     toString(spec.result().dtype), sizes(spec),
                     hash.substr(0, 8));
}

std::vector<double> rotaryFrequencies(const RotaryCore &core, int64_t pairs) {
  std::vector<double> frequencies;
  for (int64_t i = 0; i < pairs; ++i) {
    double exponent = double(i) / double(std::max<int64_t>(pairs - 1, 1));
    frequencies.push_back(
        1.0 /
        (core.periodMin * std::pow(core.periodMax / core.periodMin, exponent)));
  }
  return frequencies;
}

TaskSpace taskSpace(const KernelSpec &spec) {
  TaskSpace space;
  const auto *grad = std::get_if<AttentionGradCore>(&spec.core);
  if (grad && grad->part == AttentionPart::KeyValueGrad) {
    space.terms.push_back({Dim::constant(grad->forward.kvHeads), 1});
    space.terms.push_back({spec.result().rows, spec.tile.rows});
    return space;
  }
  if (const auto *core =
          grad ? &grad->forward : std::get_if<AttentionCore>(&spec.core)) {
    space.terms.push_back({{core->batchSymbol, 1, 0}, 1});
    space.terms.push_back({Dim::constant(core->heads), 1});
    space.terms.push_back({Dim::constant(core->queries), spec.tile.rows});
    return space;
  }
  space.terms.push_back({spec.result().rows, spec.tile.rows});
  if (cutsColumns(spec.core))
    space.terms.push_back(
        {Dim::constant(spec.result().columns), spec.tile.columns});
  return space;
}

KernelWork estimateWork(const KernelSpec &spec,
                        std::span<const int64_t> extents) {
  KernelWork work;
  work.flops = coreFlops(spec, extents);
  double result = elements(spec.result(), extents);
  work.flops += result * double(spec.epilogue.size());
  if (spec.prologue)
    work.flops += 6 * elements(spec.operands[0], extents);
  for (const OperandSpec &operand : spec.operands)
    work.bytes += elements(operand, extents) * double(sizeOf(operand.dtype));
  if (spec.squareGroup > 0)
    work.flops += 2 * result;
  if (spec.rowScale && spec.rowScale->squares < 0)
    work.flops += 2 * elements(spec.operands[0], extents);
  if (const auto *gather = std::get_if<GatherCore>(&spec.core)) {
    // Of a table only the rows that are read cross memory.
    double rows = double(spec.result().rows.evaluate(extents));
    for (int32_t table : gather->tables) {
      const OperandSpec &operand = spec.operands[size_t(table)];
      double width = double(sizeOf(operand.dtype));
      work.bytes +=
          (rows * double(operand.columns) - elements(operand, extents)) * width;
    }
  }
  return work;
}

} // namespace betz
