// The engines as workloads get them: through Backends, the io_uring one through its plugin.
#include <gtest/gtest.h>

#include <thread>

#include "harness/backends/loader.h"
#include "harness/base/diagnostics.h"
#include "harness/base/error.h"
#include "harness/base/system/unique_fd.h"
#include "harness/workload/data/block_loop.h"
#include "tests/unit/file_io_contract.h"

namespace headrace::storage_engine_test {
namespace {

using testing::TemporaryFiles;

class StorageEngineTest : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (const std::string why = backends_.why_not(GetParam()); !why.empty()) GTEST_SKIP() << why;
    engine_ = &backends_.storage(GetParam());
    options_.queue_depth = std::min(7u, storage_traits(GetParam()).most_in_flight);
  }
  testing::MakeWhole whole() {
    return [this](auto& files, auto& options) { return engine_->whole_file_reader(files, options); };
  }
  testing::MakeBlocks blocks() {
    return
        [this](auto& files, auto selected, auto& options) { return engine_->block_reader(files, selected, options); };
  }
  Backends backends_;
  StorageEngine* engine_ = nullptr;
  ReaderOptions options_;
};

TEST_P(StorageEngineTest, ReadsWholeFiles) { testing::reads_whole_files(whole(), options_); }
TEST_P(StorageEngineTest, ReportsFailures) { testing::reports_failures(whole(), options_); }
TEST_P(StorageEngineTest, ReadsBlocks) { testing::reads_blocks(blocks(), options_); }
TEST_P(StorageEngineTest, Waits) { testing::waits(blocks(), whole(), options_); }
TEST_P(StorageEngineTest, ReadsInOrdinaryPages) {
  options_.huge_pages = false;
  testing::reads_whole_files(whole(), options_);
  testing::reads_blocks(blocks(), options_);
  EXPECT_TRUE(engine_->take_notes().empty());
}

TEST_P(StorageEngineTest, ReadsDirectly) {
  options_.direct = true;
  try {
    testing::reads_blocks(blocks(), options_);
  } catch (const RunError& error) {
    GTEST_SKIP() << error.what();  // a file system without direct I/O
  }
  testing::reads_whole_files(whole(), options_);
}

TEST_P(StorageEngineTest, ABlockThatCannotBeReadIsAnError) {
  TemporaryFiles files;
  const std::vector<std::uint32_t> selected{files.add(4096)};
  std::filesystem::remove(files.path(0));
  std::filesystem::create_directory(files.path(0));
  const auto reader = engine_->block_reader(files.table(), selected, options_);
  reader->attach();
  const BlockRequest request{.offset = 0, .length = 4096};
  const auto done = reader->exchange({&request, 1}, 1);
  ASSERT_EQ(done.size(), 1u);
  EXPECT_EQ(done.front().result, -EISDIR);
}

