#include "codegen/cuda/KernelCache.h"
#include "codegen/cuda/Source.h"
#include "runtime/base/File.h"
#include "runtime/base/Hash.h"
#include "runtime/base/Log.h"

#include <cstdlib>
#include <cstring>

namespace betz::cuda {

namespace {

std::filesystem::path cacheFolder() {
  if (const char *folder = std::getenv("BETZ_CACHE"))
    return folder;
  if (const char *folder = std::getenv("XDG_CACHE_HOME"); folder && *folder)
    return std::filesystem::path(folder) / "betz";
  if (const char *home = std::getenv("HOME"); home && *home)
    return std::filesystem::path(home) / ".cache" / "betz";
  return {};
}

/// A file is the code behind its hash.
std::vector<std::byte> readEntry(const std::filesystem::path &path) {
  std::error_code missing;
  if (!std::filesystem::is_regular_file(path, missing))
    return {};
  Result<std::string> text = readTextFile(path);
  if (!text.isOk() || text.value().size() <= 16)
    return {};
  std::string_view content = text.value();
  std::string_view code = content.substr(16);
  if (toHex(hashBytes(code)) != content.substr(0, 16))
    return {};
  std::vector<std::byte> bytes(code.size());
  std::memcpy(bytes.data(), code.data(), code.size());
  return bytes;
}

void writeEntry(const std::filesystem::path &path,
                const std::vector<std::byte> &code) {
  std::string_view bytes(reinterpret_cast<const char *>(code.data()),
                         code.size());
  std::error_code failed;
  std::filesystem::create_directories(path.parent_path(), failed);
  const std::string content = toHex(hashBytes(bytes)) + std::string(bytes);
  Status written = failed ? internalError(failed.message())
                          : writeFileAtomically(path, content);
  if (!written.isOk())
    logDebug("cuda", "kernel cache: {}", written.message());
}

} // namespace

KernelCache::KernelCache(std::string_view compilerVersion)
    : folder(cacheFolder()), environment(hashBytes(compilerVersion)) {
  for (const auto &[header, text] : kernelHeaders())
    environment = hashBytes(text, hashBytes(header, environment));
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
