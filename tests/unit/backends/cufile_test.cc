// Which way reads into a GPU's memory go, as reported about a libcufile of the test's (fakes/cufile.cc) and of nvidia-fs.
#include <gtest/gtest.h>

#ifdef HEADRACE_HAS_CUFILE
#include <dlfcn.h>
#include <fcntl.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <vector>

#include "harness/backends/buffers.h"
#include "harness/backends/cuda/cufile.h"
#include "tests/unit/fakes/cufile.h"
#include "tests/unit/temporary_folder.h"
#include "workloads/gpu/straight_reads.h"

namespace headrace::cuda::cufile_test {
namespace {

/// Host memory that plays a GPU's.
struct Played final : GpuMemory {
  explicit Played(std::uint64_t bytes) : held(1, bytes, false) {
    begin_ = held.begin();
    size_ = bytes;
  }
  Buffers held;
};

struct CuFiles : ::testing::Test {
  void SetUp() override {
    void* library = ::dlopen("libcufile.so.0", RTLD_NOW);
    ASSERT_NE(library, nullptr) << ::dlerror();
    fake = static_cast<testing::FakeCuFile*>(::dlsym(library, "fake_cufile"));
    ASSERT_NE(fake, nullptr) << "another libcufile.so.0 is in the way";
    *fake = {};
    std::iota(fake->uuid, fake->uuid + sizeof fake->uuid, static_cast<unsigned char>(0x10));
    ASSERT_FALSE(CuFile::instance().unusable());
    try {
      way();
    } catch (const Unsupported& e) {
      GTEST_SKIP() << e.what();
    }
  }
  /// Of three files, which are read so into `memory`.
  std::unique_ptr<GpuFileReader> reader(const GpuMemory& memory) {
    FileTable files(::open(folder.path().c_str(), O_DIRECTORY | O_RDONLY), folder.path());
    for (const char* name : {"a", "b", "c"}) {
      folder.write(name, std::string(2 * kPage, *name));
      files.add(name, 2 * kPage);
    }
    const std::vector<std::uint32_t> all{0, 1, 2};
    return CuFile::instance().reader(files, all, memory, kUuid);
  }
  /// What is reported about three files.
  std::string way(const std::string& uuid = kUuid) {
    FileTable files(::open(folder.path().c_str(), O_DIRECTORY | O_RDONLY), folder.path());
    for (const char* name : {"a", "b", "c"}) {
      folder.write(name, std::string(2 * kPage, 'x'));
      files.add(name, 2 * kPage);
    }
    const std::vector<std::uint32_t> all{0, 1, 2};
    Played memory(kPage);
    return CuFile::instance().reader(files, all, memory, uuid)->mode();
  }
  static constexpr const char* kUuid = "GPU-10111213-1415-1617-1819-1a1b1c1d1e1f";
  testing::TemporaryFolder folder;
  testing::FakeCuFile* fake = nullptr;
};

TEST_F(CuFiles, AreDirectWhereReadsAreCountedSo) {
  EXPECT_EQ(way(), "direct (nvidia-fs 2.24), as cuFile counted");
  fake->before_uuid = 2048;  // another version
  EXPECT_EQ(way(), "direct (nvidia-fs 2.24), as cuFile counted");
  EXPECT_FALSE(fake->counting) << "nothing is counted while reads are timed";
  EXPECT_EQ(fake->level, 0);
}

TEST_F(CuFiles, FallbacksAreReportedWithTheModuleLoaded) {
  fake->through_host = 3;
  EXPECT_EQ(way(),
            "through host memory, as cuFile counted, although the kernel has nvidia-fs 2.24: the file system, the file "
            "or the buffer does not do");
  fake->through_host = 1;
  EXPECT_EQ(way(), "2 of 3 files direct (nvidia-fs 2.24), the others through host memory, as cuFile counted");
}

TEST_F(CuFiles, AreNotGuessedWhereNothingCounts) {
  fake->counts = false;
  EXPECT_EQ(way().rfind("not known whether direct (nvidia-fs 2.24) or through host memory", 0), 0u) << way();
  fake->counts = true;
  EXPECT_EQ(way("GPU-00000000-0000-0000-0000-0000000000ff").rfind("not known", 0), 0u) << "another GPU's counters";
}

TEST_F(CuFiles, GoThroughHostMemoryWithoutTheModule) {
  fake->nvidia_fs = 0;
  EXPECT_EQ(way().rfind("through host memory (compatibility mode)", 0), 0u) << way();
}

/// A stream whose work is done when it is queued.
struct PlayedStream final : GpuStream {
  void attach() override {}
  void copy(void*, const void*, std::uint64_t, CopyKind) override {}
  void copy_by_cores(void*, const void*, std::uint64_t) override {}
  void fill(void*, std::uint64_t, const GpuPattern&) override {}
  void check_and_fill(void*, std::uint64_t, const GpuPattern&, const GpuPattern&, GpuWrongWords&) override {}
  void bring(void*, const ExpectedSums&, bool) override {}
  void check(const void*, const ExpectedSums&, GpuWrongElements&) override {}
  void follow(const void* const*, std::uint64_t) override {}
  void hold() override {}
  void release() noexcept override {}
  void keep_busy(std::uint64_t) override {}
  void mark(unsigned) override {}
  void after(const GpuStream&, unsigned) override {}
  bool reached(unsigned) override { return true; }
  void wait_mark(unsigned) override {}
  void wait() override { ++waited; }
  double seconds(unsigned, const GpuStream&, unsigned) override { return 0; }
  unsigned waited = 0;
};

/// Six reads by `calls`, four at once: what each gave, and the first byte that came.
std::string straight(GpuFileReader& reader, Played& memory, gpu::ReadCalls calls, PlayedStream&& stream = {},
                     std::int64_t* failed = nullptr) {
  gpu::StraightReads reads(reader, stream, calls, 4, kPage);
  unsigned given = 0;
  std::string reported;
  reads.run(
      [&](GpuRead& read) {
        if (given == 6) return false;
        read.file = given % 3;
        read.offset = given++ / 3 * kPage;
        read.length = kPage;
        return true;
      },
      [&](unsigned slot, const GpuRead& read, std::uint64_t begin_ns, std::uint64_t end_ns) {
        EXPECT_LE(begin_ns, end_ns);
        if (failed && read.result < 0) *failed = read.result;
        reported += read.result == kPage ? std::string(1, static_cast<char>(memory.begin()[slot * kPage])) : "!";
      });
  std::sort(reported.begin(), reported.end());
  return reported;
}

TEST_F(CuFiles, AreReadOneByOneInBatchesAndInStreams) {
  Played memory(4 * kPage);
  const auto of = reader(memory);
  EXPECT_EQ(straight(*of, memory, gpu::ReadCalls::single), "aabbcc");
  EXPECT_EQ(fake->batches + fake->queued, 0u);
  EXPECT_EQ(straight(*of, memory, gpu::ReadCalls::batch), "aabbcc");
  EXPECT_EQ(fake->batches, 3u);
  EXPECT_EQ(fake->most_in_batch, 2u) << "half is refilled while the other half is read";
  fake->at_once = 1;
  EXPECT_EQ(straight(*of, memory, gpu::ReadCalls::batch), "aabbcc") << "told one by one";
  EXPECT_EQ(straight(*of, memory, gpu::ReadCalls::stream), "aabbcc");
  EXPECT_EQ(fake->queued, 6u);
}

TEST_F(CuFiles, AReadThatFailsAmongOthersIsTheOnlyOne) {
  Played memory(4 * kPage);
  const auto of = reader(memory);
  for (const gpu::ReadCalls calls : {gpu::ReadCalls::batch, gpu::ReadCalls::stream}) {
    // Its own code of a file system that it does not do, and the one that says nothing: neither is an errno.
    for (const long failure : {-5, -1, -5008}) {
      fake->fails = 3;
      fake->failure = failure;
      std::int64_t failed = 0;
      const std::string reported = straight(*of, memory, calls, {}, &failed);
      EXPECT_EQ(reported.size(), 6u);
      EXPECT_EQ(std::count(reported.begin(), reported.end(), '!'), 1) << reported;
      EXPECT_EQ(failed, -EIO);
    }
  }
}

TEST_F(CuFiles, ABatchThatDoesNotEndIsCancelled) {
  Played memory(4 * kPage);
  const auto of = reader(memory);
  fake->never_ends = true;
  EXPECT_THROW(straight(*of, memory, gpu::ReadCalls::batch), RunError);
  EXPECT_GE(fake->cancelled, 1u) << "it would write into memory that is given back";
}

/// What is queued before one that is refused still fills in its result.
TEST_F(CuFiles, QueuedReadsAreAwaitedAfterAnyFailure) {
  Played memory(4 * kPage);
  const auto of = reader(memory);
  fake->refuses = 3;
  PlayedStream stream;
  EXPECT_THROW(straight(*of, memory, gpu::ReadCalls::stream, std::move(stream)), RunError);
  EXPECT_EQ(stream.waited, 1u);
  EXPECT_EQ(straight(*of, memory, gpu::ReadCalls::stream), "aabbcc") << "the next run goes well";
}

TEST(NvidiaFs, CountsReadsWhereItIsReported) {
  const testing::TemporaryFolder root;
  const auto stats = [&](const std::string& io) {
    std::filesystem::create_directories(root.path() + "/proc/driver/nvidia-fs");
    std::ofstream(root.path() + "/proc/driver/nvidia-fs/stats")
        << "GDS Version: 1.16.0.0\nNVFS statistics(ver: 4.0)\nNVFS Driver(version: 2.24.2)\nIO stats: " << io
        << ", peer IO stats: Disabled\n\nActive Process: 1\nReads\t\t\t\t: n=1000 ok=995 err=5 readMiB=4096 "
           "io_state_err=2\nReads\t\t\t\t: Bandwidth(MiB/s)=1024 Avg-Latency(usec)=100\n";
  };
  EXPECT_FALSE(nvidia_fs_reads(root.path()));
  stats("Enabled");
  EXPECT_EQ(nvidia_fs_reads(root.path()), 1000u);
  stats("Disabled");
  EXPECT_FALSE(nvidia_fs_reads(root.path()));
}

}  // namespace
}  // namespace headrace::cuda::cufile_test

#else
TEST(CuFiles, NeedTheCudaBackend) { GTEST_SKIP() << "built without CUDA"; }
#endif
