// Makes cache states and judges their proofs.
#include "harness/cache_state.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <thread>
#include <vector>

#include "harness/error.h"
#include "harness/parallel.h"
#include "harness/system/mount.h"
#include "harness/system/open_quiet.h"

namespace headrace {
namespace {

constexpr double kMostOfOther = 0.05;  // of a cold data set in memory, of a warm one from storage
constexpr double kLeastOfState = 1 - kMostOfOther;
constexpr double kName = 64;  // [B] no file system keeps a name and its attributes in less
constexpr std::uint64_t kChunk = 1 << 20;

constexpr std::array<std::pair<CacheState, std::string_view>, 4> kStates{
    {{CacheState::cold, "cold"},
     {CacheState::warm, "warm"},
     {CacheState::bypassed, "bypassed"},
     {CacheState::asis, "asis"}}};

/// Enough to keep storage busy while each thread waits for its own file.
unsigned threads() { return std::clamp(std::thread::hardware_concurrency(), 8u, 32u); }

/// Calls body(worker, file, descriptor, done); it adds the bytes that it is through with to `done`.
template <class Body>
void for_each_file(const FileTable& files, const DataProgress& progress, const char* what,
                   Body body) {
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

/// Drops all clean pages, names and inodes of the whole machine; only root may. False: the kernel
/// refused.
bool drop_all_caches() {
  const system::UniqueFd file(::open("/proc/sys/vm/drop_caches", O_WRONLY | O_CLOEXEC));
  return file && ::write(file.get(), "3", 1) == 1;
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

constexpr const char* kNamesStay = "names and inodes may be in memory: only root can drop them";
constexpr const char* kNamesRefused =
    "names and inodes may be in memory: the kernel refused to drop them";

void make_cold(const FileTable& files, const CacheOptions& options, CacheProof& proof,
               const DataProgress& progress) {
  // Dirty pages cannot be dropped; what fails here shows as resident. A device is not even synced.
  if (!files.is_device()) ::syncfs(files.root_fd());
  for_each_file(files, progress, "dropping from the page cache",
                [&](unsigned, std::uint32_t file, int fd, auto& done) {
                  ::posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
                  done += files.size(file);
                });
  const bool dropped = options.drop_caches && drop_all_caches();
  proof.resident_before = resident_share(files, proof.method);
  if (dropped) {
    proof.method += ", drop_caches";
    drop_all_caches();  // looking has brought names, inodes and their blocks back
  } else if (options.drop_caches) {
    proof.caveat = kNamesRefused;
  } else {
    proof.caveat = kNamesStay;
  }
}

/// Names and attributes can be dropped only together with all others of the machine.
void make_names_cold(const FileTable& files, const CacheOptions& options, CacheProof& proof) {
  ::syncfs(files.root_fd());  // what is dirty stays
  if (!options.drop_caches) {
    proof.obstacle = kNamesStay;
  } else if (!drop_all_caches()) {
    proof.obstacle = kNamesRefused;
  } else {
    proof.method = "drop_caches";
  }
}

void examine_file_system(CacheState state, const FileTable& files, CacheProof& proof) {
  if (files.is_device()) return;
  const auto mount = system::mount_of(files.root());
  const std::string type = mount ? mount->type : "";
  const bool memory =
      type == "tmpfs" || type == "ramfs" || type == "hugetlbfs" || type == "devtmpfs";
  if (memory && (state == CacheState::cold || state == CacheState::bypassed))
    proof.obstacle = type + " keeps files in memory: there is no storage below it";
  const bool network = system::is_network_file_system(type);
  proof.counted = !network && !type.starts_with("fuse") && type != "9p" && type != "virtiofs";
  if (network && state != CacheState::warm) proof.caveat = "the server's own cache is not seen";
}

std::string percent(double share) { return fmt::format("{:.3g} %", share * 100); }

struct Evidence {
  bool seen = false;  // is there anything to judge by?
  bool good = true;
  std::string told;
};

Evidence residency(const CacheProof& proof, bool wanted) {
  Evidence evidence;
  if (proof.resident_before < 0) return evidence;
  evidence.seen = true;
  evidence.good =
      wanted ? proof.resident_before >= kLeastOfState : proof.resident_before <= kMostOfOther;
  evidence.told = percent(proof.resident_before) + " in the page cache before";
  return evidence;
}

Evidence traffic(const CacheProof& proof, bool wanted) {
  Evidence evidence;
  // The process's own counter where it sees this file system: the device's counts neighbours, too.
  const bool own = proof.storage_bytes != 0 || (proof.counted && !wanted);
  const std::uint64_t bytes = own ? proof.storage_bytes : proof.device_bytes;
  if (proof.delivered_bytes == 0 || (!proof.counted && bytes == 0)) return evidence;
  evidence.seen = true;
  const double share = static_cast<double>(bytes) / static_cast<double>(proof.delivered_bytes);
  // Around the page cache, every reader goes to the storage itself.
  const unsigned readers = proof.declared == CacheState::cold ? proof.use.readers : 1;
  evidence.good = wanted ? share * readers >= kLeastOfState : share <= kMostOfOther;
  evidence.told = percent(share) + " of the bytes from storage";
  if (readers > 1) evidence.told += fmt::format(" (each was read {} times)", readers);
  if (share > 1 + kMostOfOther) evidence.told += " (with read-ahead and metadata)";
  return evidence;
}

/// Names: what each operation brought from storage tells where they were.
void judge_names(CacheProof& proof) {
  if (!proof.counted) {
    proof.proven = true;
    proof.why = proof.declared == CacheState::cold
                    ? "all caches were dropped; this file system's traffic is not counted"
                    : "every name was asked for before; this file system's traffic is not counted";
  } else {
    const double each =
        static_cast<double>(proof.storage_bytes) / static_cast<double>(proof.operations);
    proof.proven =
        proof.declared == CacheState::cold ? each >= kName : each <= kMostOfOther * kName;
    proof.why = fmt::format("{:.3g} B from storage for each operation", each);
  }
  if (!proof.caveat.empty()) proof.why += "; " + proof.caveat;
}

}  // namespace

std::string_view to_string(CacheState state) {
  for (const auto& [known, name] : kStates)
    if (known == state) return name;
  return "";
}

std::optional<CacheState> parse_cache_state(std::string_view text) {
  for (const auto& [state, name] : kStates)
    if (name == text) return state;
  return std::nullopt;
}

void establish(CacheState state, const FileTable& files, const CacheOptions& options,
               CacheProof& proof, const DataProgress& progress) {
  proof.declared = state;
  proof.use = options.use;
  if (options.use.names_only) {
    if (state == CacheState::cold) make_names_cold(files, options, proof);
    if (state == CacheState::warm)
      for_each_file(files, progress, "opening every file",
                    [&](unsigned, std::uint32_t file, int, auto& done) { done += files.size(file); });
  } else {
    if (state == CacheState::cold) make_cold(files, options, proof, progress);
    if (state == CacheState::warm) read_all(files, progress);
    if (state != CacheState::cold) proof.resident_before = resident_share(files, proof.method);
  }
  examine_file_system(state, files, proof);
}

void judge(CacheProof& proof) {
  if (proof.declared == CacheState::asis) {
    proof.proven = true;
    proof.why = proof.resident_before < 0
                    ? "no state was asked for"
                    : "no state was asked for; " + residency(proof, true).told;
    return;
  }
  const bool nothing = (proof.use.names_only ? proof.operations : proof.delivered_bytes) == 0;
  if (nothing || !proof.obstacle.empty()) {
    proof.proven = false;
    proof.why = proof.obstacle.empty() ? "nothing was read" : proof.obstacle;
    return;
  }
  if (proof.use.names_only) return judge_names(proof);
  const Evidence memory = proof.declared == CacheState::bypassed
                              ? Evidence{}
                              : residency(proof, proof.declared == CacheState::warm);
  const Evidence storage = traffic(proof, proof.declared != CacheState::warm);
  proof.proven = (memory.seen || storage.seen) && memory.good && storage.good;
  if (!memory.seen && !storage.seen) {
    proof.why = "the kernel tells neither what is in the page cache nor what came from storage";
    return;
  }
  proof.why = memory.told;
  if (!memory.seen && proof.declared != CacheState::bypassed)
    proof.why = "the kernel does not tell what is in the page cache";
  if (!proof.why.empty()) proof.why += "; ";
  proof.why += storage.seen ? storage.told : "this file system's traffic is not counted";
  if (!proof.caveat.empty()) proof.why += "; " + proof.caveat;
}

}  // namespace headrace
