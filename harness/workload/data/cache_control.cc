// Makes cache states.
#include "harness/workload/data/cache_control.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <thread>
#include <vector>

#include "harness/base/deadline.h"
#include "harness/base/error.h"
#include "harness/base/parallel.h"
#include "harness/base/system/open_quiet.h"
#include "harness/machine/client_counters.h"
#include "harness/machine/mount.h"
#include "harness/machine/storage_stack.h"

namespace headrace {
namespace {

constexpr std::uint64_t kChunk = 1 << 20;
constexpr double kReadAhead_s = 3;                         // wait for pages that are read ahead, at most
constexpr double kLittle = CacheProof::kMostOfOther / 10;  // of the bytes, which need not be waited for
constexpr double kMuch = 0.5;                              // this share is resident, and not on its way

/// Enough to keep storage busy while each thread waits for its own file.
unsigned threads() { return std::clamp(std::thread::hardware_concurrency(), 8u, 32u); }

/// Calls body(worker, file, descriptor, done); it adds the bytes that it is through with to `done`.
template <class Body>
void for_each_file(const FileTable& files, const DataProgress& progress, const char* what, Body body) {
  std::atomic<std::uint64_t> done{0};
  parallel_for(
      files.count(), threads(),
      [&](unsigned worker, std::uint64_t item) {
        const auto file = static_cast<std::uint32_t>(item);
        const system::UniqueFd fd = system::open_quiet(files.root_fd(), files.path(file));
        if (!fd) throw system_error("open", files.full_path(file), errno);
        body(worker, file, fd.get(), done);
      },
      [&] {
        if (progress) progress(done, files.total_bytes(), what);
      });
}

/// Drops all clean pages, names and inodes of the whole machine; only root may. False: the kernel refused. Twice: the
/// first time the journal releases inode blocks only after the page cache was dropped, so they would stay.
bool drop_all_caches() {
  const system::UniqueFd file(::open("/proc/sys/vm/drop_caches", O_WRONLY | O_CLOEXEC));
  return file && ::write(file.get(), "3", 1) == 1 && ::write(file.get(), "3", 1) == 1;
}

void read_all(const FileTable& files, const DataProgress& progress) {
  std::vector<std::vector<unsigned char>> buffers(threads());
  for_each_file(files, progress, "reading into the page cache",
                [&](unsigned worker, std::uint32_t file, int fd, auto& done) {
                  buffers[worker].resize(kChunk);
                  std::uint64_t at = 0;
                  while (true) {
                    const ssize_t got = ::read(fd, buffers[worker].data(), kChunk);
                    if (got == 0) return;
                    if (got < 0 && errno == EINTR) continue;
                    if (got < 0) throw system_error("read", files.full_path(file), at, errno);
                    at += static_cast<std::uint64_t>(got);
                    done += static_cast<std::uint64_t>(got);
                  }
                });
}

std::string percent(double share) { return fmt::format("{:.3g} %", share * 100); }

/// Why there is less to read than the files' names and sizes promise; "" = there is as much.
std::string less_than_promised(const FileSurvey& s) {
  const auto part = [&s](std::uint64_t bytes) {
    return s.bytes > 0 ? static_cast<double>(bytes) / static_cast<double>(s.bytes) : 0;
  };
  if (const double share = part(s.hole_bytes); share > CacheProof::kMostOfOther)
    return fmt::format("{} of the bytes are holes, for which no storage is asked ({})", percent(share), s.sparse_file);
  if (const double share = part(s.distinct_bytes); share < CacheProof::kLeastOfState)
    return fmt::format("only {} of the bytes are different ones: several names share a file ({})", percent(share),
                       s.shared_file);
  return "";
}

constexpr const char* kNamesStay = "names and inodes may be in memory: only root can drop them";
constexpr const char* kNamesRefused = "names and inodes may be in memory: the kernel refused to drop them";

void make_cold(const FileTable& files, const CacheOptions& options, CacheProof& proof, const DataProgress& progress) {
  // Dirty pages cannot be dropped; a failure shows as resident pages. A device is not even synced.
  if (!files.is_device()) ::syncfs(files.root_fd());
  const bool dropped = options.drop_caches && drop_all_caches();
  if (dropped) proof.resident_before = resident_share(files, proof.method, options.seed);
  // Where opens are slow it takes long to open each file: only where pages may be left. Pages still read ahead for the
  // repetition before, a small part of the data, cannot be dropped before they arrive.
  const Deadline patience(kReadAhead_s);
  while (proof.resident_before != 0) {
    for_each_file(files, progress, "dropping from the page cache",
                  [&](unsigned, std::uint32_t file, int fd, auto& done) {
                    ::posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
                    done += files.size(file);
                  });
    proof.resident_before = resident_share(files, proof.method, options.seed);
    if (proof.resident_before < kLittle || proof.resident_before > kMuch || patience.over()) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
  }
  if (dropped) {
    proof.method += ", drop_caches";
    drop_all_caches();  // looking has brought names, inodes and their blocks back
  } else {
    proof.caveat = proof.warm_names = options.drop_caches ? kNamesRefused : kNamesStay;
  }
}

/// Names and attributes can be dropped only together with all others of the machine.
void make_names_cold(const FileTable& files, const CacheOptions& options, CacheProof& proof) {
  ::syncfs(files.root_fd());  // dirty pages stay
  if (!options.drop_caches) {
    proof.obstacle = kNamesStay;
  } else if (!drop_all_caches()) {
    proof.obstacle = kNamesRefused;
  } else {
    proof.method = "drop_caches";
  }
}

std::string client_not_seen(const std::optional<system::Mount>& mount) {
  std::string why = fmt::format("{}: the client's cache is not seen, and nothing here counts what comes from beyond it",
                                mount && !mount->type.empty() ? mount->type : "a file system that is not known");
  if (!mount) return why;
  if (const std::string_view known = system::why_not_counted(*mount); !known.empty())
    why += fmt::format(" ({})", known);
  if (const std::string counter = system::client_counters_of(*mount); !counter.empty())
    why += fmt::format(" ({} cannot be read)", counter);
  return why;
}

/// Why storage may give fewer bytes than are read; "" = it stores them as they are.
std::string compression_of(const system::StorageStack& stack, const CacheOptions& options) {
  const FileSurvey* const s = options.survey;
  if (stack.compresses == "squashfs")
    return "squashfs stores compressed data and does not say how many bytes: cold can be proven of an image that "
           "mksquashfs -noD -noF made; or declare cache: asis";
  if (s == nullptr || s->bytes == 0) return "";
  const double share = static_cast<double>(s->compressed_bytes) / static_cast<double>(s->bytes);
  if (share <= CacheProof::kMostOfOther) return "";
  const char* const asked = !s->stored_is_known && stack.compresses == "btrfs" ? ", and only root may ask as how many"
                            : !s->stored_is_known                              ? ", and does not say as how many"
                            : !options.use.whole_files ? ", and which of them were read is not known"
                                                       : "";
  return fmt::format("{} stores {} of the bytes compressed{}: declare cache: asis, or measure uncompressed files",
                     stack.compresses.empty() ? "the file system" : stack.compresses, percent(share), asked);
}

/// Empties the caches of loop devices' images, and measures the rest.
void empty_second_cache(const system::StorageStack& stack, CacheProof& proof) {
  const std::string why = system::why_buffered(stack);
  if (!why.empty() && proof.declared != CacheState::cold) proof.obstacle = why;
  if (why.empty() || !proof.obstacle.empty()) return;
  proof.second_cache = why;
  for (const system::BufferedFile& file : stack.buffered) {
    const auto left = drop_file(file.path);
    if (!left) proof.obstacle = fmt::format("{} (what of {} is in memory cannot be seen)", why, file.path);
    proof.second_cache_bytes += left.value_or(0);
  }
}

/// The layers below files that must come from storage.
void examine_storage(const FileTable& files, const CacheOptions& options, CacheProof& proof) {
  std::vector<std::string> places{files.place()};
  if (options.survey != nullptr && !options.survey->places.empty()) places = options.survey->places;
  const system::StorageStack stack = system::storage_stack(places);
  proof.compression = compression_of(stack, options);
  if (proof.obstacle.empty()) proof.obstacle = stack.not_storage;
  empty_second_cache(stack, proof);
  if (options.survey == nullptr) return;
  if (proof.obstacle.empty()) proof.obstacle = less_than_promised(*options.survey);
  if (proof.declared == CacheState::cold && proof.use.whole_files) proof.rounding = options.survey->rounding;
}

/// The counter of reads from beyond this machine's page cache.
void find_counter(const FileTable& files, bool from_storage, CacheProof& proof) {
  const auto mount = system::mount_of(files.root());
  const std::string type = mount ? mount->type : "";
  if (system::is_memory_file_system(type) || system::is_counted_file_system(type)) return;
  proof.counter = mount && system::read_client_counters(*mount) ? system::client_counters_of(*mount) : "";
  if (proof.counter.empty() && from_storage) proof.obstacle = client_not_seen(mount);
  if (system::is_network_file_system(type) && proof.declared != CacheState::warm)
    proof.caveat = "the server's own cache is not seen";
}

/// The possible proofs for the file system, the layers below it and the files themselves.
void examine_files(const FileTable& files, const CacheOptions& options, CacheProof& proof) {
  const bool from_storage = proof.declared == CacheState::cold || proof.declared == CacheState::bypassed;
  if (!files.is_device()) find_counter(files, from_storage, proof);
  if (from_storage) examine_storage(files, options, proof);
}

}  // namespace

void establish(CacheState state, const FileTable& files, const CacheOptions& options, CacheProof& proof,
               const DataProgress& progress) {
  proof = nothing_proven(state);
  proof.use = options.use;
  if (files.holds_objects()) {  // this side keeps nothing of them: reads are counted as they come over connections
    proof.counter = "connections";
    proof.method = "no cache on this side";
    proof.caveat = "the store's own caches are not seen";
    return;
  }
  if (options.use.names_only) {
    if (state == CacheState::cold) make_names_cold(files, options, proof);
    if (state == CacheState::warm)
      for_each_file(files, progress, "opening every file",
                    [&](unsigned, std::uint32_t file, int, auto& done) { done += files.size(file); });
  } else {
    if (state == CacheState::cold) make_cold(files, options, proof, progress);
    if (state == CacheState::warm) read_all(files, progress);
    if (state != CacheState::cold) proof.resident_before = resident_share(files, proof.method, options.seed);
  }
  examine_files(files, options, proof);
}

}  // namespace headrace
