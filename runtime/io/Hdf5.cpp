#include "runtime/io/Hdf5.h"
#include "runtime/base/File.h"
#include "runtime/io/Hdf5Internal.h"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <mutex>
#include <new>

namespace betz {
namespace hdf5 {

namespace {

std::mutex libraryMutex;
/// How often this thread holds libraryMutex. Not std::recursive_mutex, whose
/// owner a forked child is not: rehearse() forks while it holds the lock.
thread_local int holds = 0;

} // namespace

LibraryLock::~LibraryLock() {
  if (--holds == 0)
    libraryMutex.unlock();
}

LibraryLock::LibraryLock() {
  if (holds++ == 0)
    libraryMutex.lock();
  static const bool initialised = [] {
    // At exit the library would close again what a full disk kept it from
    // closing, and crash.
    H5dont_atexit();
    H5open();
    // A file must not make Betz load code.
    H5PLset_loading_state(0);
    return true;
  }();
  (void)initialised;
  // The setting is per thread in libraries built thread-safe.
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
  H5Eclear2(H5E_DEFAULT);
}

namespace {

/// The system's own words where the library wraps them in a paragraph of
/// numbers; one line in any case.
std::string shorten(std::string reason) {
  constexpr std::string_view kMark = "error message = '";
  if (size_t mark = reason.find(kMark); mark != std::string::npos) {
    reason.erase(0, mark + kMark.size());
    reason.erase(std::min(reason.find('\''), reason.size()));
  }
  std::replace(reason.begin(), reason.end(), '\n', ' ');
  return reason;
}

} // namespace

std::string latestReason() {
  std::string reason;
  auto keep = [](unsigned, const H5E_error2_t *error, void *into) -> herr_t {
    *static_cast<std::string *>(into) = error->desc ? error->desc : "";
    return 0;
  };
  // Upward walks from the innermost failure; downward ends with it.
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_DOWNWARD, keep, &reason);
  H5Eclear2(H5E_DEFAULT);
  return reason.empty() ? "no reason given" : shorten(std::move(reason));
}

} // namespace hdf5

