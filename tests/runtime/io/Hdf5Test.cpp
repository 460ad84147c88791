#include "runtime/io/Hdf5.h"
#include "runtime/base/File.h"
#include "tests/runtime/io/OddFiles.h"

#include <cmath>
#include <cstring>
#include <fstream>
#include <gmock/gmock.h>
#include <limits>
#include <random>
#include <thread>

using namespace betz;
using namespace betz::test;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

Hdf5File openFile(const std::filesystem::path &path) {
  Result<Hdf5File> file = Hdf5File::open(path);
  EXPECT_TRUE(file.isOk()) << file.status().message();
  return std::move(*file);
}

void writeBytes(const std::filesystem::path &path, const std::string &bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

TEST(Hdf5, IntegersOfEveryWidth) {
  TemporaryFolder folder;
  using enum Hdf5Integer;
  makeFile(folder / "a.h5", [](Hdf5Writer &w) {
    int name = 0;
    for (Hdf5Integer type : {U8, U16, U32, U64, I32, I64})
      must(w.integers(std::to_string(name++), std::vector<int64_t>{0, 7, 255},
                      {3}, type));
    must(w.integers("negative", std::vector<int64_t>{-5}, {1}));
    must(w.bools("flags", {true, false, true}));
  });
  Hdf5File file = openFile(folder / "a.h5");
  for (int name = 0; name < 6; ++name)
    EXPECT_THAT(*file.readIntegers(std::to_string(name)),
                ElementsAre(0, 7, 255));
  EXPECT_THAT(*file.readIntegers("negative"), ElementsAre(-5));
  EXPECT_EQ(file.info("flags")->elements, Hdf5Class::Bool);
  EXPECT_THAT(*file.readIntegers("flags"), ElementsAre(1, 0, 1));
  EXPECT_THAT(*file.readDoubles("0"), ElementsAre(0.0, 7.0, 255.0));
}

TEST(Hdf5, TextOfBothKinds) {
  TemporaryFolder folder;
  makeFile(folder / "a.h5", [](Hdf5Writer &w) {
    must(w.strings("variable", {"train", "", "längst"}));
    must(w.strings("fixed", {"train", "", "val"}, Hdf5Text::Fixed));
    must(w.text("scalar", "hello"));
    must(w.strings("none", {}));
    must(w.attribute("scalar", "unit", "mm/s"));
    must(w.attribute("scalar", "rate", 12.5));
  });
  Hdf5File file = openFile(folder / "a.h5");
  EXPECT_THAT(*file.readStrings("variable"),
              ElementsAre("train", "", "längst"));
  EXPECT_THAT(*file.readStrings("fixed"), ElementsAre("train", "", "val"));
  EXPECT_THAT(*file.readStrings("scalar"), ElementsAre("hello"));
  EXPECT_TRUE(file.readStrings("none")->empty());
  EXPECT_EQ(file.stringAttribute("scalar", "unit"), "mm/s");
  EXPECT_EQ(file.numberAttribute("scalar", "rate"), 12.5);
  EXPECT_EQ(file.numberAttribute("scalar", "unit"), std::nullopt);
  EXPECT_EQ(file.stringAttribute("scalar", "absent"), std::nullopt);
  EXPECT_FALSE(file.readIntegers("variable").isOk());
  EXPECT_FALSE(file.readDoubles("variable").isOk());
}

TEST(Hdf5, RowsOfChunkedShuffledDeflatedData) {
  TemporaryFolder folder;
  std::mt19937_64 random(std::random_device{}());
  std::vector<double> values(3 * 101);
  for (double &value : values)
    value = double(random()) / 1e12;
  makeFile(folder / "a.h5", [&](Hdf5Writer &w) {
    must(w.doubles("c", values, {101, 3}, {7, true, 6}));
    must(w.doubles("plain", values, {101, 3}));
    must(w.doubles("empty", {}, {0, 3}));
  });
  Hdf5File file = openFile(folder / "a.h5");
  for (const char *name : {"c", "plain"}) {
    EXPECT_EQ(*file.readDoubles(name), values);
    EXPECT_EQ(*file.readRows(name, 13, 9),
              std::vector<double>(values.begin() + 39, values.begin() + 66));
    EXPECT_TRUE(file.readRows(name, 101, 0)->empty());
    EXPECT_FALSE(file.readRows(name, 100, 2).isOk());
    EXPECT_FALSE(file.readRows(name, -1, 1).isOk());
    EXPECT_FALSE(
        file.readRows(name, std::numeric_limits<int64_t>::max(), 1).isOk());
  }
  EXPECT_TRUE(file.readDoubles("empty")->empty());
}

TEST(Hdf5, RowsWrittenInPieces) {
  TemporaryFolder folder;
  makeFile(folder / "a.h5", [&](Hdf5Writer &w) {
    must(w.createDoubles("d", {3, 2}));
    must(w.writeRows("d", 1, std::vector<double>{3, 4, 5, 6}));
    must(w.writeRows("d", 0, std::vector<double>{1, 2}));
    EXPECT_FALSE(w.writeRows("d", 3, std::vector<double>{1, 2}).isOk());
  });
  EXPECT_THAT(*openFile(folder / "a.h5").readDoubles("d"),
              ElementsAre(1, 2, 3, 4, 5, 6));
}

TEST(Hdf5, LinksAndKinds) {
  TemporaryFolder folder;
  makeFile(folder / "a.h5", [](Hdf5Writer &w) {
    must(w.doubles("/a/b/data", std::vector<double>{1}, {1}));
    must(w.softLink("/a/link", "/a/b/data"));
    must(w.softLink("/a/dangling", "/nowhere"));
    must(w.softLink("/a/loop", "/a/loop"));
  });
  Hdf5File file = openFile(folder / "a.h5");
  EXPECT_EQ(*file.kindOf("/a/b"), Hdf5Kind::Group);
  EXPECT_EQ(*file.kindOf("/"), Hdf5Kind::Group);
  EXPECT_EQ(*file.kindOf("/a/link"), Hdf5Kind::Dataset);
  EXPECT_EQ(*file.kindOf("/a/dangling"), Hdf5Kind::Missing);
  EXPECT_NE(file.kindOf("/a/loop").isOk() ? *file.kindOf("/a/loop")
                                          : Hdf5Kind::Missing,
            Hdf5Kind::Dataset);
  EXPECT_EQ(*file.kindOf("/a/x/y"), Hdf5Kind::Missing);
  EXPECT_EQ(*file.kindOf("/a/b/data/under"), Hdf5Kind::Missing);
  EXPECT_THAT(*file.readDoubles("/a/link"), ElementsAre(1));
  EXPECT_THAT(*file.children("/a"),
              ElementsAre("b", "dangling", "link", "loop"));
}

TEST(Hdf5, SameCallsGiveTheSameBytes) {
  TemporaryFolder folder;
  auto fill = [](Hdf5Writer &w) {
    must(w.strings("/g/s", {"one", "three"}));
    must(w.doubles("/g/d", std::vector<double>{1, 2}, {2}, {1, true, 4}));
    must(w.attribute("/g", "names", std::vector<std::string>{"x", "y"}));
  };
  makeFile(folder / "a.h5", fill);
  makeFile(folder / "b.h5", fill);
  EXPECT_EQ(*readTextFile(folder / "a.h5"), *readTextFile(folder / "b.h5"));
}

TEST(Hdf5, AFailedWriteLeavesNothing) {
  TemporaryFolder folder;
  Status status = writeHdf5(folder / "a.h5", [](Hdf5Writer &w) {
    must(w.group("/g"));
    return w.group("/g"); // twice
  });
  EXPECT_FALSE(status.isOk());
  EXPECT_TRUE(std::filesystem::is_empty(folder / ""));
}

TEST(Hdf5, NotAFileOfThisKind) {
  TemporaryFolder folder;
  writeBytes(folder / "text", "hello, this is text, not HDF5");
  writeBytes(folder / "empty", "");
  struct Case {
    const char *name;
    const char *message;
  };
  for (Case c :
       {Case{"text", "not an HDF5 file"}, Case{"empty", "not an HDF5 file"},
        Case{"absent", "No such file"}, Case{"", "is a folder"}}) {
    Result<Hdf5File> file = Hdf5File::open(folder / c.name);
    ASSERT_FALSE(file.isOk()) << c.name;
    EXPECT_THAT(file.status().message(), HasSubstr(c.message));
  }
}

TEST(Hdf5, TruncationAnywhereIsAnError) {
  TemporaryFolder folder;
  std::vector<double> values(500, 1.5);
  makeFile(folder / "a.h5", [&](Hdf5Writer &w) {
    must(w.doubles("d", values, {500}));
    must(w.strings("s", {"x", "y"}));
  });
  std::string bytes = *readTextFile(folder / "a.h5");
  for (size_t size = 0; size < bytes.size(); size += 97) {
    writeBytes(folder / "t.h5", bytes.substr(0, size));
    EXPECT_FALSE(Hdf5File::open(folder / "t.h5").isOk()) << size;
  }
}

TEST(Hdf5, AbsurdShapesTakeNoMemory) {
  TemporaryFolder folder;
  const uint64_t marker = 12345;
  std::vector<double> values(marker, 1.0);
  for (Hdf5Layout layout : {Hdf5Layout{}, Hdf5Layout{1000, true, 1}}) {
    makeFile(folder / "a.h5", [&](Hdf5Writer &w) {
      must(w.doubles("d", values, {12345}, layout));
    });
    std::string bytes = *readTextFile(folder / "a.h5");
    std::string from(reinterpret_cast<const char *>(&marker), 8);
    for (uint64_t absurd :
         {uint64_t(1) << 40, uint64_t(1) << 61, ~uint64_t(1)}) {
      std::string damaged = bytes;
      std::string to(reinterpret_cast<const char *>(&absurd), 8);
      for (size_t at = damaged.find(from); at != std::string::npos;
           at = damaged.find(from, at + 8))
        damaged.replace(at, 8, to);
      ASSERT_NE(damaged, bytes);
      writeBytes(folder / "t.h5", damaged);
      Result<Hdf5File> file = Hdf5File::open(folder / "t.h5");
      ASSERT_TRUE(file.isOk());
      Result<std::vector<double>> read = file->readDoubles("d");
      ASSERT_FALSE(read.isOk());
      EXPECT_THAT(read.status().message(), HasSubstr("t.h5: d: "));
    }
  }
}

TEST(Hdf5, ThreadsMayShareAFile) {
  TemporaryFolder folder;
  std::vector<double> values(10000, 2.0);
  makeFile(folder / "a.h5", [&](Hdf5Writer &w) {
    must(w.doubles("d", values, {10000}, {100, true, 4}));
  });
  Hdf5File file = openFile(folder / "a.h5");
  std::vector<std::jthread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 20; ++i) {
        EXPECT_EQ(file.readDoubles("d")->size(), 10000u);
        EXPECT_FALSE(file.readDoubles("absent").isOk());
      }
    });
}

} // namespace
