#include "codegen/cuda/CudaCode.h"
#include "codegen/cuda/KernelCache.h"
#include "codegen/cuda/Nvrtc.h"
#include "codegen/cuda/Paths.h"
#include "codegen/cuda/Source.h"
#include "runtime/program/CudaImages.h"

#include <algorithm>
#include <atomic>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <thread>

namespace betz::cuda {

namespace {

constexpr Architecture kArchitectures[] = {{"cuda:sm_90a", "sm_90a"},
                                           {"cuda:sm_80", "sm_80"}};

/// Multiprocessors that a grid should fill; no more than a guide.
constexpr int64_t kProcessors = 128;

int64_t tiles(int64_t size, int64_t tile) { return (size + tile - 1) / tile; }

/// Large tiles where they fill the processors, small ones where latency counts.
/// Neither changes bits: a result's products are added in the same order.
void chooseMatmulTile(KernelSpec &spec, const MatmulCore &core, Path path,
                      std::span<const int64_t> extents) {
  spec.plan.depthChunk = core.depth;
  if (path == Path::MatmulSimt) {
    spec.tile = {64, 64, 0, 0};
    return;
  }
  const int64_t rows = spec.result().rows.evaluate(extents);
  auto blocks = [&](int64_t tileRows, int64_t tileColumns) {
    return tiles(rows, tileRows) * tiles(core.columns, tileColumns);
  };
  const bool tma = path == Path::MatmulTma;
  if (blocks(128, 128) >= kProcessors)
    spec.tile = {128, 128, 64, tma ? 6 : 3};
  else if (tma && blocks(64, 128) >= kProcessors)
    spec.tile = {64, 128, 64, 4};
  else
    spec.tile = {64, 64, 64, tma && blocks(64, 64) <= kProcessors ? 8 : 4};
}

/// Queries of a block: 128 where that still fills the processors, since each
/// block reads all keys of its window; but 64 where a map skips key blocks,
/// since fewer queries see fewer of them.
int64_t attentionRows(const KernelSpec &spec,
                      std::span<const int64_t> extents) {
  const AttentionCore &core = *attentionOf(spec);
  const int64_t windows =
      core.batchSymbol < 0 ? 1 : extents[size_t(core.batchSymbol)];
  const int64_t blocks = windows * core.heads * tiles(core.queries, 128);
  const bool skips = core.sparsity == SparsityRule::BlockMap;
  return core.queries > 64 && !skips && blocks >= 2 * kProcessors ? 128 : 64;
}

/// Large tiles where clusters of eight blocks fill the processors with them.
TileConfig contractTile(const ContractRowsCore &core, const KernelSpec &spec,
                        bool isHopper) {
  const int64_t rows = spec.operands[size_t(core.a)].columns;
  const int64_t columns = spec.operands[size_t(core.b)].columns;
  const int64_t blocks =
      tiles(rows, 128) * tiles(columns, 128) * (isHopper ? 8 : 1);
  return blocks >= kProcessors ? TileConfig{128, 128, 64, 3}
                               : TileConfig{64, 64, 64, 4};
}

/// One row of a table that many rows name is best cut into narrow tiles, all
/// of whose lanes find work; of a large table each row has few.
void chooseScatterTile(KernelSpec &spec) {
  const bool small = spec.result().rows.plus <= 16;
  spec.plan.statisticLanes = small ? 256 : 16;
  spec.tile = {.rows = 1, .columns = small ? 16 : 256};
}

/// 2048 elements: of a few rows, or a piece of one.
TileConfig elementTile(const KernelSpec &spec) {
  const int64_t columns = tiles(spec.result().columns, 8) * 8;
  return columns > 1024
             ? TileConfig{.rows = 1, .columns = 2048}
             : TileConfig{.rows = 2048 / columns, .columns = columns};
}

/// A row a warp; two of a gather's where there are many, whose loads are under
/// way together.
int64_t rowsOfBlock(const KernelSpec &spec, std::span<const int64_t> extents) {
  const int64_t rows = spec.result().rows.evaluate(extents);
  const bool many = rows >= 16 * 8 * kProcessors;
  return many && std::holds_alternative<GatherCore>(spec.core) ? 16 : 8;
}

/// Code of one kernel for one instruction set.
struct Job {
  const std::string *name;
  const std::string *source;
  std::string isa;
  Result<std::vector<std::byte>> code = internalError("not compiled");
};

/// All of the compiler that its code depends on.
std::string identityOf(const Nvrtc &nvrtc) {
  return fmt::format("{} {}", nvrtc.version(), fmt::join(Nvrtc::flags(), " "));
}

/// The line of a compiler's log that says what is wrong.
std::string_view firstError(std::string_view log) {
  size_t at = log.find("error");
  if (at == log.npos)
    return log.substr(0, log.find('\n'));
  const size_t begin = log.rfind('\n', at) + 1; // npos + 1 is 0
  return log.substr(begin, log.find('\n', at) - begin);
}

/// From the cache, or by NVRTC. Source and log of a kernel that it refuses are
/// kept in files that the error names.
Result<std::vector<std::byte>> compileKernel(const std::string &name,
                                             const std::string &source,
                                             const std::string &isa,
                                             const Nvrtc &nvrtc,
                                             const KernelCache &cache) {
  return cache.find(name, source, isa, [&]() -> Result<std::vector<std::byte>> {
    std::string log;
    auto code = nvrtc.compile(name, source, isa, log);
    if (code.isOk())
      return code;
    std::string message = code.status().message();
    if (!log.empty())
      message += fmt::format(": {}", firstError(log));
    const std::string file = fmt::format("{}-{}", name, isa);
    auto sourcePath = cache.keep(file + ".cu", source);
    auto logPath = cache.keep(file + ".log", log);
    message += sourcePath.isOk() && logPath.isOk()
                   ? fmt::format("; its source is {}, the log {}",
                                 sourcePath->string(), logPath->string())
                   : "; no folder takes its source and the log";
    return Status(code.status().getCode(), message);
  });
}

/// NVRTC compiles on as many threads as there are cores; each tells `onDone`
/// how many jobs are done.
void compileAll(std::vector<Job> &jobs, const Nvrtc &nvrtc,
                const KernelCache &cache,
                const std::function<void(size_t)> &onDone) {
  std::atomic<size_t> next = 0, done = 0;
  auto work = [&] {
    for (size_t i = next++; i < jobs.size(); i = next++) {
      Job &job = jobs[i];
      job.code = compileKernel(*job.name, *job.source, job.isa, nvrtc, cache);
      onDone(++done);
    }
  };
  const size_t cores = std::max(1u, std::thread::hardware_concurrency());
  std::vector<std::jthread> threads(std::min(cores, jobs.size()));
  for (std::jthread &thread : threads)
    thread = std::jthread(work);
}

std::vector<std::string> instructionSets(const Architecture &architecture) {
  const std::string isa = architecture.isa;
  return isa == "sm_80" ? std::vector<std::string>{isa, "compute_80"}
                        : std::vector<std::string>{isa};
}

/// Made for the observer alone: an architecture's cubin comes without PTX.
Status showPtx(const std::map<std::string, std::string> &sources,
               const std::string &isa, const Nvrtc &nvrtc,
               const KernelCache &cache, CompileObserver &observer) {
  const std::string virtualIsa = "compute_" + isa.substr(isa.find('_') + 1);
  for (const auto &[name, source] : sources) {
    BETZ_ASSIGN_OR_RETURN(
        std::vector<std::byte> ptx,
        compileKernel(name, source, virtualIsa, nvrtc, cache));
    observer.onCode(name, isa, CodeForm::Ptx, [&] {
      return std::string(reinterpret_cast<const char *>(ptx.data()));
    });
  }
  return Status::ok();
}

} // namespace

std::span<const Architecture> architectures() { return kArchitectures; }

const Architecture *findArchitecture(std::string_view target) {
  for (const Architecture &architecture : kArchitectures)
    if (architecture.target == target)
      return &architecture;
  return nullptr;
}

void chooseTile(KernelSpec &spec, const Architecture &architecture,
                std::span<const int64_t> extents) {
  spec.plan = {};
  const Path path = choosePath(spec, architecture);
  switch (path) {
  case Path::MatmulSimt:
  case Path::MatmulMma:
  case Path::MatmulTma:
    return chooseMatmulTile(spec, std::get<MatmulCore>(spec.core), path,
                            extents);
  case Path::AttentionMma:
  case Path::AttentionWgmma:
    spec.plan.keyBlock = 64;
    spec.tile.rows = attentionRows(spec, extents);
    return;
  case Path::AttentionSimt:
    spec.plan.keyBlock = 32;
    spec.tile.rows = 16;
    return;
  case Path::AttentionKeysMma:
    spec.plan.keyBlock = 64;
    spec.tile.rows = 64;
    return;
  case Path::AttentionKeysSimt:
    spec.plan.keyBlock = 32;
    spec.tile.rows = 16;
    return;
  case Path::ContractMma:
    spec.plan.rowChunk = 64;
    spec.tile = contractTile(std::get<ContractRowsCore>(spec.core), spec,
                             isHopper(architecture));
    return;
  case Path::ContractSimt:
    spec.plan.rowChunk = 16;
    spec.tile = {64, 64, 0, 0};
    return;
  case Path::Columns:
    spec.plan.statisticLanes = 256;
    spec.tile = {.rows = 1, .columns = 16};
    return;
  case Path::Scatter:
    return chooseScatterTile(spec);
  case Path::Total:
    spec.plan.statisticLanes = 1024;
    spec.tile.rows = 1;
    return;
  case Path::Transpose:
    spec.tile.rows = 32;
    return;
  case Path::Elements:
    spec.tile = elementTile(spec);
    return;
  case Path::SegmentSub:
    spec.tile.rows = 256;
    return;
  case Path::Rows:
    spec.plan.statisticLanes = 32;
    spec.tile.rows = rowsOfBlock(spec, extents);
    return;
  }
}

Result<std::map<std::string, Result<std::vector<std::byte>>>>
compileKernels(const std::map<std::string, KernelSpec> &specs,
               const Architecture &architecture, const std::string &isa,
               const std::function<void(size_t)> &onDone) {
  BETZ_ASSIGN_OR_RETURN(const Nvrtc *nvrtc, Nvrtc::load());
  std::map<std::string, Result<std::vector<std::byte>>> codes;
  std::map<std::string, std::string> sources;
  for (const auto &[name, spec] : specs) {
    Result<std::string> source = kernelSource(name, spec, architecture);
    if (source.isOk())
      sources.emplace(name, std::move(source).value());
    else
      codes.emplace(name, std::move(source).status());
  }
  std::vector<Job> jobs;
  for (const auto &[name, source] : sources)
    jobs.push_back({&name, &source, isa});
  const KernelCache cache(KernelCache::standardFolder(), identityOf(*nvrtc));
  compileAll(jobs, *nvrtc, cache, onDone);
  for (Job &job : jobs) {
    if (!job.code.isOk())
      codes.emplace(*job.name, job.code.status());
    else
      codes.emplace(*job.name, packCudaImages(std::span(&job.code.value(), 1)));
  }
  return codes;
}

Result<std::vector<std::pair<std::string, std::vector<std::byte>>>>
buildExecutables(const std::map<std::string, KernelSpec> &specs,
                 const Architecture &architecture, CompileObserver &observer) {
  BETZ_ASSIGN_OR_RETURN(const Nvrtc *nvrtc, Nvrtc::load());
  Stopwatch watch;
  std::map<std::string, std::string> sources;
  for (const auto &[name, spec] : specs) {
    Result<std::string> source = kernelSource(name, spec, architecture);
    if (!source.isOk()) {
      observer.onKernelError(name, architecture.isa, source.status());
      return std::move(source).status().withContext("kernel " + name);
    }
    if (observer.wants(CodeForm::Cuda))
      observer.onCode(name, architecture.isa, CodeForm::Cuda,
                      [&] { return source.value(); });
    sources.emplace(name, std::move(source).value());
  }
  std::vector<Job> jobs;
  const std::vector<std::string> isas = instructionSets(architecture);
  for (const std::string &isa : isas)
    for (const auto &[name, source] : sources)
      jobs.push_back({&name, &source, isa});
  const KernelCache cache(KernelCache::standardFolder(), identityOf(*nvrtc));
  compileAll(jobs, *nvrtc, cache, [](size_t) {});
  if (observer.wants(CodeForm::Ptx))
    BETZ_RETURN_IF_ERROR(
        showPtx(sources, architecture.isa, *nvrtc, cache, observer));

  std::vector<std::pair<std::string, std::vector<std::byte>>> executables;
  for (const std::string &isa : isas) {
    std::vector<std::vector<std::byte>> images;
    for (Job &job : jobs) {
      if (job.isa != isa)
        continue;
      if (!job.code.isOk()) {
        observer.onKernelError(*job.name, isa, job.code.status());
        return job.code.status();
      }
      images.push_back(std::move(job.code).value());
    }
    executables.emplace_back(isa, packCudaImages(images));
  }
  observer.onStage(fmt::format("codegen {}", architecture.isa),
                   watch.seconds());
  return executables;
}

} // namespace betz::cuda