namespace {

using hdf5::Handle;
using hdf5::latestReason;
using hdf5::LibraryLock;

/// Deflate shrinks at most 1032-fold; what claims more is a bad size.
constexpr uint64_t kMaxCompression = 1100;
constexpr uint64_t kMaxChunkBytes = uint64_t(1) << 30;

struct OpenDataset {
  Handle dataset;
  Handle type;
  Handle space;
  Hdf5Info info;
  /// Product of the extents.
  uint64_t elements;
};

Hdf5Class classOf(hid_t type) {
  switch (H5Tget_class(type)) {
  case H5T_INTEGER:
    return Hdf5Class::Integer;
  case H5T_FLOAT:
    return Hdf5Class::Float;
  case H5T_STRING:
    return Hdf5Class::String;
  case H5T_ENUM:
    return H5Tget_size(type) == 1 ? Hdf5Class::Bool : Hdf5Class::Other;
  default:
    return Hdf5Class::Other;
  }
}

/// Whether the stored bytes can hold the claimed elements; the reason if not.
std::string findBadStorage(const OpenDataset &open, uint64_t fileBytes) {
  uint64_t needed = H5Tget_size(open.type.get());
  if (__builtin_mul_overflow(needed, open.elements, &needed))
    return "its shape overflows";
  if (needed == 0)
    return "";
  Handle plist(H5Dget_create_plist(open.dataset.get()), H5Pclose);
  H5D_layout_t layout = H5Pget_layout(plist.get());
  uint64_t stored = H5Dget_storage_size(open.dataset.get());
  if (layout == H5D_COMPACT)
    return stored < needed ? "its storage is smaller than its shape" : "";
  if (layout == H5D_CONTIGUOUS) {
    haddr_t offset = H5Dget_offset(open.dataset.get());
    if (offset == HADDR_UNDEF)
      return "its data are absent or in another file";
    if (stored < needed || stored > fileBytes || offset > fileBytes - stored)
      return fmt::format("its shape needs {} bytes at offset {} of a file of "
                         "{} bytes",
                         needed, offset, fileBytes);
    return "";
  }
  if (layout != H5D_CHUNKED)
    return "it is stored in other files (virtual)";
  hsize_t chunk[H5S_MAX_RANK];
  int rank = H5Pget_chunk(plist.get(), H5S_MAX_RANK, chunk);
  uint64_t chunkBytes = H5Tget_size(open.type.get());
  for (int i = 0; i < rank; ++i)
    if (__builtin_mul_overflow(chunkBytes, chunk[i], &chunkBytes) ||
        chunkBytes > kMaxChunkBytes)
      return "its chunks are larger than 1 GiB";
  if (stored > fileBytes || needed / kMaxCompression > stored + chunkBytes)
    return fmt::format("its shape needs {} bytes but {} are stored", needed,
                       stored);
  for (int i = 0; i < H5Pget_nfilters(plist.get()); ++i) {
    unsigned flags = 0, config = 0;
    size_t values = 0;
    char name[64] = "";
    H5Z_filter_t filter =
        H5Pget_filter2(plist.get(), unsigned(i), &flags, &values, nullptr,
                       sizeof(name), name, &config);
    if (filter < 0 || H5Zfilter_avail(filter) <= 0)
      return fmt::format("it is compressed with filter {} {}, which is not "
                         "supported; rewrite it: h5repack -f GZIP=4 IN OUT",
                         filter, name);
  }
  return "";
}

Result<OpenDataset> openDataset(hid_t file, const std::string &path,
                                uint64_t fileBytes) {
  OpenDataset open{{H5Dopen2(file, path.c_str(), H5P_DEFAULT), H5Dclose},
                   {H5I_INVALID_HID, H5Tclose},
                   {H5I_INVALID_HID, H5Sclose},
                   {},
                   1};
  if (!open.dataset.isOpen())
    return dataLoss(fmt::format("is no readable dataset ({})", latestReason()));
  open.type = Handle(H5Dget_type(open.dataset.get()), H5Tclose);
  open.space = Handle(H5Dget_space(open.dataset.get()), H5Sclose);
  hsize_t extents[H5S_MAX_RANK];
  int rank = H5Sget_simple_extent_dims(open.space.get(), extents, nullptr);
  if (!open.type.isOpen() || rank < 0)
    return dataLoss(
        fmt::format("has no usable type or shape ({})", latestReason()));
  open.info.elements = classOf(open.type.get());
  if (H5Sget_simple_extent_type(open.space.get()) == H5S_NULL)
    open.elements = 0;
  for (int i = 0; i < rank; ++i) {
    if (extents[i] > INT64_MAX ||
        __builtin_mul_overflow(open.elements, extents[i], &open.elements))
      return dataLoss("has a shape that overflows");
    open.info.shape.push_back(int64_t(extents[i]));
  }
  std::string bad = findBadStorage(open, fileBytes);
  if (!bad.empty())
    return dataLoss(fmt::format("cannot be read: {}", bad));
  return open;
}

template <typename T> Status allocate(std::vector<T> &values, uint64_t count) {
  try {
    values.resize(count);
  } catch (const std::bad_alloc &) {
    return resourceExhausted(
        fmt::format("needs {} bytes of memory", count * sizeof(T)));
  } catch (const std::length_error &) {
    return resourceExhausted(fmt::format("holds {} elements", count));
  }
  return Status::ok();
}

/// Reads the selection `space` of `count` elements; an empty one reads nothing.
template <typename T>
Result<std::vector<T>> readElements(const OpenDataset &open, hid_t memoryType,
                                    hid_t space, uint64_t count) {
  std::vector<T> values;
  BETZ_RETURN_IF_ERROR(allocate(values, count));
  if (count == 0)
    return values;
  hsize_t extent = count;
  Handle memory(H5Screate_simple(1, &extent, nullptr), H5Sclose);
  if (H5Dread(open.dataset.get(), memoryType, memory.get(), space, H5P_DEFAULT,
              values.data()) < 0)
    return dataLoss(fmt::format("cannot be read: {}; is the file complete?",
                                latestReason()));
  return values;
}

std::string withoutPadding(const char *text, size_t size) {
  std::string value(text, strnlen(text, size));
  value.erase(value.find_last_not_of(' ') + 1);
  return value;
}

Result<std::vector<std::string>> readVariable(const OpenDataset &open) {
  Handle type(H5Tcopy(open.type.get()), H5Tclose);
  BETZ_ASSIGN_OR_RETURN(
      std::vector<char *> raw,
      (readElements<char *>(open, type.get(), H5S_ALL, open.elements)));
  std::vector<std::string> values;
  for (const char *text : raw)
    values.emplace_back(text ? text : "");
  if (!raw.empty())
    H5Dvlen_reclaim(type.get(), open.space.get(), H5P_DEFAULT, raw.data());
  return values;
}

Result<std::vector<std::string>> readFixed(const OpenDataset &open) {
  size_t width = H5Tget_size(open.type.get());
  // One element of the memory type is `width` bytes.
  std::vector<char> raw;
  BETZ_RETURN_IF_ERROR(allocate(raw, width * open.elements));
  if (open.elements > 0 && H5Dread(open.dataset.get(), open.type.get(), H5S_ALL,
                                   H5S_ALL, H5P_DEFAULT, raw.data()) < 0)
    return dataLoss(fmt::format("cannot be read: {}", latestReason()));
  std::vector<std::string> values;
  for (uint64_t i = 0; i < open.elements; ++i)
    values.push_back(withoutPadding(raw.data() + i * width, width));
  return values;
}

Result<std::vector<int64_t>> readBools(const OpenDataset &open) {
  Handle type(H5Tget_native_type(open.type.get(), H5T_DIR_ASCEND), H5Tclose);
  BETZ_ASSIGN_OR_RETURN(
      std::vector<int8_t> raw,
      (readElements<int8_t>(open, type.get(), H5S_ALL, open.elements)));
  return std::vector<int64_t>(raw.begin(), raw.end());
}

/// The attribute opened with its type, if it is one element of `wanted`.
struct OpenAttribute {
  Handle attribute;
  Handle type;
};
std::optional<OpenAttribute>
openAttribute(hid_t file, const std::string &object, const char *name) {
  if (H5Aexists_by_name(file, object.c_str(), name, H5P_DEFAULT) <= 0)
    return std::nullopt;
  OpenAttribute open{
      {H5Aopen_by_name(file, object.c_str(), name, H5P_DEFAULT, H5P_DEFAULT),
       H5Aclose},
      {H5I_INVALID_HID, H5Tclose}};
  if (!open.attribute.isOpen())
    return std::nullopt;
  open.type = Handle(H5Aget_type(open.attribute.get()), H5Tclose);
  Handle space(H5Aget_space(open.attribute.get()), H5Sclose);
  if (!open.type.isOpen() || H5Sget_simple_extent_npoints(space.get()) != 1)
    return std::nullopt;
  return open;
}

} // namespace

