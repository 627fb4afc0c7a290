#include <gtest/gtest.h>

#include <filesystem>

#include "tests/unit/workload_runner.h"

namespace headrace::metadata_test {
namespace {

namespace fs = std::filesystem;
using testing::problems_of;
using testing::TemporaryFolder;
using testing::WorkloadRunner;

const std::string kTree = "depth: 2\nwidth: 3\nfiles_per_folder: 20\nworkers: 3\n";
constexpr unsigned kFiles = 180, kFolders = 12;

enum Part { kCreate, kList, kStat, kOpen, kRename, kUnlink, kClose };

std::uint64_t files_below(const std::string& folder) {
  std::uint64_t files = 0;
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    files += entry.is_regular_file() && entry.path().filename() != ".headrace";
  return files;
}

struct MetadataTest : ::testing::Test {
  void SetUp() override { runner.prepare(); }
  std::string where() { return runner.node().scratch() + "/metadata"; }
  WorkloadRunner runner{"metadata", kTree + "data_set_files: 1800000\n"};
};

TEST_F(MetadataTest, EveryCallOfEveryFileOnce) {
  for (const std::uint64_t seed : {1, 2}) {
    const Repetition r = runner.repeat(seed);
    ASSERT_EQ(r.phases.size(), 6u);
    const std::vector<std::string> names{"create", "list", "stat", "open", "rename", "unlink"};
    for (unsigned p = 0; p < 6; ++p) {
      const PhaseResult& phase = r.phases[p];
      EXPECT_EQ(phase.name, names[p]);
      EXPECT_EQ(phase.errors, 0u) << phase.name;
      EXPECT_EQ(phase.operations, p == kList ? kFolders : kFiles) << phase.name;
      EXPECT_EQ(phase.parts[p].total(), phase.operations) << phase.name;
      EXPECT_EQ(phase.parts[kClose].total(), p == kOpen ? kFiles : 0) << phase.name;
    }
    EXPECT_EQ(files_below(where()), 0u);
    // 3 folders in the root are not listed: the root is not.
    EXPECT_NEAR(runner.metrics["list_rate"] * r.phases[kList].elapsed_s, kFiles + 9, 1e-6);
    EXPECT_DOUBLE_EQ(runner.metrics["operation_rate"], 3 * runner.metrics["open_rate"]);
    EXPECT_DOUBLE_EQ(runner.metrics["scan_time_s"], r.phases[kList].elapsed_s + r.phases[kStat].elapsed_s);
    EXPECT_NEAR(runner.metrics["data_set_scan_time_s"], 10'000 * runner.metrics["scan_time_s"],
                1e-6 * runner.metrics["data_set_scan_time_s"]);
    for (const char* rate : {"create_rate", "stat_rate", "rename_rate", "unlink_rate"})
      EXPECT_GT(runner.metrics[rate], 0) << rate;
  }
}

TEST_F(MetadataTest, FilesAreThereUnderTheirNamesBetweenTheSteps) {
  std::map<std::string, std::string> seen;
  runner.before_phase = [&](const std::string& phase) {
    const bool first = fs::exists(where() + "/d001/d002/f00000105");
    const bool other = fs::exists(where() + "/d001/d002/r00000105");
    seen[phase] = std::string(first ? "first " : "") + (other ? "other" : "");
  };
  runner.repeat();
  EXPECT_EQ(seen["create"], "");
  EXPECT_EQ(seen["list"], "first ");
  EXPECT_EQ(seen["rename"], "first ");
  EXPECT_EQ(seen["unlink"], "other");
}

TEST_F(MetadataTest, AFileThatVanishesIsAnErrorAndTheNextRepetitionGoesOn) {
  runner.before_phase = [&](const std::string& phase) {
    if (phase == "open") fs::remove(where() + "/d000/d000/f00000007");
  };
  const Repetition r = runner.repeat();
  EXPECT_EQ(r.phases[kStat].errors, 0u);
  EXPECT_EQ(r.phases[kOpen].errors, 1u);
  EXPECT_EQ(r.phases[kOpen].operations, kFiles - 1);
  ASSERT_FALSE(runner.errors.empty());
  EXPECT_EQ(runner.errors.front().code, ENOENT);
  EXPECT_EQ(runner.as<ReadsFiles>().files()->path(runner.errors.front().file), std::string("d000/d000/f00000007"));
  EXPECT_EQ(runner->latency_parts()[runner.errors.front().part - 1u], "open");
}

TEST_F(MetadataTest, LeavesNothingBehindWhenItIsCutShort) {
  runner.before_phase = [&](const std::string& phase) {
    if (phase == "rename") throw std::runtime_error("stopped");
  };
  EXPECT_THROW(runner.repeat(), std::runtime_error);
  EXPECT_EQ(files_below(where()), kFiles);
  runner.before_phase = [](const std::string&) {};
  EXPECT_EQ(runner.repeat().phases[kCreate].operations, kFiles);  // starts anew
  runner.repeat(3, true);
  EXPECT_FALSE(runner.metrics.contains("scan_time_s"));
  const std::string folder = where();
  runner->cleanup(runner.node());
  EXPECT_FALSE(fs::exists(folder));
  runner.prepare();
}

TEST(MetadataOfUsersFilesTest, AreAskedAndNotChanged) {
  TemporaryFolder users;
  for (const char* file : {"a/1", "a/2", "b/c/d/3", "4"}) users.write(file, "x");
  WorkloadRunner runner("metadata", "workers: 2\npath: " + users.path() + "\n");
  runner.prepare();
  const Repetition r = runner.repeat();
  ASSERT_EQ(r.phases.size(), 3u);
  EXPECT_EQ(r.phases[0].operations, 5u);  // the root, a, b, b/c, b/c/d
  EXPECT_NEAR(runner.metrics["list_rate"] * r.phases[0].elapsed_s, 8, 1e-6);
  EXPECT_EQ(r.phases[1].operations, 4u);
  EXPECT_EQ(r.phases[2].operations, 4u);
  EXPECT_FALSE(runner.metrics.contains("create_rate"));
  ASSERT_EQ(runner->notes().size(), 1u);
  EXPECT_EQ(runner->notes().front(), "path is read-only: nothing is created, renamed or unlinked");
  EXPECT_EQ(files_below(users.path()), 4u);
}

TEST(MetadataParamsTest, RejectsInvalidParameters) {
  EXPECT_EQ(problems_of("metadata", "depth: 3\nwidth: 200\n"),
            "test.yaml:1:8: metadata: depth: width 200, depth 3 and 1000 files in each folder make "
            "more than 1000000 folders\n");
  EXPECT_EQ(problems_of("metadata", "width: 1000\nfiles_per_folder: 60000\n"),
            "test.yaml:1:1: metadata: depth: width 1000, depth 1 and 60000 files in each folder "
            "make more than 50000000 files\n");
  EXPECT_EQ(problems_of("metadata", "path: /tmp\ndepth: 2\n"),
            "test.yaml:2:8: metadata: depth: makes files; not together with path, which asks "
            "existing ones\n");
}

}  // namespace
}  // namespace headrace::metadata_test
