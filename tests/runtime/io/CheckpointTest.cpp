#include "runtime/io/Checkpoint.h"
#include "tests/runtime/io/TestFiles.h"

#include <csignal>
#include <fstream>
#include <numeric>
#include <sys/resource.h>

/// HDF5 1.10 forgets a block of its own when a file cannot be written whole.
extern "C" const char *__lsan_default_suppressions() {
  return "leak:H5FL__malloc\n";
}

namespace betz {
namespace {

namespace fs = std::filesystem;

class CheckpointTest : public testing::Test {
protected:
  CheckpointTest() {
    checkpoint.step = 120;
    checkpoint.state = {{"seed", 7}, {"scores", {0.5, 0.25}}};
    for (const char *name : {"weights", "moment1"}) {
      std::vector<float> &values = checkpoint.vectors[name];
      values.resize(1003);
      std::iota(values.begin(), values.end(), name[0] * 1.25f);
    }
  }

  fs::path write(int64_t shards) {
    Result<fs::path> path = writeCheckpoint(folder, checkpoint, shards);
    EXPECT_TRUE(path.isOk()) << path.status().message();
    return path.isOk() ? *path : fs::path();
  }
  void expectSame(const fs::path &path) {
    Result<Checkpoint> read = readCheckpoint(path);
    ASSERT_TRUE(read.isOk()) << read.status().message();
    EXPECT_EQ(read->step, 120);
    EXPECT_EQ(read->state, checkpoint.state);
    EXPECT_EQ(read->vectors, checkpoint.vectors);
  }

  const test::TemporaryFolder scratch;
  const fs::path folder = scratch / "checkpoints";
  Checkpoint checkpoint;
};

TEST_F(CheckpointTest, FourShardsReadAsOneAndAsThree) {
  const fs::path path = write(4);
  expectSame(path);
  std::map<std::string, std::vector<float>> joined;
  for (int64_t part = 0; part < 3; ++part) {
    Result<Checkpoint> read = readCheckpoint(path, part, 3);
    ASSERT_TRUE(read.isOk()) << read.status().message();
    for (const auto &[name, values] : read->vectors)
      joined[name].insert(joined[name].end(), values.begin(), values.end());
  }
  EXPECT_EQ(joined, checkpoint.vectors);
}

TEST_F(CheckpointTest, MoreShardsThanElements) {
  for (auto &[name, values] : checkpoint.vectors)
    values.resize(2);
  expectSame(write(5));
}

TEST_F(CheckpointTest, TheSameStepIsReplacedAndOthersStay) {
  write(1);
  checkpoint.vectors["weights"][3] = -1;
  expectSame(write(2));
  checkpoint.step = 7;
  write(1);
  const std::vector<fs::path> all = listCheckpoints(folder);
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].filename(), "step-00000007");
  EXPECT_EQ(all[1].filename(), "step-00000120");
}

TEST_F(CheckpointTest, DamageIsFoundAndNamed) {
  const fs::path path = write(2);
  for (const char *name : {"shard-1.h5", "manifest.json"}) {
    const fs::path file = path / name;
    std::ifstream stream(file, std::ios::binary);
    const std::string whole((std::istreambuf_iterator<char>(stream)), {});
    for (size_t damage = 0; damage < 3; ++damage) {
      std::string changed = whole;
      if (damage == 0)
        changed.resize(whole.size() / 2);
      else if (damage == 1)
        changed[whole.size() / 2] ^= 1;
      if (damage == 2)
        fs::remove(file);
      else
        std::ofstream(file, std::ios::binary) << changed;
      const Status status = readCheckpoint(path).status();
      EXPECT_FALSE(status.isOk()) << name << " " << damage;
      EXPECT_NE(status.message().find(name), std::string::npos)
          << status.message();
      std::ofstream(file, std::ios::binary) << whole;
    }
  }
  expectSame(path);
}

TEST_F(CheckpointTest, WhatCannotBeWrittenLeavesTheLastOne) {
  const fs::path path = write(1);
  checkpoint.vectors["moment1"].pop_back();
  EXPECT_FALSE(writeCheckpoint(folder, checkpoint).isOk());
  checkpoint.vectors["moment1"].push_back(0);
  checkpoint.step = 121;
  const fs::path file = folder / "in-the-way";
  std::ofstream(file) << "x";
  EXPECT_FALSE(writeCheckpoint(file, checkpoint).isOk());
  EXPECT_EQ(listCheckpoints(folder), std::vector<fs::path>{path});
}

TEST_F(CheckpointTest, AFullDiskLeavesTheLastOne) {
  const fs::path path = write(1);
  checkpoint.step = 121;
  // Writing past a limit on file sizes fails as on a full disk.
  ::signal(SIGXFSZ, SIG_IGN);
  rlimit before, small;
  ::getrlimit(RLIMIT_FSIZE, &before);
  small = {1024, before.rlim_max};
  ::setrlimit(RLIMIT_FSIZE, &small);
  const Status status = writeCheckpoint(folder, checkpoint).status();
  ::setrlimit(RLIMIT_FSIZE, &before);
  EXPECT_FALSE(status.isOk());
  EXPECT_EQ(listCheckpoints(folder), std::vector<fs::path>{path});
  EXPECT_FALSE(fs::exists(folder / ".step-00000121"));
  checkpoint.step = 120;
  expectSame(path);
}

} // namespace
} // namespace betz
