//===- Hdf5.h - HDF5 files, read and written without surprises ------------===//
//
// The rest of Betz sees HDF5 through this header only. The library's error
// stack is silenced and every failure is a Status with the file and the path
// inside it. HDF5 is not safe to call from two threads, so each call holds one
// lock for the whole process; the classes may be used from several threads.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/base/Status.h"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace betz {

enum class Hdf5Kind { Missing, Group, Dataset };

/// What a dataset's elements are. Bool is HDF5's enum {FALSE, TRUE}.
enum class Hdf5Class { Integer, Float, Bool, String, Other };

struct Hdf5Info {
  Hdf5Class elements = Hdf5Class::Other;
  /// Empty for a scalar.
  std::vector<int64_t> shape;

  /// The first extent, or 1 for a scalar.
  int64_t rows() const { return shape.empty() ? 1 : shape[0]; }
};

/// A file open for reading. Paths are absolute ("/units/id") and followed
/// through links. Sizes are checked against the file before memory is taken.
class Hdf5File {
public:
  static Result<Hdf5File> open(const std::filesystem::path &path);
  Hdf5File(Hdf5File &&other) noexcept;
  Hdf5File &operator=(Hdf5File &&other) noexcept;
  ~Hdf5File();

  /// Missing also for a link that leads nowhere; an error for damage.
  Result<Hdf5Kind> kindOf(const std::string &path) const;
  /// Names of a group's members, sorted.
  Result<std::vector<std::string>> children(const std::string &group) const;
  Result<Hdf5Info> info(const std::string &dataset) const;

  /// All elements, row-major, from any integer or float type.
  Result<std::vector<double>> readDoubles(const std::string &dataset) const;
  /// The same for rows [first, first + count) of the first extent.
  Result<std::vector<double>> readRows(const std::string &dataset,
                                       int64_t first, int64_t count) const;
  /// The same of rows [first, first + count), rounded to f32.
  Result<std::vector<float>> readFloats(const std::string &dataset,
                                        int64_t first, int64_t count) const;
  /// All elements from any integer type; bools as 0 and 1. A uint64 above
  /// INT64_MAX reads as INT64_MAX.
  Result<std::vector<int64_t>> readIntegers(const std::string &dataset) const;
  /// All elements, from fixed or variable length, without padding.
  Result<std::vector<std::string>>
  readStrings(const std::string &dataset) const;

  /// Attributes of a group or dataset; nothing when absent or of another type.
  std::optional<std::string> stringAttribute(const std::string &object,
                                             const char *name) const;
  std::optional<double> numberAttribute(const std::string &object,
                                        const char *name) const;

  /// "file: path: text" as every error of this file reads.
  std::string locate(const std::string &path, std::string_view text) const;

private:
  Hdf5File(std::string name, int64_t id, uint64_t bytes);
  template <typename T>
  Result<std::vector<T>>
  readBlock(const std::string &dataset,
            std::optional<std::pair<int64_t, int64_t>> rows) const;

  std::string name;
  int64_t file = -1;
  uint64_t fileBytes = 0;
};

/// How a dataset is stored: contiguous, or chunks of so many rows, then
/// optionally shuffled and deflated (1-9).
struct Hdf5Layout {
  int64_t chunkRows = 0;
  bool shuffle = false;
  int deflate = 0;
};

enum class Hdf5Integer { U8, U16, U32, U64, I32, I64 };
enum class Hdf5Text { Variable, Fixed };

/// Writes one file. The same calls give the same bytes: no times are stored.
/// Groups on the way to a path are made when missing.
class Hdf5Writer {
public:
  Status group(const std::string &path);
  Status doubles(const std::string &path, std::span<const double> values,
                 const std::vector<int64_t> &shape, Hdf5Layout layout = {});
  Status floats(const std::string &path, std::span<const float> values,
                const std::vector<int64_t> &shape);
  /// A dataset whose rows are filled by writeRows, in any order.
  Status createDoubles(const std::string &path,
                       const std::vector<int64_t> &shape,
                       Hdf5Layout layout = {});
  Status writeRows(const std::string &path, int64_t firstRow,
                   std::span<const double> values);
  Status integers(const std::string &path, std::span<const int64_t> values,
                  const std::vector<int64_t> &shape,
                  Hdf5Integer type = Hdf5Integer::I64);
  Status bools(const std::string &path, const std::vector<bool> &values);
  Status strings(const std::string &path,
                 const std::vector<std::string> &values,
                 Hdf5Text kind = Hdf5Text::Variable);
  /// Scalars.
  Status text(const std::string &path, const std::string &value);
  Status number(const std::string &path, double value);

  Status attribute(const std::string &object, const char *name,
                   const std::string &value);
  Status attribute(const std::string &object, const char *name, double value);
  Status attribute(const std::string &object, const char *name,
                   const std::vector<std::string> &values);
  Status softLink(const std::string &path, const std::string &target);

private:
  friend Status writeHdf5(const std::filesystem::path &,
                          const std::function<Status(Hdf5Writer &)> &);
  explicit Hdf5Writer(int64_t file) : file(file) {}
  Status store(const std::string &path, int64_t fileType, int64_t memoryType,
               const void *data, const std::vector<int64_t> &shape,
               Hdf5Layout layout = {});
  Status storeAttribute(const std::string &object, const char *name,
                        int64_t type, const void *data, int64_t count);
  int64_t file;
};

/// Makes a file with `write` and renames it to `path` when all succeeded;
/// otherwise `path` is as it was.
Status writeHdf5(const std::filesystem::path &path,
                 const std::function<Status(Hdf5Writer &)> &write);

} // namespace betz
