// Makes cache states and judges their proofs.
#include "harness/storage/cache_state.h"

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
#include "harness/system/client_counters.h"
#include "harness/system/mount.h"
#include "harness/system/open_quiet.h"

namespace headrace {
namespace {

constexpr double kMostOfOther = 0.05;  // of a cold data set in memory, of a warm one from storage
constexpr double kLeastOfState = 1 - kMostOfOther;
constexpr double kName = 64;  // [B] no file system keeps a name and its attributes in less
constexpr std::uint64_t kChunk = 1 << 20;

constexpr std::array<std::pair<CacheState, std::string_view>, 4> kStates{{{CacheState::cold, "cold"},
                                                                          {CacheState::warm, "warm"},
                                                                          {CacheState::bypassed, "bypassed"},
                                                                          {CacheState::asis, "asis"}}};

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

std::string percent(double share) { return fmt::format("{:.3g} %", share * 100); }

/// Why there is less to read than the files' names and sizes promise; "" = there is as much.
std::string less_than_promised(const FileSurvey& s) {
  const auto part = [&s](std::uint64_t bytes) {
    return s.bytes > 0 ? static_cast<double>(bytes) / static_cast<double>(s.bytes) : 0;
  };
  if (const double share = part(s.hole_bytes); share > kMostOfOther)
    return fmt::format("{} of the bytes are holes, for which no storage is asked ({})", percent(share), s.sparse_file);
  if (const double share = part(s.distinct_bytes); share < kLeastOfState)
    return fmt::format("only {} of the bytes are different ones: several names share a file ({})", percent(share),
                       s.shared_file);
  return "";
}

constexpr const char* kNamesStay = "names and inodes may be in memory: only root can drop them";
constexpr const char* kNamesRefused = "names and inodes may be in memory: the kernel refused to drop them";

void make_cold(const FileTable& files, const CacheOptions& options, CacheProof& proof, const DataProgress& progress) {
  // Dirty pages cannot be dropped; what fails here shows as resident. A device is not even synced.
  if (!files.is_device()) ::syncfs(files.root_fd());
  for_each_file(files, progress, "dropping from the page cache", [&](unsigned, std::uint32_t file, int fd, auto& done) {
    ::posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
    done += files.size(file);
  });
  const bool dropped = options.drop_caches && drop_all_caches();
  proof.resident_before = resident_share(files, proof.method, options.seed);
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

/// What the file system and the files themselves let be proven.
void examine_files(const FileTable& files, const CacheOptions& options, CacheProof& proof) {
  const bool from_storage = proof.declared == CacheState::cold || proof.declared == CacheState::bypassed;
  const std::string obstacle = from_storage && options.survey != nullptr ? less_than_promised(*options.survey) : "";
  if (options.survey != nullptr && proof.declared == CacheState::cold && proof.use.whole_files)
    proof.rounding = options.survey->rounding;
  if (!files.is_device()) {
    const auto mount = system::mount_of(files.root());
    const std::string type = mount ? mount->type : "";
    if (system::is_memory_file_system(type)) {
      if (from_storage) proof.obstacle = type + " keeps files in memory: there is no storage below it";
    } else if (!system::is_counted_file_system(type)) {
      proof.counter = mount && system::read_client_counters(*mount) ? system::client_counters_of(*mount) : "";
      if (proof.counter.empty() && from_storage)
        proof.obstacle =
            fmt::format("{}: the client's cache is not seen, and nothing here counts what comes from beyond it",
                        type.empty() ? "a file system that is not known" : type);
      if (system::is_network_file_system(type) && proof.declared != CacheState::warm)
        proof.caveat = "the server's own cache is not seen";
    }
  }
  if (proof.obstacle.empty()) proof.obstacle = obstacle;
}

struct Evidence {
  bool seen = false;  // is there anything to judge by?
  bool good = true;
  std::string told;
};

Evidence residency(const CacheProof& proof, bool wanted) {
  Evidence evidence;
  if (proof.resident_before < 0) return evidence;
  evidence.seen = true;
  evidence.good = wanted ? proof.resident_before >= kLeastOfState : proof.resident_before <= kMostOfOther;
  evidence.told = percent(proof.resident_before) + " in the page cache before";
  return evidence;
}

Evidence traffic(const CacheProof& proof, bool wanted) {
  Evidence evidence;
  if (proof.delivered_bytes == 0 || proof.counter.empty()) return evidence;
  evidence.seen = true;
  const double share = static_cast<double>(proof.storage_bytes) / static_cast<double>(proof.delivered_bytes);
  // Around the page cache, every reader goes to the storage itself.
  const unsigned readers = proof.declared == CacheState::cold ? proof.use.readers : 1;
  evidence.good = wanted ? share * readers >= kLeastOfState * proof.rounding : share <= kMostOfOther;
  evidence.told = percent(share) + " of the bytes from storage";
  if (readers > 1) evidence.told += fmt::format(" (each was read {} times)", readers);
  if (!evidence.good && proof.rounding > 1 + kMostOfOther)
    evidence.told += fmt::format(" ({} with whole blocks, had all come from there)", percent(proof.rounding));
  else if (share > 1 + kMostOfOther)
    evidence.told += " (with read-ahead and metadata)";
  return evidence;
}

constexpr const char* kNotCounted = "this file system's traffic is not counted";

/// Names: what each operation brought from storage, or asked of a server, tells where they were.
void judge_names(CacheProof& proof) {
  const bool cold = proof.declared == CacheState::cold;
  const auto each = [&proof](std::uint64_t count) {
    return static_cast<double>(count) / static_cast<double>(proof.operations);
  };
  if (proof.counter.empty()) {
    proof.proven = !cold;
    proof.why = cold ? kNotCounted : fmt::format("every name was asked for before; {}", kNotCounted);
  } else if (proof.counter != CacheProof::kOwnCounter) {
    const double asked = each(proof.requests);
    proof.proven = cold ? asked >= kLeastOfState : asked <= kMostOfOther;
    proof.why = fmt::format("{:.3g} requests to the server for each operation", asked);
  } else {
    const double bytes = each(proof.storage_bytes);
    proof.proven = cold ? bytes >= kName : bytes <= kMostOfOther * kName;
    proof.why = fmt::format("{:.3g} B from storage for each operation", bytes);
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

CacheProof nothing_proven(CacheState declared) {
  CacheProof proof;
  proof.declared = declared;
  proof.required = declared != CacheState::asis;
  if (proof.required) proof.why = "nothing was looked at";
  return proof;
}

void establish(CacheState state, const FileTable& files, const CacheOptions& options, CacheProof& proof,
               const DataProgress& progress) {
  proof = nothing_proven(state);
  proof.use = options.use;
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

void judge(CacheProof& proof) {
  if (proof.declared == CacheState::asis) {
    proof.proven = true;
    proof.why =
        proof.resident_before < 0 ? "no state was asked for" : "no state was asked for; " + residency(proof, true).told;
    return;
  }
  const bool nothing = (proof.use.names_only ? proof.operations : proof.delivered_bytes) == 0;
  if (nothing || !proof.obstacle.empty()) {
    proof.proven = false;
    proof.why = proof.obstacle.empty() ? "nothing was read" : proof.obstacle;
    return;
  }
  if (proof.use.names_only) return judge_names(proof);
  const Evidence memory =
      proof.declared == CacheState::bypassed ? Evidence{} : residency(proof, proof.declared == CacheState::warm);
  const Evidence storage = traffic(proof, proof.declared != CacheState::warm);
  // That pages are not in memory here does not say that they came from storage.
  const bool decides = proof.declared == CacheState::warm ? memory.seen || storage.seen : storage.seen;
  proof.proven = decides && memory.good && storage.good;
  if (!memory.seen && !storage.seen) {
    proof.why = "the kernel tells neither what is in the page cache nor what came from storage";
    return;
  }
  proof.why = memory.told;
  if (!memory.seen && proof.declared != CacheState::bypassed)
    proof.why = "the kernel does not tell what is in the page cache";
  if (!proof.why.empty()) proof.why += "; ";
  proof.why += storage.seen ? storage.told : kNotCounted;
  if (!proof.caveat.empty()) proof.why += "; " + proof.caveat;
}

void add(CacheProof& all, const CacheProof& more) {
  all.delivered_bytes += more.delivered_bytes;
  all.operations += more.operations;
  all.requests += more.requests;
  all.storage_bytes += more.storage_bytes;
  all.device_bytes += more.device_bytes;
  all.resident_before = all.declared == CacheState::warm ? std::min(all.resident_before, more.resident_before)
                                                         : std::max(all.resident_before, more.resident_before);
  all.resident_after = more.resident_after;
  all.required = all.required || more.required;
  if (all.proven && !more.proven) {
    all.proven = false;
    all.why = more.why;
  }
}

}  // namespace headrace
