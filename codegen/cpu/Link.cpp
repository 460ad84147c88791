//===- Link.cpp - The linker as a subprocess ------------------------------===//
#include "codegen/cpu/LlvmObject.h"

#include "runtime/base/File.h"
#include "runtime/base/Options.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Program.h"

#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>

namespace betz::cpu {

namespace {

/// A fresh folder, removed with what is in it.
class TemporaryFolder {
public:
  static Result<TemporaryFolder> create() {
    std::error_code error;
    std::filesystem::path base = std::filesystem::temp_directory_path(error);
    std::string pattern = (error ? "/tmp" : base.string()) + "/betz-XXXXXX";
    if (!::mkdtemp(pattern.data()))
      return unavailable(fmt::format(
          "cannot create a folder like {}; set TMPDIR to a writable one",
          pattern));
    return TemporaryFolder(pattern);
  }
  TemporaryFolder(TemporaryFolder &&other) noexcept
      : path(std::exchange(other.path, {})) {}
  ~TemporaryFolder() {
    std::error_code ignored;
    if (!path.empty())
      std::filesystem::remove_all(path, ignored);
  }
  std::filesystem::path operator/(std::string_view name) const {
    return path / name;
  }

private:
  explicit TemporaryFolder(std::filesystem::path path)
      : path(std::move(path)) {}
  std::filesystem::path path;
};

/// The linker that BETZ_LINKER names, else lld, else binutils'.
Result<std::string> findLinker() {
  const std::string &asked = environment().linker;
  std::vector<std::string> names = {"ld.lld", "ld.lld-19",
                                    "/usr/lib/llvm-19/bin/ld.lld", "ld"};
  if (!asked.empty())
    names = {asked};
  for (const std::string &name : names)
    // A name with a slash comes back as it is, there or not.
    if (llvm::ErrorOr<std::string> path = llvm::sys::findProgramByName(name);
        path && llvm::sys::fs::can_execute(*path))
      return *path;
  if (!asked.empty())
    return unavailable(
        fmt::format("BETZ_LINKER names {}, which is not there", asked));
  return unavailable("compiling for the CPU needs a linker: install lld or "
                     "binutils, or name one in BETZ_LINKER");
}

} // namespace

Result<std::vector<std::byte>>
linkShared(std::span<const std::vector<std::byte>> objects) {
  BETZ_ASSIGN_OR_RETURN(std::string linker, findLinker());
  BETZ_ASSIGN_OR_RETURN(TemporaryFolder folder, TemporaryFolder::create());
  std::string output = folder / "kernels.so", log = folder / "linker.log";
  std::vector<std::string> inputs;
  for (const std::vector<std::byte> &object : objects) {
    inputs.push_back(folder / fmt::format("kernels-{}.o", inputs.size()));
    BETZ_RETURN_IF_ERROR(writeFileAtomically(
        inputs.back(),
        std::string_view(reinterpret_cast<const char *>(object.data()),
                         object.size())));
  }
  std::vector<llvm::StringRef> arguments = {linker,
                                            "-shared",
                                            "--build-id=none",
                                            "--gc-sections",
                                            "--no-undefined",
                                            "-s",
                                            "-o",
                                            output};
  arguments.insert(arguments.end(), inputs.begin(), inputs.end());
  std::optional<llvm::StringRef> redirects[] = {std::nullopt, log, log};
  std::string error;
  int code = llvm::sys::ExecuteAndWait(linker, arguments, std::nullopt,
                                       redirects, 0, 0, &error);
  if (code != 0 || !std::filesystem::exists(output)) {
    Result<std::string> printed = readTextFile(log);
    return internalError(fmt::format(
        "{} made no library (exit code {}); name another linker in BETZ_LINKER"
        "{}{}{}",
        linker, code, error.empty() ? "" : ": " + error,
        printed.isOk() && !printed->empty() ? ": " : "",
        printed.isOk() ? llvm::StringRef(*printed).trim().str() : ""));
  }
  BETZ_ASSIGN_OR_RETURN(std::string bytes, readTextFile(output));
  auto data = reinterpret_cast<const std::byte *>(bytes.data());
  return std::vector<std::byte>(data, data + bytes.size());
}

} // namespace betz::cpu
