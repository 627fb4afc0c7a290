// Runs of the storage workloads on real files: bytes, proofs, and files that change under a run.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <functional>

#include "harness/backends/loader.h"
#include "harness/engine/engine.h"
#include "tests/unit/temporary_folder.h"

namespace headrace::engine_storage_test {
namespace {

namespace fs = std::filesystem;
using testing::TemporaryFolder;

constexpr std::uint64_t kFileBytes = 20'000;
constexpr unsigned kFiles = 12;

/// Does something to the files just before a repetition.
struct Meddler : RunObserver {
  std::function<void(unsigned)> before = [](unsigned) {};
  void repetition_started(const Point&, unsigned index, unsigned) override { before(index); }
};

struct EngineOnFiles : ::testing::TestWithParam<const char*> {
  EngineOnFiles() {
    for (unsigned i = 0; i < kFiles; ++i) {
      folder.write("data/f" + std::to_string(i), std::string(kFileBytes, static_cast<char>('a' + i)));
    }
  }
  void SetUp() override {
    stop_signal = 0;
    if (const std::string why = node.backends().why_not(GetParam()); !why.empty()) GTEST_SKIP() << why;
  }

  RunResult run(const std::string& entry) {
    folder.write("config.yaml", "schema: 1\nname: test\ntarget: {path: " + (folder / "scratch") +
                                    ", max_write: 1GiB}\nworkloads:\n  - {" + entry + ", engine: " + GetParam() +
                                    ", repeat: {looks: [3], budget: 60s}}\n");
    PlanOptions options;
    options.config_file = folder / "config.yaml";
    plan = make_plan(options);
    return run_plan(plan, node, meddler,
                    {.stall_s = 60, .grace_s = 10, .live_s = 1, .confirm_rest_s = 0, .mind_neighbours = false});
  }
  std::string users_files() const {
    return "use: small_file_read, workers: 2, cache: asis, path: " + (folder / "data");
  }

  TemporaryFolder folder;
  Node node{folder / "scratch"};
  Meddler meddler;
  Plan plan;
};

TEST_P(EngineOnFiles, EveryByteOfTheUsersFilesOncePerRepetition) {
  const RunResult r = run(users_files());
  const PointResult& p = r.points.at(0);
  ASSERT_EQ(p.status, PointStatus::ok) << p.reason;
  for (const Repetition& rep : p.repetitions) {
    EXPECT_EQ(rep.status, RepetitionStatus::ok) << rep.error;
    EXPECT_EQ(rep.phases.at(0).bytes, kFiles * kFileBytes);
    EXPECT_EQ(rep.phases[0].operations, kFiles);
    EXPECT_EQ(rep.cache.delivered_bytes, kFiles * kFileBytes);
  }
  EXPECT_FALSE(fs::exists(folder / "scratch"));  // nothing to write, nothing made
  EXPECT_EQ(std::distance(fs::directory_iterator(folder / "data"), {}), kFiles);
}

TEST_P(EngineOnFiles, AFileThatVanishesIsNamed) {
  meddler.before = [this](unsigned index) {
    if (index == 1) fs::remove(folder / "data/f7");
  };
  const RunResult r = run(users_files());
  const PointResult& p = r.points.at(0);
  EXPECT_EQ(p.status, PointStatus::error);
  EXPECT_NE(p.reason.find("open of "), std::string::npos) << p.reason;
  EXPECT_NE(p.reason.find("data/f7 at offset 0: No such file or directory (ENOENT); 1 operation failed"),
            std::string::npos)
      << p.reason;
  EXPECT_EQ(r.summary.exit_code, 1);
}

TEST_P(EngineOnFiles, AFileThatShrinksIsNamed) {
  meddler.before = [this](unsigned index) {
    if (index == 1) fs::resize_file(folder / "data/f3", 5'000);
    if (index == 2) fs::resize_file(folder / "data/f3", kFileBytes);  // whole again: the run goes on
  };
  const RunResult r = run(users_files());
  const PointResult& p = r.points.at(0);
  ASSERT_EQ(p.status, PointStatus::ok) << p.reason;
  ASSERT_EQ(p.repetitions.size(), 4u);
  EXPECT_NE(p.repetitions[1].error.find("data/f3"), std::string::npos) << p.repetitions[1].error;
  EXPECT_NE(p.repetitions[1].error.find("the file ended early"), std::string::npos) << p.repetitions[1].error;
  // Others may report on the machine.
  EXPECT_EQ(std::ranges::count_if(p.notes, [](const std::string& n) { return n.find("data/f3") != n.npos; }), 1);
}

TEST_P(EngineOnFiles, GeneratedFilesAreVerified) {
  const RunResult r = run("use: small_file_read, files: 50, file_size: 20kB, cache: cold, verify: true");
  const PointResult& p = r.points.at(0);
  ASSERT_EQ(p.status, PointStatus::ok) << p.reason;
  EXPECT_TRUE(p.verified);
  EXPECT_TRUE(p.wrong_blocks.empty());
  EXPECT_FALSE(p.repetitions.at(0).cache.why.empty());
}

INSTANTIATE_TEST_SUITE_P(Engines, EngineOnFiles, ::testing::Values("posix", "io_uring"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace headrace::engine_storage_test
