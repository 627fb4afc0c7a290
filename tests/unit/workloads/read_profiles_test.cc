#include "harness/backends/read_profiles.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <numeric>

#include "harness/workload/data/data_set.h"
#include "tests/unit/workload_runner.h"

namespace headrace::read_profiles_test {
namespace {

using testing::problems_of;
using testing::WorkloadRunner;

constexpr const char* kFiles = "files: 60\nfile_size: 20000B\nfiles_per_folder: 25\nworkers: 3\n";
constexpr const char* kShards = "files: 7\nfile_size: 100000B\nworkers: 3\nsample_size: 5000B\n";
constexpr const char* kBlocks = "files: 3\nfile_size: 40960B\nblock_size: 4KiB\nworkers: 3\n";

struct Case {
  std::string workload, yaml;
  std::uint64_t operations, bytes;
};

std::vector<Case> cases() {
  std::vector<Case> cases;
  for (const std::string loader : {"none", "pytorch", "pytorch_iterable", "tfdata"}) {
    const std::string with = "loader: " + loader + (loader == "none" ? "\n" : "\nbatch_size: 7\n") + "read_profile: ";
    for (const char* profile : {"whole", "pil", "mmap", "npz"})
      cases.push_back({"small_file_read", kFiles + with + profile, 60, 60 * 20'000});
    cases.push_back({"shard_stream", kShards + with + "ranged", 7, 7 * 100'000});
    cases.push_back({"shard_stream", kShards + with + "wds", 7 * 10, 7 * 100'000});
    for (const char* profile : {"ranged", "mmap", "mds", "row_group"})
      cases.push_back({"random_read", kBlocks + with + profile, 30, 3 * 40'960});
  }
  return cases;
}

TEST(ReadProfiles, KeepTheWholeFileForTheDecoder) {
  WorkloadRunner runner("small_file_read", "files: 3\nfile_size: 200000B\nfile_size_spread: 30kB\n");
  runner.prepare();
  const DataSet& data = *runner.as<ReadsFiles>().data();
  for (const ReadProfile profile : {ReadProfile::pil, ReadProfile::mmap, ReadProfile::npz}) {
    const auto reader = profile_file_reader(profile, data.files(), true);
    reader->attach();
    for (const std::uint32_t file : {2u, 0u, 1u}) {
      const FileCompletion done = reader->exchange({&file, 1}, 1).front();
      ASSERT_EQ(done.bytes, data.files().size(file));
      WrongBlock wrong;
      EXPECT_TRUE(data.check(file, 0, reader->data(0), done.bytes, &wrong)) << wrong.offset << wrong.why;
    }
    EXPECT_EQ(profile_file_reader(profile, data.files())->data(0), nullptr) << "not asked for, it is not kept";
  }
}

class EveryLoaderTest : public ::testing::TestWithParam<Case> {};

TEST_P(EveryLoaderTest, ReadsEverythingOnceAndCanBeRepeated) {
  WorkloadRunner runner(GetParam().workload, GetParam().yaml);
  runner.prepare();
  for (const std::uint64_t seed : {1, 2}) {
    const PhaseResult phase = runner.repeat(seed).phases.front();
    EXPECT_EQ(phase.errors, 0u);
    EXPECT_EQ(phase.operations, GetParam().operations);
    EXPECT_EQ(phase.bytes, GetParam().bytes);
  }
  EXPECT_EQ(runner.repeat(3, true).phases.front().operations, 0u) << "when told to stop";
}

TEST_P(EveryLoaderTest, CountsUnreadableSamplesAsErrorsOnly) {
  WorkloadRunner runner(GetParam().workload, GetParam().yaml);
  runner.prepare();
  const FileTable& files = runner.as<ReadsFiles>().data()->files();
  const std::uint32_t cut = files.count() - 1;
  std::filesystem::resize_file(files.full_path(cut), files.size(cut) / 2);
  const PhaseResult phase = runner.repeat().phases.front();
  EXPECT_GT(phase.errors, 0u);
  EXPECT_LT(phase.bytes, GetParam().bytes);
  EXPECT_GE(phase.bytes, GetParam().bytes - files.size(cut));
  ASSERT_FALSE(runner.errors.empty());
  for (const OperationError& error : runner.errors) {
    EXPECT_EQ(error.file, cut);
    EXPECT_EQ(error.code, OperationError::kShortRead);
  }
}

INSTANTIATE_TEST_SUITE_P(All, EveryLoaderTest, ::testing::ValuesIn(cases()));

TEST(LoaderParamsTest, RejectsInvalidParameters) {
  const auto refused = [](const std::string& workload, const std::string& yaml) { return problems_of(workload, yaml); };
  EXPECT_NE(refused("small_file_read", "batch_size: 8\n").find("only loaders that deliver in order"),
            std::string::npos);
  EXPECT_NE(refused("small_file_read", "loader: pytorch\nengine: io_uring\n").find("reads and waits"),
            std::string::npos);
  EXPECT_NE(refused("small_file_read", "loader: in_flight\nengine: posix\n").find("io_uring"), std::string::npos);
  EXPECT_NE(refused("small_file_read", "loader: pytorch\nrate: 5/s\n").find("no rate"), std::string::npos);
  EXPECT_NE(refused("small_file_read", "read_profile: pil\nengine: io_uring\n").find("only whole files"),
            std::string::npos);
  EXPECT_NE(refused("small_file_read", "read_profile: pill\n").find("pil"), std::string::npos);
  EXPECT_NE(refused("shard_stream", "read_profile: wds\nblock_size: 1MiB\n").find("10 KiB"), std::string::npos);
  EXPECT_NE(refused("shard_stream", "loader: pytorch\ntune: true\n").find("nothing to search"), std::string::npos);
  EXPECT_NE(refused("random_read", "read_profile: mds\ndirect: true\n").find("page cache"), std::string::npos);
  EXPECT_NE(refused("random_read", "read_profile: mmap\nengine: posix\n").find("engine mmap"), std::string::npos);
  EXPECT_EQ(refused("random_read", "read_profile: mmap\nloader: pytorch\nbatch_size: 8\nprefetch_factor: 4\n"), "");
  EXPECT_EQ(refused("small_file_read", "loader: in_flight\nqueue_depth: 8\n"), "");
}

}  // namespace
}  // namespace headrace::read_profiles_test
