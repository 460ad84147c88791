#include "tests/numerics/CpuRunner.h"

#include "runtime/program/KernelAbi.h"

#include <algorithm>
#include <cstring>
#include <dlfcn.h>
#include <fmt/format.h>
#include <random>
#include <sys/mman.h>
#include <unistd.h>

namespace betz {
namespace {

constexpr size_t kPage = 4096;
/// As f32 it is a NaN, as an index far from any table.
constexpr int kPoison = 0xFF;

/// Memory whose end is the end of a page, with nothing mapped behind it; what
/// lies before its start must keep its poison.
class GuardedBuffer {
public:
  explicit GuardedBuffer(int64_t bytes)
      : size(size_t(bytes)),
        mapped((size + kPage - 1) / kPage * kPage + 2 * kPage) {
    base = static_cast<char *>(::mmap(nullptr, mapped, PROT_READ | PROT_WRITE,
                                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    std::memset(base, kPoison, mapped - kPage);
    ::mprotect(base + mapped - kPage, kPage, PROT_NONE);
  }
  GuardedBuffer(GuardedBuffer &&other) noexcept
      : size(other.size), mapped(other.mapped),
        base(std::exchange(other.base, nullptr)) {}
  ~GuardedBuffer() {
    if (base)
      ::munmap(base, mapped);
  }

  char *data() const { return base + mapped - kPage - size; }
  bool isIntactBefore() const {
    return std::all_of(base, data(),
                       [](char byte) { return byte == char(kPoison); });
  }

private:
  size_t size, mapped;
  char *base;
};

void copyIn(const reference::Tensor &tensor, char *to) {
  if (!tensor.integer.empty()) {
    std::memcpy(to, tensor.integer.data(), tensor.integer.size() * 4);
    return;
  }
  std::vector<float> values(tensor.real.begin(), tensor.real.end());
  std::memcpy(to, values.data(), values.size() * sizeof(float));
}

reference::Tensor copyOut(const TensorSpec &spec,
                          std::span<const int64_t> extents, const char *from) {
  reference::Tensor tensor;
  for (const Dim &dim : spec.shape)
    tensor.shape.push_back(dim.evaluate(extents));
  size_t count = size_t(spec.elements(extents));
  if (spec.dtype == DType::I32) {
    tensor.integer.resize(count);
    std::memcpy(tensor.integer.data(), from, count * sizeof(int32_t));
    return tensor;
  }
  std::vector<float> values(count);
  std::memcpy(values.data(), from, count * sizeof(float));
  tensor.real.assign(values.begin(), values.end());
  return tensor;
}

/// One step: its sizes and its memory.
class Step {
public:
  explicit Step(const Program &program)
      : program(program), target(*program.findTarget("cpu")),
        extents(program.symbols.size(), -1) {}

  Status bind(const reference::TensorMap &given) {
    std::vector<const reference::Tensor *> found;
    for (const InputSpec &input : program.inputs) {
      auto at = given.find(input.tensor.name);
      if (at == given.end() && !input.alias.empty())
        at = given.find(input.alias);
      found.push_back(at == given.end() ? nullptr : &at->second);
      if (found.back())
        takeExtents(input.tensor, found.back()->shape);
      else if (!input.defaultValue)
        return invalidArgument("no input " + input.tensor.name);
    }
    for (size_t i = 0; i < found.size(); ++i) {
      const InputSpec &input = program.inputs[i];
      GuardedBuffer &buffer = inputs.emplace_back(input.tensor.bytes(extents));
      if (found[i]) {
        copyIn(*found[i], buffer.data());
        continue;
      }
      std::vector<int32_t> filled(size_t(input.tensor.elements(extents)),
                                  *input.defaultValue);
      std::memcpy(buffer.data(), filled.data(), filled.size() * 4);
    }
    for (const DerivedTensor &tensor : target.derived) {
      int64_t bytes = tensor.tensor.bytes(extents);
      std::memcpy(derived.emplace_back(bytes).data(),
                  target.derivedData.bytes.data() + tensor.offset,
                  size_t(bytes));
    }
    for (const TensorSpec &state : program.states) {
      auto at = given.find(state.name);
      if (at == given.end())
        return invalidArgument("no state " + state.name);
      copyIn(at->second, states.emplace_back(state.bytes(extents)).data());
    }
    for (const TensorSpec &output : program.outputs)
      outputs.emplace_back(output.bytes(extents));
    return Status::ok();
  }

  const LaunchPlan *findPlan(size_t first) const {
    for (size_t p = first; p < target.plans.size(); ++p) {
      bool fits = true;
      for (size_t s = 0; s < extents.size(); ++s)
        fits &= extents[s] <= target.plans[p].capacity[s];
      if (fits)
        return &target.plans[p];
    }
    return nullptr;
  }

  void launch(const Launch &launch, CpuKernelFn function, char *arena,
              TaskCut cut, std::mt19937_64 &random) {
    std::vector<void *> operands;
    for (const BufferRef &ref : launch.operands)
      operands.push_back(resolve(ref, arena));
    int64_t tasks = target.kernels[launch.kernel].tasks.count(extents);
    std::vector<std::pair<int64_t, int64_t>> pieces;
    for (int64_t at = 0; at < tasks;) {
      int64_t size = cut.largest == 0
                         ? tasks
                         : 1 + int64_t(random() % uint64_t(cut.largest));
      pieces.emplace_back(at, std::min(at + size, tasks));
      at = pieces.back().second;
    }
    if (cut.largest > 0)
      std::shuffle(pieces.begin(), pieces.end(), random);
    for (auto [begin, end] : pieces)
      function(operands.data(), extents.data(), begin, end);
  }

  Result<reference::TensorMap> takeOutputs() const {
    reference::TensorMap results;
    for (size_t i = 0; i < outputs.size(); ++i) {
      const TensorSpec &spec = program.outputs[i];
      if (!outputs[i].isIntactBefore())
        return internalError("memory before output " + spec.name +
                             " was written");
      results[spec.name] = copyOut(spec, extents, outputs[i].data());
    }
    for (size_t i = 0; i < states.size(); ++i)
      results[program.states[i].name] =
          copyOut(program.states[i], extents, states[i].data());
    return results;
  }

private:
  void takeExtents(const TensorSpec &spec, const std::vector<int64_t> &shape) {
    for (size_t d = 0; d < spec.shape.size(); ++d)
      if (const Dim &dim = spec.shape[d]; dim.symbol >= 0)
        extents[size_t(dim.symbol)] = (shape[d] - dim.plus) / dim.factor;
  }

  void *resolve(const BufferRef &ref, char *arena) const {
    switch (ref.kind) {
    case BufferKind::Input:
      return inputs[ref.index].data() + ref.offset;
    case BufferKind::Output:
      return outputs[ref.index].data() + ref.offset;
    case BufferKind::Derived:
      return derived[ref.index].data() + ref.offset;
    case BufferKind::Arena:
      return arena + ref.offset;
    case BufferKind::State:
      return states[ref.index].data() + ref.offset;
    }
    return nullptr;
  }

  const Program &program;
  const TargetVariant &target;
  std::vector<int64_t> extents;
  std::vector<GuardedBuffer> inputs, derived, states, outputs;
};

bool canRun(std::string_view isa) {
  __builtin_cpu_init();
  return isa == "scalar" ||
         (isa == "avx512" && __builtin_cpu_supports("x86-64-v4")) ||
         (isa == "avx2" && __builtin_cpu_supports("avx2") &&
          __builtin_cpu_supports("fma"));
}

} // namespace

std::vector<std::string> runnableLevels(const Program &program) {
  std::vector<std::string> levels;
  for (const ExecutableEntry &entry : program.findTarget("cpu")->executables)
    if (canRun(entry.isa))
      levels.push_back(entry.isa);
  return levels;
}

CpuRunner::CpuRunner(std::shared_ptr<const Program> program, void *library)
    : program(std::move(program)), library(library) {}
CpuRunner::CpuRunner(CpuRunner &&other) noexcept
    : program(std::move(other.program)),
      library(std::exchange(other.library, nullptr)) {}
CpuRunner::~CpuRunner() {
  if (library)
    ::dlclose(library);
}

Result<CpuRunner> CpuRunner::open(std::shared_ptr<const Program> program,
                                  const std::string &isa) {
  for (const ExecutableEntry &entry : program->findTarget("cpu")->executables) {
    if (entry.isa != isa)
      continue;
    int file = ::memfd_create("betz-test", MFD_CLOEXEC);
    if (file < 0)
      return unavailable("memfd_create failed");
    Status written =
        writeAll(file, entry.code.bytes.data(), entry.code.bytes.size());
    std::string path = fmt::format("/proc/self/fd/{}", file);
    void *library = written.isOk()
                        ? ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)
                        : nullptr;
    ::close(file);
    if (!library)
      return internalError(
          fmt::format("cannot load {} code: {}", isa, ::dlerror()));
    return CpuRunner(std::move(program), library);
  }
  return notFound("no code for " + isa);
}

Result<reference::TensorMap> CpuRunner::run(const reference::TensorMap &inputs,
                                            TaskCut cut,
                                            size_t firstPlan) const {
  Step step(*program);
  BETZ_RETURN_IF_ERROR(step.bind(inputs));
  const LaunchPlan *plan = step.findPlan(firstPlan);
  if (!plan)
    return invalidArgument("no bucket is large enough");
  GuardedBuffer arena(plan->arenaBytes);
  std::mt19937_64 random(cut.seed);
  for (const Launch &launch : plan->launches) {
    const KernelSpecEntry &kernel =
        program->findTarget("cpu")->kernels[launch.kernel];
    auto function =
        reinterpret_cast<CpuKernelFn>(::dlsym(library, kernel.code.c_str()));
    if (!function)
      return internalError("the code lacks " + kernel.code);
    step.launch(launch, function, arena.data(), cut, random);
  }
  if (!arena.isIntactBefore())
    return internalError("memory before the arena was written");
  return step.takeOutputs();
}

} // namespace betz
