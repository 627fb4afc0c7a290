// A cache tier's folder: what it holds, what it refuses, and that nothing of anybody else's goes.
#include "harness/workload/data/local_tier.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "harness/base/error.h"
#include "harness/machine/node.h"
#include "tests/unit/temporary_folder.h"
#include "tests/unit/workload_runner.h"

namespace headrace::local_tier_test {
namespace {

namespace fs = std::filesystem;

class LocalTierTest : public ::testing::Test {
 protected:
  LocalTierTest() {
    for (std::uint32_t i = 0; i < 10; ++i) source_.add("f" + std::to_string(i), 100 + i);
  }
  static std::vector<unsigned char> bytes(std::uint32_t file) {
    return std::vector<unsigned char>(100 + file, static_cast<unsigned char>(file));
  }
  std::string tier() const { return folder_.path() + "/tier"; }
  std::string copy(std::uint32_t file) const {
    return tier() + "/local_cache/copy-0000000" + std::to_string(file) + ".bin";
  }
  static LocalTier::Kept keep(LocalTier& tier, std::uint32_t file) { return tier.keep(file, bytes(file)); }

  testing::TemporaryFolder folder_;
  FileTable source_{-1, "nowhere"};
};

TEST_F(LocalTierTest, HoldsCopiesUpToItsCapacityAndTakesThemAwayAgain) {
  {
    LocalTier one(tier(), source_);
    EXPECT_EQ(keep(one, 0), LocalTier::Kept::full) << "nothing is kept before there is a capacity";
    one.clear(100 + 101 + 103);
    EXPECT_EQ(keep(one, 0), LocalTier::Kept::yes);
    EXPECT_EQ(keep(one, 1), LocalTier::Kept::yes);
    EXPECT_EQ(keep(one, 9), LocalTier::Kept::full);
    EXPECT_EQ(keep(one, 3), LocalTier::Kept::yes) << "a smaller one still has room";
    EXPECT_EQ(keep(one, 2), LocalTier::Kept::full);
    EXPECT_EQ(one.held_bytes(), 304u);
    EXPECT_TRUE(one.holds(0) && one.holds(1) && one.holds(3));
    EXPECT_FALSE(one.holds(2) || one.holds(9));
    one.settle();
    EXPECT_EQ(one.files().size(3), 103u);
    std::ifstream in(one.files().full_path(3), std::ios::binary);
    const std::string text(std::istreambuf_iterator<char>(in), {});
    EXPECT_EQ(text, std::string(103, '\3'));
    one.clear(1000);
    EXPECT_FALSE(one.holds(0));
    EXPECT_FALSE(fs::exists(copy(0)));
    EXPECT_EQ(keep(one, 0), LocalTier::Kept::yes) << "it can be filled again";
  }
  EXPECT_FALSE(fs::exists(tier() + "/local_cache")) << "its folder goes with it";
}

TEST_F(LocalTierTest, AForeignFileIsNeverReplacedOrRemoved) {
  {
    LocalTier one(tier(), source_);
    one.clear(10'000);
    std::ofstream(copy(4)) << "mine";
    EXPECT_EQ(keep(one, 4), LocalTier::Kept::failed);
    EXPECT_EQ(errno, EEXIST);
    EXPECT_FALSE(one.holds(4));
    EXPECT_EQ(one.held_bytes(), 0u) << "it takes no room";
    EXPECT_THROW(one.clear(10'000), RunError) << "and is named";
  }
  std::ifstream in(copy(4));
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(in), {}), "mine");
  EXPECT_THROW(LocalTier(tier(), source_), RunError);
}

TEST_F(LocalTierTest, AFolderWithSomethingElseInItIsRefused) {
  fs::create_directory(tier());
  std::ofstream(tier() + "/thesis.txt") << "mine";
  EXPECT_THROW(LocalTier(tier(), source_), RunError);
  EXPECT_THROW(LocalTier::require_usable(tier()), RunError);
  EXPECT_TRUE(fs::exists(tier() + "/thesis.txt"));
}

TEST_F(LocalTierTest, OneProcessHasIt) {
  LocalTier one(tier(), source_);
  EXPECT_THROW(LocalTier(tier(), source_), RunError);
}

TEST_F(LocalTierTest, TheNextRunRemovesFilesOfAKilledOne) {
  const std::string kept = folder_.path() + "/kept";
  {
    LocalTier one(tier(), source_);
    one.clear(10'000);
    ASSERT_EQ(keep(one, 5), LocalTier::Kept::yes);
    fs::create_directory(kept);
    fs::copy_file(copy(5), kept + "/copy");  // as a kill would leave it: with the maker's mark
    fs::permissions(kept + "/copy", fs::perms::sticky_bit, fs::perm_options::add);
    fs::rename(kept + "/copy", copy(6));
  }
  EXPECT_FALSE(fs::exists(copy(6)));
  EXPECT_EQ(remove_left_over_tier(files::Folder::at(tier())).left.size(), 0u);
}

// As a workload.

TEST(LocalCacheTest, HitsTheTiersFilesAndReadsEachFileOnceAnEpoch) {
  testing::TemporaryFolder folder;
  const std::string yaml =
      "files: 40\nfile_size: 20000B\nblock_size: 8KiB\nworkers: 3\nepochs: 2\ntier: " + folder.path() + "/tier\n";
  for (const auto& [ratio, held] : std::vector<std::pair<std::string, unsigned>>{{"0.5", 20}, {"1", 40}, {"0", 0}}) {
    testing::WorkloadRunner runner("local_cache", yaml + "tier_ratio: " + ratio + "\n");
    runner.prepare();
    for (int again = 0; again < 2; ++again) {
      const Repetition r = runner.repeat();
      ASSERT_EQ(r.phases.size(), 4u);
      for (const PhaseResult& phase : r.phases) {
        EXPECT_EQ(phase.errors, 0u);
        EXPECT_EQ(phase.operations, 40u);
        EXPECT_EQ(phase.bytes, 40u * 20'000);
      }
      EXPECT_EQ(r.phases[1].parts[0].total(), held) << "copies of the first epoch";
      EXPECT_EQ(runner.metrics["hit_ratio"], held / 40.0);
      EXPECT_EQ(runner.metrics["hit_ratio_predicted_c5"], held / 40.0);
      EXPECT_EQ(runner.metrics.contains("tier_write_rate"), held > 0);
      if (held == 0) {
        EXPECT_FALSE(runner.metrics.contains("break_even_epochs"));
      }
    }
  }
}

TEST(LocalCacheTest, AFailedCopyIsAnErrorAndNotKept) {
  testing::TemporaryFolder folder;
  testing::WorkloadRunner runner("local_cache",
                                 "files: 10\nfile_size: 20000B\nworkers: 2\ntier: " + folder.path() + "/tier\n");
  runner.prepare();
  runner.before_phase = [&](const std::string& phase) {
    if (phase == "fill") std::ofstream(folder.path() + "/tier/local_cache/copy-00000003.bin") << "mine";
  };
  const Repetition r = runner.repeat();
  EXPECT_EQ(r.phases[1].errors, 1u);
  EXPECT_EQ(r.phases[1].operations, 9u);
  EXPECT_EQ(r.phases[2].operations, 10u) << "storage has it still";
}

TEST(LocalCacheTest, WithoutATierThereIsNothingToMeasure) {
  testing::WorkloadRunner runner("local_cache", "files: 10\n");
  const auto skip = runner.check();
  ASSERT_TRUE(skip);
  EXPECT_NE(skip->reason.find("name a folder"), std::string::npos);
}

}  // namespace
}  // namespace headrace::local_tier_test