Hdf5File::Hdf5File(std::string name, int64_t id, uint64_t bytes)
    : name(std::move(name)), file(id), fileBytes(bytes) {}

Hdf5File::Hdf5File(Hdf5File &&other) noexcept
    : name(std::move(other.name)), file(std::exchange(other.file, -1)),
      fileBytes(other.fileBytes) {}

Hdf5File &Hdf5File::operator=(Hdf5File &&other) noexcept {
  std::swap(name, other.name);
  std::swap(file, other.file);
  std::swap(fileBytes, other.fileBytes);
  return *this;
}

Hdf5File::~Hdf5File() {
  if (file < 0)
    return;
  LibraryLock lock;
  H5Fclose(file);
}

std::string Hdf5File::locate(const std::string &path,
                             std::string_view text) const {
  return fmt::format("{}: {}: {}", name, path, text);
}

Result<Hdf5File> Hdf5File::open(const std::filesystem::path &path) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error))
    return invalidArgument(fmt::format(
        "{}: is a folder; recordings are single HDF5 files (export Zarr with "
        "pynwb's NWBHDF5IO)",
        path.string()));
  // Mapping says why a file cannot be opened better than the library does.
  BETZ_ASSIGN_OR_RETURN(MappedFile mapping, MappedFile::open(path));
  uint64_t bytes = mapping.bytes().size();
  LibraryLock lock;
  if (H5Fis_hdf5(path.c_str()) <= 0)
    return dataLoss(
        fmt::format("{}: is not an HDF5 file; give a recording in NWB format",
                    path.string()));
  Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
  // Locks fail on read-only and network mounts, and reading needs none.
  H5Pset_file_locking(access.get(), false, true);
  H5Pset_fclose_degree(access.get(), H5F_CLOSE_STRONG);
  hid_t id = H5Fopen(path.c_str(), H5F_ACC_RDONLY, access.get());
  if (id < 0)
    return dataLoss(fmt::format("{}: is damaged or incomplete ({}); copy it "
                                "again",
                                path.string(), latestReason()));
  return Hdf5File(path.string(), id, bytes);
}

