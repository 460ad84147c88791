#include "codegen/cuda/Nvrtc.h"
#include "codegen/cuda/Source.h"
#include "runtime/base/Options.h"

#include <fmt/format.h>
#include <memory>

namespace betz::cuda {

Result<const Nvrtc *> Nvrtc::load() {
  // Never unloaded: the library keeps memory that it frees nowhere.
  using Loaded = Result<std::unique_ptr<Nvrtc>>;
  static const Loaded &loaded = *new Loaded([]() -> Loaded {
    std::vector<const char *> candidates = {
        "libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so",
        "/usr/local/cuda/lib64/libnvrtc.so"};
    if (const std::string &named = environment().nvrtc; !named.empty())
      candidates = {named.c_str()};
    Result<DynamicLibrary> library = DynamicLibrary::open(candidates);
    if (!library.isOk())
      return std::move(library).status().withContext(
          "compiling for CUDA needs NVRTC, of the CUDA toolkit 12 or 13; "
          "BETZ_NVRTC may name it");
    std::unique_ptr<Nvrtc> nvrtc(new Nvrtc(std::move(library).value()));
    BETZ_RETURN_IF_ERROR(nvrtc->findFunctions());
    return nvrtc;
  }());
  if (!loaded.isOk())
    return loaded.status();
  return loaded.value().get();
}

Status Nvrtc::findFunctions() {
  BETZ_RETURN_IF_ERROR(library.find(createProgram, "nvrtcCreateProgram"));
  BETZ_RETURN_IF_ERROR(library.find(compileProgram, "nvrtcCompileProgram"));
  BETZ_RETURN_IF_ERROR(library.find(destroyProgram, "nvrtcDestroyProgram"));
  BETZ_RETURN_IF_ERROR(library.find(logSize, "nvrtcGetProgramLogSize"));
  BETZ_RETURN_IF_ERROR(library.find(getLog, "nvrtcGetProgramLog"));
  BETZ_RETURN_IF_ERROR(library.find(cubinSize, "nvrtcGetCUBINSize"));
  BETZ_RETURN_IF_ERROR(library.find(getCubin, "nvrtcGetCUBIN"));
  BETZ_RETURN_IF_ERROR(library.find(ptxSize, "nvrtcGetPTXSize"));
  BETZ_RETURN_IF_ERROR(library.find(getPtx, "nvrtcGetPTX"));
  BETZ_RETURN_IF_ERROR(library.find(getVersion, "nvrtcVersion"));
  return library.find(errorText, "nvrtcGetErrorString");
}

Status Nvrtc::check(int code, const char *what) const {
  if (code == 0)
    return Status::ok();
  return internalError(fmt::format("{}: {}", what, errorText(code)));
}

std::span<const char *const> Nvrtc::flags() {
  static constexpr const char *kFlags[] = {
      "--std=c++17", "--extra-device-vectorization", "-default-device"};
  return kFlags;
}

std::string Nvrtc::version() const {
  int major = 0, minor = 0;
  getVersion(&major, &minor);
  return fmt::format("{}.{}", major, minor);
}

std::string Nvrtc::log(Handle program) const {
  size_t size = 0;
  if (logSize(program, &size) != 0 || size <= 1)
    return "";
  std::string text(size, '\0');
  getLog(program, text.data());
  text.resize(size - 1);
  return text;
}

Result<std::vector<std::byte>> Nvrtc::compile(const std::string &name,
                                              const std::string &source,
                                              const std::string &isa,
                                              std::string &said) const {
  std::vector<const char *> names, texts;
  for (const auto &[header, text] : kernelHeaders()) {
    names.push_back(header.data());
    texts.push_back(text.data());
  }
  Handle raw = nullptr;
  BETZ_RETURN_IF_ERROR(
      check(createProgram(&raw, source.c_str(), (name + ".cu").c_str(),
                          int(names.size()), texts.data(), names.data()),
            "NVRTC could not start"));
  auto destroy = [this](Handle *program) { destroyProgram(program); };
  std::unique_ptr<Handle, decltype(destroy)> program(&raw, destroy);

  const std::string architecture = "--gpu-architecture=" + isa;
  std::vector<const char *> options = {architecture.c_str()};
  options.insert(options.end(), flags().begin(), flags().end());
  const int result = compileProgram(raw, int(options.size()), options.data());
  said = log(raw);
  if (result != 0)
    return internalError(fmt::format("NVRTC refuses kernel {} for {}: {}", name,
                                     isa, errorText(result)));
  const bool ptx = isa.starts_with("compute_");
  size_t size = 0;
  BETZ_RETURN_IF_ERROR(check(ptx ? ptxSize(raw, &size) : cubinSize(raw, &size),
                             "NVRTC gave no code"));
  std::vector<std::byte> code(size);
  char *to = reinterpret_cast<char *>(code.data());
  BETZ_RETURN_IF_ERROR(
      check(ptx ? getPtx(raw, to) : getCubin(raw, to), "NVRTC gave no code"));
  return code;
}

} // namespace betz::cuda
