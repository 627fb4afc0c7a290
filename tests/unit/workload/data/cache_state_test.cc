#include "harness/workload/data/cache_control.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "harness/machine/block_device.h"
#include "harness/machine/mount.h"
#include "harness/machine/node.h"
#include "tests/unit/temporary_folder.h"

namespace headrace::cache_state_test {
namespace {

using testing::TemporaryFolder;

TEST(CacheState, NamesRoundTrip) {
  for (const CacheState state : {CacheState::cold, CacheState::warm, CacheState::bypassed, CacheState::asis})
    EXPECT_EQ(parse_cache_state(to_string(state)), state);
  EXPECT_FALSE(parse_cache_state("hot"));
}

CacheProof judged(CacheState state, double resident, std::uint64_t delivered, std::uint64_t storage) {
  CacheProof proof;
  proof.declared = state;
  proof.resident_before = resident;
  proof.delivered_bytes = delivered;
  proof.storage_bytes = storage;
  judge(proof);
  return proof;
}

TEST(JudgeCacheState, ColdNeedsAnEmptyCacheAndTrafficFromStorage) {
  EXPECT_TRUE(judged(CacheState::cold, 0.05, 100, 95).proven);
  EXPECT_FALSE(judged(CacheState::cold, 0.051, 100, 100).proven);
  EXPECT_FALSE(judged(CacheState::cold, 0, 100, 94).proven);
  EXPECT_TRUE(judged(CacheState::cold, 0, 100, 300).proven);
  EXPECT_EQ(judged(CacheState::cold, 0.002, 1000, 1030).why,
            "0.2 % in the page cache before; 103 % of the bytes from storage");
  EXPECT_EQ(judged(CacheState::cold, 0, 100, 300).why,
            "0 % in the page cache before; 300 % of the bytes from storage (with read-ahead and "
            "metadata)");
  EXPECT_EQ(judged(CacheState::cold, 0, 0, 0).why, "nothing was read");
}

TEST(JudgeCacheState, LateDeliveriesCameFromStorageNonetheless) {
  EXPECT_TRUE(judged(CacheState::cold, 0, 0, 100).proven);
  EXPECT_EQ(judged(CacheState::cold, 0, 0, 100).why,
            "0 % in the page cache before; what came from storage was not delivered in time");
  EXPECT_FALSE(judged(CacheState::cold, 0.5, 0, 100).proven);
  EXPECT_FALSE(judged(CacheState::warm, 1, 0, 100).proven);
}

TEST(JudgeCacheState, WarmNeedsAFullCacheAndASilentStorage) {
  EXPECT_TRUE(judged(CacheState::warm, 0.95, 100, 5).proven);
  EXPECT_FALSE(judged(CacheState::warm, 0.94, 100, 0).proven);
  EXPECT_FALSE(judged(CacheState::warm, 1, 100, 6).proven);
}

TEST(JudgeCacheState, BypassedLooksAtTrafficOnly) {
  EXPECT_TRUE(judged(CacheState::bypassed, 1, 100, 100).proven);
  EXPECT_FALSE(judged(CacheState::bypassed, 0, 100, 90).proven);
  EXPECT_EQ(judged(CacheState::bypassed, 1, 100, 100).why, "100 % of the bytes from storage");
}

TEST(JudgeCacheState, IfOneIsUnknownTheOtherDecides) {
  EXPECT_TRUE(judged(CacheState::cold, -1, 100, 100).proven);
  EXPECT_FALSE(judged(CacheState::cold, -1, 100, 10).proven);
  CacheProof remote = nothing_proven(CacheState::warm);
  remote.counter.clear();
  remote.delivered_bytes = 100;
  remote.resident_before = 1;
  judge(remote);
  EXPECT_TRUE(remote.proven);
  EXPECT_EQ(remote.why, "100 % in the page cache before; this file system's traffic is not counted");
}

TEST(JudgeCacheState, UncountedBytesAreNotFromStorage) {
  for (const CacheState state : {CacheState::cold, CacheState::bypassed}) {
    CacheProof remote = nothing_proven(state);
    remote.counter.clear();
    remote.resident_before = 0;
    remote.delivered_bytes = remote.device_bytes = 100;
    judge(remote);
    EXPECT_FALSE(remote.proven);
  }
}

TEST(JudgeCacheState, NeighboursProveNothing) {
  CacheProof proof = nothing_proven(CacheState::cold);
  proof.resident_before = 0;
  proof.delivered_bytes = proof.device_bytes = 100;
  judge(proof);
  EXPECT_FALSE(proof.proven) << proof.why;
}

TEST(JudgeCacheState, BytesFromAServerAreCounted) {
  CacheProof proof = nothing_proven(CacheState::cold);
  proof.counter = "mountstats";
  proof.caveat = "the server's own cache is not seen";
  proof.resident_before = 0;
  proof.delivered_bytes = 100;
  proof.storage_bytes = 95;
  judge(proof);
  EXPECT_TRUE(proof.proven);
  EXPECT_EQ(proof.why,
            "0 % in the page cache before; 95 % of the bytes from storage; the server's own cache "
            "is not seen");
  proof.storage_bytes = 94;
  judge(proof);
  EXPECT_FALSE(proof.proven);
  proof.use.names_only = true;
  proof.operations = 100;
  proof.requests = 95;
  judge(proof);
  EXPECT_TRUE(proof.proven);
  proof.requests = 94;
  judge(proof);
  EXPECT_FALSE(proof.proven);
}

TEST(JudgeCacheState, SmallFilesComeInWholeBlocks) {
  CacheProof proof = nothing_proven(CacheState::cold);
  proof.resident_before = 0;
  proof.delivered_bytes = 1000;
  proof.rounding = 4;  // files of 1 kB: half of them from memory would still be twice what was asked for
  proof.storage_bytes = 2000;
  judge(proof);
  EXPECT_FALSE(proof.proven);
  EXPECT_EQ(proof.why,
            "0 % in the page cache before; 200 % of the bytes from storage (400 % with whole blocks, "
            "had all come from there)");
  proof.storage_bytes = 4000;
  judge(proof);
  EXPECT_TRUE(proof.proven);
}

TEST(JudgeCacheState, CompressedBytesAreAsManyAsTheyAreStoredAs) {
  CacheProof proof = nothing_proven(CacheState::cold);
  proof.resident_before = 0;
  proof.delivered_bytes = 1000;
  proof.storage_bytes = 200;
  proof.compression = "btrfs stores 100 % of the bytes compressed";
  judge(proof);
  EXPECT_FALSE(proof.proven) << "as how many is not known";
  EXPECT_EQ(proof.why,
            "0 % in the page cache before; 20 % of the bytes from storage; btrfs stores 100 % of the bytes compressed");
  proof.rounding = 0.2;
  judge(proof);
  EXPECT_TRUE(proof.proven);
  EXPECT_EQ(proof.why, "0 % in the page cache before; 20 % of the bytes from storage (stored compressed, as 20 %)");
  proof.storage_bytes = 180;
  judge(proof);
  EXPECT_FALSE(proof.proven) << "a tenth of what is stored came from elsewhere";
  proof.storage_bytes = 200;
  proof.resident_before = 0.06;
  judge(proof);
  EXPECT_FALSE(proof.proven);
}

TEST(JudgeCacheState, ACacheBelowThatOfTheFilesHasToBeEmptyToo) {
  CacheProof proof = nothing_proven(CacheState::cold);
  proof.resident_before = 0;
  proof.delivered_bytes = proof.storage_bytes = 100'000'000;
  proof.second_cache = "loop1 reads image through the page cache";
  proof.second_cache_bytes = 5'000'000;
  judge(proof);
  EXPECT_TRUE(proof.proven) << proof.why;
  proof.second_cache_bytes = 6'000'000;
  judge(proof);
  EXPECT_FALSE(proof.proven);
  EXPECT_EQ(proof.why, "loop1 reads image through the page cache (6 MB of it were in memory before)");
  proof.use.names_only = true;
  proof.operations = 100;
  proof.second_cache_bytes = 4096;
  judge(proof);
  EXPECT_FALSE(proof.proven) << "thousands of names are in a page";
  proof.second_cache_bytes = 0;
  judge(proof);
  EXPECT_TRUE(proof.proven) << proof.why;
}

TEST(CacheProof, IsEvidenceWhereItsStateWasProvenOrNoneWasDeclared) {
  EXPECT_TRUE(judged(CacheState::asis, -1, 0, 0).is_evidence());
  EXPECT_FALSE(nothing_proven(CacheState::cold).is_evidence());
  CacheProof cold = nothing_proven(CacheState::cold);
  cold.resident_before = 0;
  cold.delivered_bytes = cold.storage_bytes = 100;
  judge(cold);
  EXPECT_TRUE(cold.is_evidence());
}

TEST(JudgeCacheState, EveryPhaseAndRankCounts) {
  CacheProof good = judged(CacheState::cold, 0, 100, 100);
  const CacheProof bad = judged(CacheState::cold, 0.5, 100, 100);
  add(good, bad);
  EXPECT_FALSE(good.proven);
  EXPECT_EQ(good.why, bad.why);
  EXPECT_EQ(good.resident_before, 0.5);
  EXPECT_EQ(good.delivered_bytes, 200u);
  CacheProof silent = judged(CacheState::cold, 0, 100, 100), nameless = bad;
  nameless.why.clear();
  add(silent, nameless);
  EXPECT_FALSE(silent.proven) << "without a reason, too";
}

TEST(NothingProven, NeedsAProofWhereAStateWasDeclared) {
  EXPECT_TRUE(nothing_proven(CacheState::bypassed).required);
  EXPECT_FALSE(nothing_proven(CacheState::bypassed).proven);
  EXPECT_FALSE(nothing_proven(CacheState::asis).required);
}

TEST(JudgeCacheState, SharedBytesComeFromStorageOnce) {
  CacheProof proof;
  proof.declared = CacheState::cold;
  proof.use.readers = 4;
  proof.resident_before = 0;
  proof.delivered_bytes = 400;
  proof.storage_bytes = 100;
  judge(proof);
  EXPECT_TRUE(proof.proven);
  EXPECT_EQ(proof.why, "0 % in the page cache before; 25 % of the bytes from storage (each was read 4 times)");
  proof.storage_bytes = 90;
  judge(proof);
  EXPECT_FALSE(proof.proven);
  proof.declared = CacheState::bypassed;  // each reader goes to the storage
  proof.storage_bytes = 100;
  judge(proof);
  EXPECT_FALSE(proof.proven);
}

TEST(JudgeCacheState, NamesAreProvenByBytesFromStorage) {
  const auto names = [](CacheState state, std::uint64_t operations, std::uint64_t storage) {
    CacheProof proof;
    proof.declared = state;
    proof.use.names_only = true;
    proof.operations = operations;
    proof.storage_bytes = storage;
    judge(proof);
    return proof;
  };
  EXPECT_TRUE(names(CacheState::cold, 100, 6400).proven);
  EXPECT_FALSE(names(CacheState::cold, 100, 6300).proven);
  EXPECT_TRUE(names(CacheState::warm, 100, 300).proven);
  EXPECT_FALSE(names(CacheState::warm, 100, 400).proven);
  EXPECT_EQ(names(CacheState::cold, 100, 25'600).why, "256 B from storage for each operation");
  EXPECT_EQ(names(CacheState::cold, 0, 0).why, "nothing was read");
}

TEST(JudgeCacheState, AsIsIsAlwaysTrue) { EXPECT_TRUE(judged(CacheState::asis, -1, 0, 0).proven); }

DataSetSpec small_set() {
  DataSetSpec spec;
  spec.files = 50;
  spec.file_size = 20'000;
  return spec;
}

TEST(EstablishCacheState, WarmThenCold) {
  const TemporaryFolder tmp;
  if (!system::device_of(tmp.path())) GTEST_SKIP() << "no block device under the temporary folder";
  Node node(tmp / "scratch");
  const auto data = DataSet::open(small_set(), node, {});
  CacheProof warm, cold;
  establish(CacheState::warm, data->files(), {}, warm);
  EXPECT_GE(warm.resident_before, 0.99);
  EXPECT_FALSE(warm.method.empty());
  establish(CacheState::cold, data->files(), {}, cold);
  EXPECT_LE(cold.resident_before, 0.01);
  EXPECT_EQ(cold.caveat, "names and inodes may be in memory: only root can drop them");
  EXPECT_EQ(cold.warm_names, cold.caveat);
  EXPECT_EQ(warm.warm_names, "");
  std::uint64_t before = 0, after = 0, written = 0;
  const bool counted = system::read_self_io(before, written);
  EXPECT_TRUE(data->verify({}).empty());
  if (counted && system::read_self_io(after, written)) {
    EXPECT_GE(after - before, data->files().total_bytes() * 95 / 100);
  }
}

/// Of bytes, not of files: of 1 MiB that is not in memory and 3 MiB that are, three quarters.
TEST(ResidentShare, IsThatOfTheBytes) {
  const TemporaryFolder tmp;
  if (!system::device_of(tmp.path())) GTEST_SKIP() << "no block device under the temporary folder";
  FileTable files(::open(tmp.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC), tmp.path());
  const auto add = [&](const char* name, std::size_t size, bool stays) {
    tmp.write(name, std::string(size, 'x'));
    const int fd = ::open((tmp / name).c_str(), O_RDONLY | O_CLOEXEC);
    ASSERT_GE(fd, 0);
    ASSERT_EQ(::fsync(fd), 0);  // what is dirty cannot be dropped
    if (!stays) ::posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
    ::close(fd);
    files.add(name, size);
  };
  std::string method;
  EXPECT_LT(resident_share(files, method), 0) << "of nothing nothing is known";
  add("cold", 1 << 20, false);
  EXPECT_NEAR(resident_share(files, method), 0, 0.01);
  add("warm", 3 << 20, true);
  add("empty", 0, true);
  EXPECT_NEAR(resident_share(files, method), 0.75, 0.01);
  EXPECT_TRUE(method == "cachestat" || method == "mincore") << method;
}

TEST(EstablishCacheState, NamesCanBeColdForRootOnly) {
  const TemporaryFolder tmp;
  if (!system::device_of(tmp.path())) GTEST_SKIP() << "no block device under the temporary folder";
  Node node(tmp / "scratch");
  const auto data = DataSet::open(small_set(), node, {});
  CacheProof warm, cold;
  establish(CacheState::warm, data->files(), {.use = {.names_only = true}}, warm);
  warm.operations = 50;
  judge(warm);
  EXPECT_TRUE(warm.proven) << warm.why;
  establish(CacheState::cold, data->files(), {.use = {.names_only = true}}, cold);
  cold.operations = 50;
  judge(cold);
  EXPECT_EQ(cold.why, "names and inodes may be in memory: only root can drop them");
  EXPECT_FALSE(cold.proven);
}

TEST(EstablishCacheState, MemoryFileSystemsAreNeitherColdNorBypassed) {
  const auto mount = system::mount_of("/dev/shm");
  if (!mount || mount->type != "tmpfs") GTEST_SKIP() << "/dev/shm is no tmpfs";
  const std::string folder = "/dev/shm/headrace_test_" + std::to_string(::getpid());
  {
    Node node(folder);
    const auto data = DataSet::open(small_set(), node, {});
    for (const CacheState state : {CacheState::cold, CacheState::bypassed}) {
      CacheProof proof;
      establish(state, data->files(), {}, proof);
      proof.delivered_bytes = proof.storage_bytes = 100;
      judge(proof);
      EXPECT_FALSE(proof.proven) << to_string(state);
      EXPECT_EQ(proof.why, "tmpfs keeps files in memory: there is no storage below it");
    }
    CacheProof warm;
    establish(CacheState::warm, data->files(), {}, warm);
    warm.delivered_bytes = 100;
    judge(warm);
    EXPECT_TRUE(warm.proven) << warm.why;
  }
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace headrace::cache_state_test
