#include "harness/engine/launch.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "harness/base/diagnostics.h"

namespace headrace::launch_test {
namespace {

class Launch : public ::testing::Test {
 protected:
  static constexpr const char* kNames[] = {
      "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "PMI_RANK",           "PMI_SIZE",      "PMIX_RANK",
      "SLURM_PROCID",         "SLURM_STEP_NUM_TASKS", "FLUX_TASK_RANK",     "FLUX_JOB_SIZE", "JSM_NAMESPACE_RANK",
      "JSM_NAMESPACE_SIZE",   "MV2_COMM_WORLD_RANK",  "MV2_COMM_WORLD_SIZE"};
  void SetUp() override {
    for (const char* name : kNames) ::unsetenv(name);
  }
  void TearDown() override { SetUp(); }
  static void set(const char* name, const char* value) { ::setenv(name, value, 1); }
};

TEST_F(Launch, NothingMeansOneProcess) {
  EXPECT_FALSE(ranks::launched().several());
  EXPECT_EQ(ranks::launched().rank, 0u);
}

TEST_F(Launch, OpenMpiReportsRankAndSize) {
  set("OMPI_COMM_WORLD_RANK", "3");
  set("OMPI_COMM_WORLD_SIZE", "8");
  EXPECT_EQ(ranks::launched().rank, 3u);
  EXPECT_EQ(ranks::launched().size, 8u);
}

TEST_F(Launch, SlurmWithPmix) {
  set("PMIX_RANK", "1");
  set("SLURM_PROCID", "1");
  set("SLURM_STEP_NUM_TASKS", "4");
  EXPECT_EQ(ranks::launched().rank, 1u);
  EXPECT_EQ(ranks::launched().size, 4u);
}

TEST_F(Launch, SlurmWithoutAMeetingPointIsAnError) {
  set("SLURM_PROCID", "1");
  set("SLURM_STEP_NUM_TASKS", "4");
  EXPECT_THROW(ranks::launched(), UsageError);
}

TEST_F(Launch, ABatchScriptOfSlurmIsOneProcess) {
  set("SLURM_PROCID", "0");
  EXPECT_FALSE(ranks::launched().several());
  set("SLURM_STEP_NUM_TASKS", "1");
  EXPECT_FALSE(ranks::launched().several());
}

TEST_F(Launch, FluxJsrunAndMvapichReportRankAndSize) {
  for (const auto& [rank, size] :
       {std::pair("FLUX_TASK_RANK", "FLUX_JOB_SIZE"), std::pair("JSM_NAMESPACE_RANK", "JSM_NAMESPACE_SIZE"),
        std::pair("MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE")}) {
    SetUp();
    set(rank, "2");
    set(size, "6");
    EXPECT_EQ(ranks::launched().rank, 2u) << rank;
    EXPECT_EQ(ranks::launched().size, 6u) << rank;
  }
}

TEST_F(Launch, AProcessThatIsNotReportedHowManyThereAreDoesNotTakeItselfForTheOnlyOne) {
  set("PMIX_RANK", "0");
  EXPECT_THROW(ranks::launched(), UsageError);
}

TEST(Hosts, CalledAlikeAreDistinguishedByTheirKernels) {
  using Names = std::vector<std::string>;
  EXPECT_EQ(ranks::hosts_of({"a", "a", "b"}, {"1", "1", "2"}), (Names{"a", "a", "b"}));
  EXPECT_EQ(ranks::hosts_of({"pytorch", "pytorch", "pytorch", "pytorch"}, {"1", "2", "1", "2"}),
            (Names{"pytorch", "pytorch-2", "pytorch", "pytorch-2"}));
  EXPECT_EQ(ranks::hosts_of({"a", "b"}, {"1", "1"}), (Names{"a", "b"}))
      << "containers of one machine, told apart by name";
}

TEST_F(Launch, WordsThatAreNoNumbersAreNotHeeded) {
  set("OMPI_COMM_WORLD_RANK", "x");
  set("OMPI_COMM_WORLD_SIZE", "8");
  EXPECT_FALSE(ranks::launched().several());
  set("OMPI_COMM_WORLD_RANK", "8");
  EXPECT_FALSE(ranks::launched().several());
}

}  // namespace
}  // namespace headrace::launch_test