TEST_P(StorageEngineTest, WritesBlocks) {
  TemporaryFiles files;
  std::vector<unsigned char> memory(50'000);
  for (std::size_t i = 0; i < memory.size(); ++i) memory[i] = TemporaryFiles::byte(0, i);
  const std::string path = files.table().root() + "/written";
  const system::UniqueFd fd(::open(path.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
  const auto writer = engine_->block_writer({.queue_depth = options_.queue_depth, .memory = memory});
  writer->attach();
  BlockLoop loop(options_.queue_depth);
  std::uint32_t at = 0;
  std::int64_t written = 0;
  loop.run(
      *writer,
      [&](BlockRequest& request) {
        if (at == memory.size()) return false;
        request = {.file = static_cast<std::uint32_t>(fd.get()), .offset = at, .from = memory.data() + at};
        request.length = std::min<std::uint32_t>(8192, static_cast<std::uint32_t>(memory.size()) - at);
        at += request.length;
        return true;
      },
      [&](const BlockCompletion& block) { written += block.result; });
  EXPECT_EQ(written, 50'000);
  std::ifstream file(path, std::ios::binary);
  const std::string content{std::istreambuf_iterator<char>(file), {}};
  ASSERT_EQ(content.size(), memory.size());
  EXPECT_TRUE(TemporaryFiles::holds(reinterpret_cast<const unsigned char*>(content.data()), 0, 0, content.size()));
}

TEST_P(StorageEngineTest, ABlockThatCannotBeWrittenIsAnError) {
  const system::UniqueFd full(::open("/dev/full", O_WRONLY | O_CLOEXEC));
  if (!full) GTEST_SKIP() << "no /dev/full";
  const std::vector<unsigned char> memory(4096);
  const auto writer = engine_->block_writer({.queue_depth = 1, .memory = memory});
  writer->attach();
  const BlockRequest request{.file = static_cast<std::uint32_t>(full.get()), .length = 4096, .from = memory.data()};
  EXPECT_EQ(writer->exchange({&request, 1}, 1).front().result, -ENOSPC);
}

TEST_P(StorageEngineTest, AReaderCanChangeThreads) {
  TemporaryFiles files;
  const std::vector<std::uint32_t> wanted{files.add(5000), files.add(70'000)};
  const auto reader = engine_->whole_file_reader(files.table(), options_);
  for (int i = 0; i < 3; ++i) {
    std::thread([&] {
      reader->attach();
      EXPECT_EQ(testing::read_files(*reader, wanted).size(), 2u);
    }).join();
  }
}

TEST_P(StorageEngineTest, NamesTheFileThatCannotBeOpened) {
  TemporaryFiles files;
  const std::vector<std::uint32_t> selected{files.add(10), files.add(10)};
  std::filesystem::remove(files.path(1));
  try {
    engine_->block_reader(files.table(), selected, options_);
    FAIL() << "opened a file that is not there";
  } catch (const RunError& error) {
    EXPECT_EQ(std::string(error.what()), "open " + files.path(1) + ": No such file or directory (ENOENT)");
  }
}

TEST(MmapEngineTest, ReadsBlocksAndNothingElse) {
  Backends backends;
  StorageEngine& engine = backends.storage("mmap");
  testing::reads_blocks(
      [&](auto& files, auto selected, auto& options) { return engine.block_reader(files, selected, options); }, {});
  TemporaryFiles files;
  const std::vector<std::uint32_t> selected{files.add(10)};
  EXPECT_THROW(engine.whole_file_reader(files.table(), {}), RunError);
  EXPECT_THROW(engine.block_reader(files.table(), selected, {.direct = true}), RunError);
}

INSTANTIATE_TEST_SUITE_P(Engines, StorageEngineTest, ::testing::Values("posix", "io_uring"),
                         [](const auto& info) { return std::string(info.param); });

TEST(BackendsTest, ReportsOfEveryBackendInAFixedOrder) {
  const Backends backends;
  std::vector<std::string> names;
  for (const BackendStatus& status : backends.status()) {
    names.push_back(status.name);
    EXPECT_EQ(status.reason.empty(), status.usable) << status.name;
    EXPECT_TRUE(status.built || !status.usable) << status.name;
  }
  EXPECT_EQ(names, (std::vector<std::string>{"posix", "mmap", "io_uring", "s3", "cuda", "nccl", "verbs", "mpi", "jpeg",
                                             "png", "zstd", "npz", "parquet"}));
  EXPECT_TRUE(backends.status().front().usable);
}

TEST(BackendsTest, SaysWhyABackendCannotBeUsed) {
  Backends backends;
  EXPECT_EQ(backends.why_not("posix"), "");
  if (const std::string why = backends.why_not("mpi"); why.empty()) {
    EXPECT_THROW(backends.storage("mpi"), UsageError);  // it moves messages
  } else {
    EXPECT_EQ(why.rfind("mpi: ", 0), 0u);
    EXPECT_THROW(backends.storage("mpi"), RunError);
  }
  EXPECT_THROW(backends.storage("floppy"), UsageError);
}

}  // namespace
}  // namespace headrace::storage_engine_test