Result<Hdf5Kind> Hdf5File::kindOf(const std::string &path) const {
  LibraryLock lock;
  for (size_t slash = path.find('/', 1);; slash = path.find('/', slash + 1)) {
    std::string part = path.substr(0, slash);
    if (part.size() > 1 &&
        (H5Lexists(file, part.c_str(), H5P_DEFAULT) <= 0 ||
         H5Oexists_by_name(file, part.c_str(), H5P_DEFAULT) <= 0))
      return Hdf5Kind::Missing;
    if (slash == std::string::npos)
      break;
  }
  Handle object(H5Oopen(file, path.c_str(), H5P_DEFAULT), H5Oclose);
  if (!object.isOpen())
    return dataLoss(
        locate(path, fmt::format("is damaged ({})", latestReason())));
  switch (H5Iget_type(object.get())) {
  case H5I_GROUP:
    return Hdf5Kind::Group;
  case H5I_DATASET:
    return Hdf5Kind::Dataset;
  default:
    return Hdf5Kind::Missing;
  }
}

Result<std::vector<std::string>>
Hdf5File::children(const std::string &group) const {
  LibraryLock lock;
  std::vector<std::string> names;
  auto add = [](hid_t, const char *child, const H5L_info_t *,
                void *into) -> herr_t {
    static_cast<std::vector<std::string> *>(into)->emplace_back(child);
    return 0;
  };
  if (H5Literate_by_name(file, group.c_str(), H5_INDEX_NAME, H5_ITER_INC,
                         nullptr, add, &names, H5P_DEFAULT) < 0)
    return dataLoss(
        locate(group, fmt::format("cannot be listed ({})", latestReason())));
  return names;
}

Result<Hdf5Info> Hdf5File::info(const std::string &dataset) const {
  LibraryLock lock;
  Result<OpenDataset> open = openDataset(file, dataset, fileBytes);
  if (!open.isOk())
    return dataLoss(locate(dataset, open.status().message()));
  return open->info;
}

template <typename T>
Result<std::vector<T>>
Hdf5File::readBlock(const std::string &dataset,
                    std::optional<std::pair<int64_t, int64_t>> rows) const {
  LibraryLock lock;
  Result<OpenDataset> open = openDataset(file, dataset, fileBytes);
  if (!open.isOk())
    return dataLoss(locate(dataset, open.status().message()));
  if (open->info.elements != Hdf5Class::Integer &&
      open->info.elements != Hdf5Class::Float)
    return dataLoss(locate(dataset, "does not hold numbers"));
  uint64_t count = open->elements;
  if (rows) {
    const std::vector<int64_t> &shape = open->info.shape;
    if (shape.empty() || rows->first < 0 || rows->second < 0 ||
        rows->first > shape[0] - rows->second)
      return dataLoss(locate(dataset, fmt::format("has no {} rows from row {}",
                                                  rows->second, rows->first)));
    std::vector<hsize_t> start(shape.size(), 0);
    std::vector<hsize_t> extent(shape.begin(), shape.end());
    start[0] = hsize_t(rows->first);
    extent[0] = hsize_t(rows->second);
    count = shape[0] == 0 ? 0 : count / uint64_t(shape[0]) * extent[0];
    H5Sselect_hyperslab(open->space.get(), H5S_SELECT_SET, start.data(),
                        nullptr, extent.data(), nullptr);
  }
  const hid_t type =
      std::is_same_v<T, float> ? H5T_NATIVE_FLOAT : H5T_NATIVE_DOUBLE;
  Result<std::vector<T>> values =
      readElements<T>(*open, type, open->space.get(), count);
  if (!values.isOk())
    return Status(values.status().getCode(),
                  locate(dataset, values.status().message()));
  return values;
}

