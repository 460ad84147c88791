#include "runtime/base/File.h"
#include "runtime/io/Hdf5.h"
#include "runtime/io/Hdf5Internal.h"

#include <algorithm>
#include <fmt/format.h>

namespace betz {
namespace {

using hdf5::Handle;
using hdf5::latestReason;
using hdf5::LibraryLock;

Status failed(const std::string &path) {
  return resourceExhausted(
      fmt::format("cannot write {} ({})", path, latestReason()));
}

/// Without the times that would make each run's bytes differ.
Handle creation(hid_t kind) {
  Handle plist(H5Pcreate(kind), H5Pclose);
  H5Pset_obj_track_times(plist.get(), false);
  return plist;
}

Handle makeSpace(const std::vector<int64_t> &shape) {
  if (shape.empty())
    return {H5Screate(H5S_SCALAR), H5Sclose};
  std::vector<hsize_t> extents(shape.begin(), shape.end());
  return {H5Screate_simple(int(extents.size()), extents.data(), nullptr),
          H5Sclose};
}

Handle variableText() {
  Handle type(H5Tcopy(H5T_C_S1), H5Tclose);
  H5Tset_size(type.get(), H5T_VARIABLE);
  H5Tset_cset(type.get(), H5T_CSET_UTF8);
  return type;
}

Handle boolType() {
  Handle type(H5Tenum_create(H5T_NATIVE_INT8), H5Tclose);
  int8_t no = 0, yes = 1;
  H5Tenum_insert(type.get(), "FALSE", &no);
  H5Tenum_insert(type.get(), "TRUE", &yes);
  return type;
}

hid_t fileType(Hdf5Integer type) {
  switch (type) {
  case Hdf5Integer::U8:
    return H5T_STD_U8LE;
  case Hdf5Integer::U16:
    return H5T_STD_U16LE;
  case Hdf5Integer::U32:
    return H5T_STD_U32LE;
  case Hdf5Integer::U64:
    return H5T_STD_U64LE;
  case Hdf5Integer::I32:
    return H5T_STD_I32LE;
  case Hdf5Integer::I64:
    break;
  }
  return H5T_STD_I64LE;
}

std::vector<const char *> pointers(const std::vector<std::string> &values) {
  std::vector<const char *> texts;
  for (const std::string &value : values)
    texts.push_back(value.c_str());
  return texts;
}

Handle linkCreation() {
  Handle plist(H5Pcreate(H5P_LINK_CREATE), H5Pclose);
  H5Pset_create_intermediate_group(plist.get(), 1);
  return plist;
}

/// The dataset, made and closed by the caller's handle.
Handle createDataset(hid_t file, const std::string &path, hid_t type,
                     const std::vector<int64_t> &shape, Hdf5Layout layout) {
  Handle plist = creation(H5P_DATASET_CREATE);
  if (layout.chunkRows > 0 && !shape.empty()) {
    std::vector<hsize_t> chunk(shape.begin(), shape.end());
    for (hsize_t &extent : chunk)
      extent = std::max<hsize_t>(extent, 1);
    chunk[0] = std::min<hsize_t>(chunk[0], hsize_t(layout.chunkRows));
    H5Pset_chunk(plist.get(), int(chunk.size()), chunk.data());
    if (layout.shuffle)
      H5Pset_shuffle(plist.get());
    if (layout.deflate > 0)
      H5Pset_deflate(plist.get(), unsigned(layout.deflate));
  }
  Handle space = makeSpace(shape);
  Handle links = linkCreation();
  return {H5Dcreate2(file, path.c_str(), type, space.get(), links.get(),
                     plist.get(), H5P_DEFAULT),
          H5Dclose};
}

} // namespace

Status Hdf5Writer::store(const std::string &path, int64_t fileType,
                         int64_t memoryType, const void *data,
                         const std::vector<int64_t> &shape, Hdf5Layout layout) {
  Handle dataset = createDataset(file, path, fileType, shape, layout);
  if (!dataset.isOpen())
    return failed(path);
  bool empty = std::count(shape.begin(), shape.end(), 0) > 0;
  if (!empty && H5Dwrite(dataset.get(), memoryType, H5S_ALL, H5S_ALL,
                         H5P_DEFAULT, data) < 0)
    return failed(path);
  return Status::ok();
}

Status Hdf5Writer::group(const std::string &path) {
  LibraryLock lock;
  Handle plist = creation(H5P_GROUP_CREATE);
  Handle links = linkCreation();
  Handle made(
      H5Gcreate2(file, path.c_str(), links.get(), plist.get(), H5P_DEFAULT),
      H5Gclose);
  return made.isOpen() ? Status::ok() : failed(path);
}

Status Hdf5Writer::doubles(const std::string &path,
                           std::span<const double> values,
                           const std::vector<int64_t> &shape,
                           Hdf5Layout layout) {
  LibraryLock lock;
  return store(path, H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, values.data(), shape,
               layout);
}

Status Hdf5Writer::floats(const std::string &path,
                          std::span<const float> values,
                          const std::vector<int64_t> &shape) {
  LibraryLock lock;
  return store(path, H5T_IEEE_F32LE, H5T_NATIVE_FLOAT, values.data(), shape);
}

Status Hdf5Writer::createDoubles(const std::string &path,
                                 const std::vector<int64_t> &shape,
                                 Hdf5Layout layout) {
  LibraryLock lock;
  Handle made = createDataset(file, path, H5T_IEEE_F64LE, shape, layout);
  return made.isOpen() ? Status::ok() : failed(path);
}

Status Hdf5Writer::writeRows(const std::string &path, int64_t firstRow,
                             std::span<const double> values) {
  if (values.empty())
    return Status::ok();
  LibraryLock lock;
  Handle dataset(H5Dopen2(file, path.c_str(), H5P_DEFAULT), H5Dclose);
  Handle space(H5Dget_space(dataset.get()), H5Sclose);
  hsize_t extents[H5S_MAX_RANK] = {};
  int rank = H5Sget_simple_extent_dims(space.get(), extents, nullptr);
  if (rank <= 0)
    return failed(path);
  hsize_t rowElements = 1;
  for (int i = 1; i < rank; ++i)
    rowElements *= extents[i];
  std::vector<hsize_t> start(size_t(rank), 0);
  start[0] = hsize_t(firstRow);
  extents[0] = values.size() / rowElements;
  hsize_t count = values.size();
  Handle memory(H5Screate_simple(1, &count, nullptr), H5Sclose);
  if (H5Sselect_hyperslab(space.get(), H5S_SELECT_SET, start.data(), nullptr,
                          extents, nullptr) < 0 ||
      H5Dwrite(dataset.get(), H5T_NATIVE_DOUBLE, memory.get(), space.get(),
               H5P_DEFAULT, values.data()) < 0)
    return failed(path);
  return Status::ok();
}

Status Hdf5Writer::integers(const std::string &path,
                            std::span<const int64_t> values,
                            const std::vector<int64_t> &shape,
                            Hdf5Integer type) {
  LibraryLock lock;
  return store(path, fileType(type), H5T_NATIVE_INT64, values.data(), shape);
}

Status Hdf5Writer::bools(const std::string &path,
                         const std::vector<bool> &values) {
  LibraryLock lock;
  std::vector<int8_t> bytes(values.begin(), values.end());
  Handle type = boolType();
  return store(path, type.get(), type.get(), bytes.data(),
               {int64_t(bytes.size())});
}

Status Hdf5Writer::strings(const std::string &path,
                           const std::vector<std::string> &values,
                           Hdf5Text kind) {
  LibraryLock lock;
  std::vector<int64_t> shape = {int64_t(values.size())};
  if (kind == Hdf5Text::Variable) {
    Handle type = variableText();
    return store(path, type.get(), type.get(), pointers(values).data(), shape);
  }
  size_t width = 1;
  for (const std::string &value : values)
    width = std::max(width, value.size());
  std::string padded;
  for (const std::string &value : values)
    padded += value + std::string(width - value.size(), '\0');
  Handle type(H5Tcopy(H5T_C_S1), H5Tclose);
  H5Tset_size(type.get(), width);
  H5Tset_strpad(type.get(), H5T_STR_NULLPAD);
  return store(path, type.get(), type.get(), padded.data(), shape);
}

Status Hdf5Writer::text(const std::string &path, const std::string &value) {
  LibraryLock lock;
  Handle type = variableText();
  const char *pointer = value.c_str();
  return store(path, type.get(), type.get(), &pointer, {});
}

Status Hdf5Writer::number(const std::string &path, double value) {
  LibraryLock lock;
  return store(path, H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, &value, {});
}

Status Hdf5Writer::storeAttribute(const std::string &object, const char *name,
                                  int64_t type, const void *data,
                                  int64_t count) {
  Handle space =
      makeSpace(count < 0 ? std::vector<int64_t>{} : std::vector{count});
  Handle attribute(H5Acreate_by_name(file, object.c_str(), name, type,
                                     space.get(), H5P_DEFAULT, H5P_DEFAULT,
                                     H5P_DEFAULT),
                   H5Aclose);
  if (!attribute.isOpen() || H5Awrite(attribute.get(), type, data) < 0)
    return failed(object + "." + name);
  return Status::ok();
}

Status Hdf5Writer::attribute(const std::string &object, const char *name,
                             const std::string &value) {
  LibraryLock lock;
  const char *pointer = value.c_str();
  return storeAttribute(object, name, variableText().get(), &pointer, -1);
}

Status Hdf5Writer::attribute(const std::string &object, const char *name,
                             double value) {
  LibraryLock lock;
  return storeAttribute(object, name, H5T_NATIVE_DOUBLE, &value, -1);
}

Status Hdf5Writer::attribute(const std::string &object, const char *name,
                             const std::vector<std::string> &values) {
  LibraryLock lock;
  return storeAttribute(object, name, variableText().get(),
                        pointers(values).data(), int64_t(values.size()));
}

Status Hdf5Writer::softLink(const std::string &path,
                            const std::string &target) {
  LibraryLock lock;
  Handle links = linkCreation();
  if (H5Lcreate_soft(target.c_str(), file, path.c_str(), links.get(),
                     H5P_DEFAULT) < 0)
    return failed(path);
  return Status::ok();
}

Status writeHdf5(const std::filesystem::path &path,
                 const std::function<Status(Hdf5Writer &)> &write) {
  return writeFileAtomically(path, [&](int fd) -> Status {
    LibraryLock lock;
    // HDF5 opens by name; this name is the descriptor's own file.
    std::string alias = fmt::format("/proc/self/fd/{}", fd);
    Handle plist(H5Pcreate(H5P_FILE_CREATE), H5Pclose);
    H5Pset_obj_track_times(plist.get(), false);
    Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
    H5Pset_fclose_degree(access.get(), H5F_CLOSE_STRONG);
    Handle file(
        H5Fcreate(alias.c_str(), H5F_ACC_TRUNC, plist.get(), access.get()),
        H5Fclose);
    if (!file.isOpen())
      return failed("/");
    Hdf5Writer writer(file.get());
    BETZ_RETURN_IF_ERROR(write(writer));
    if (H5Fflush(file.get(), H5F_SCOPE_LOCAL) < 0 ||
        H5Fclose(file.release()) < 0)
      return failed("/");
    return Status::ok();
  });
}

} // namespace betz
