#include "codegen/cuda/KernelCache.h"
#include "codegen/cuda/Source.h"
#include "runtime/base/File.h"
#include "runtime/base/Hash.h"
#include "runtime/base/Log.h"
#include "runtime/base/Options.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace betz::cuda {

namespace {

/// A file is the code behind its hash.
std::vector<std::byte> readEntry(const std::filesystem::path &path) {
  std::error_code missing;
  if (!std::filesystem::exists(path, missing))
    return {};
  Result<std::string> text = readTextFile(path);
  std::string_view content;
  if (text.isOk())
    content = text.value();
  std::string_view code = content.substr(std::min<size_t>(content.size(), 16));
  if (code.empty() || toHex(hashBytes(code)) != content.substr(0, 16)) {
    logWarn("cuda", "{} is damaged; compiling its kernel anew", path.string());
    return {};
  }
  std::vector<std::byte> bytes(code.size());
  std::memcpy(bytes.data(), code.data(), code.size());
  return bytes;
}

Status writeInto(const std::filesystem::path &folder,
                 const std::string &fileName, std::string_view text) {
  std::error_code failed;
  std::filesystem::create_directories(folder, failed);
  if (failed)
    return unavailable(
        fmt::format("cannot make {}: {}", folder.string(), failed.message()));
  return writeFileAtomically(folder / fileName, text);
}

} // namespace

std::filesystem::path KernelCache::standardFolder() {
  if (const std::optional<std::string> &folder = betz::environment().cache)
    return *folder;
  if (const char *folder = std::getenv("XDG_CACHE_HOME"); folder && *folder)
    return std::filesystem::path(folder) / "betz";
  if (const char *home = std::getenv("HOME"); home && *home)
    return std::filesystem::path(home) / ".cache" / "betz";
  return {};
}

KernelCache::KernelCache(std::filesystem::path folder,
                         std::string_view compilerVersion)
    : folder(std::move(folder)), environment(hashBytes(compilerVersion)) {
  for (const auto &[header, text] : kernelHeaders())
    environment = hashBytes(text, hashBytes(header, environment));
}

void KernelCache::writeEntry(const std::filesystem::path &path,
                             const std::vector<std::byte> &code) const {
  std::string_view bytes(reinterpret_cast<const char *>(code.data()),
                         code.size());
  Status written = writeInto(folder, path.filename(),
                             toHex(hashBytes(bytes)) + std::string(bytes));
  if (!written.isOk() && !hasWarned.exchange(true))
    logWarn("cuda",
            "compiled kernels are not kept: {}; name another folder in "
            "BETZ_CACHE",
            written.message());
}

Result<std::filesystem::path> KernelCache::keep(const std::string &fileName,
                                                std::string_view text) const {
  if (!folder.empty() && writeInto(folder, fileName, text).isOk())
    return folder / fileName;
  std::error_code failed;
  std::filesystem::path temporary =
      std::filesystem::temp_directory_path(failed);
  if (failed)
    return unavailable("no folder for temporary files: " + failed.message());
  BETZ_RETURN_IF_ERROR(writeInto(temporary, fileName, text));
  return temporary / fileName;
}

Result<std::vector<std::byte>> KernelCache::find(
    const std::string &name, const std::string &source, const std::string &isa,
    const std::function<Result<std::vector<std::byte>>()> &compile) const {
  if (folder.empty())
    return compile();
  const uint64_t key = hashBytes(source, hashBytes(isa, environment));
  const std::filesystem::path path =
      folder / (name + "-" + isa + "-" + toHex(key) + ".bin");
  if (std::vector<std::byte> code = readEntry(path); !code.empty())
    return code;
  BETZ_ASSIGN_OR_RETURN(std::vector<std::byte> code, compile());
  writeEntry(path, code);
  return code;
}

} // namespace betz::cuda