Result<std::vector<double>>
Hdf5File::readDoubles(const std::string &dataset) const {
  return readBlock<double>(dataset, std::nullopt);
}

Result<std::vector<double>> Hdf5File::readRows(const std::string &dataset,
                                               int64_t first,
                                               int64_t count) const {
  return readBlock<double>(dataset, std::pair(first, count));
}

Result<std::vector<float>> Hdf5File::readFloats(const std::string &dataset,
                                                int64_t first,
                                                int64_t count) const {
  return readBlock<float>(dataset, std::pair(first, count));
}

Result<std::vector<int64_t>>
Hdf5File::readIntegers(const std::string &dataset) const {
  LibraryLock lock;
  Result<OpenDataset> open = openDataset(file, dataset, fileBytes);
  if (!open.isOk())
    return dataLoss(locate(dataset, open.status().message()));
  if (open->info.elements != Hdf5Class::Integer &&
      open->info.elements != Hdf5Class::Bool)
    return dataLoss(locate(dataset, "does not hold whole numbers"));
  Result<std::vector<int64_t>> values =
      open->info.elements == Hdf5Class::Bool
          ? readBools(*open)
          : readElements<int64_t>(*open, H5T_NATIVE_INT64, H5S_ALL,
                                  open->elements);
  if (!values.isOk())
    return Status(values.status().getCode(),
                  locate(dataset, values.status().message()));
  return values;
}

Result<std::vector<std::string>>
Hdf5File::readStrings(const std::string &dataset) const {
  LibraryLock lock;
  Result<OpenDataset> open = openDataset(file, dataset, fileBytes);
  if (!open.isOk())
    return dataLoss(locate(dataset, open.status().message()));
  if (open->info.elements != Hdf5Class::String)
    return dataLoss(locate(dataset, "does not hold text"));
  Result<std::vector<std::string>> values =
      H5Tis_variable_str(open->type.get()) > 0 ? readVariable(*open)
                                               : readFixed(*open);
  if (!values.isOk())
    return Status(values.status().getCode(),
                  locate(dataset, values.status().message()));
  return values;
}

std::optional<std::string> Hdf5File::stringAttribute(const std::string &object,
                                                     const char *name) const {
  LibraryLock lock;
  std::optional<OpenAttribute> open = openAttribute(file, object, name);
  if (!open || classOf(open->type.get()) != Hdf5Class::String)
    return std::nullopt;
  if (H5Tis_variable_str(open->type.get()) > 0) {
    char *text = nullptr;
    if (H5Aread(open->attribute.get(), open->type.get(), &text) < 0 || !text)
      return std::nullopt;
    std::string value = text;
    H5free_memory(text);
    return value;
  }
  std::vector<char> raw(H5Tget_size(open->type.get()));
  if (raw.size() > fileBytes ||
      H5Aread(open->attribute.get(), open->type.get(), raw.data()) < 0)
    return std::nullopt;
  return withoutPadding(raw.data(), raw.size());
}

std::optional<double> Hdf5File::numberAttribute(const std::string &object,
                                                const char *name) const {
  LibraryLock lock;
  std::optional<OpenAttribute> open = openAttribute(file, object, name);
  if (!open)
    return std::nullopt;
  Hdf5Class kind = classOf(open->type.get());
  double value = 0;
  if ((kind != Hdf5Class::Integer && kind != Hdf5Class::Float) ||
      H5Aread(open->attribute.get(), H5T_NATIVE_DOUBLE, &value) < 0)
    return std::nullopt;
  return value;
}

} // namespace betz
