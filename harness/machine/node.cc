// This machine's cores, memory and space, as far as this process may use them.
#include "harness/machine/node.h"

#include <fmt/format.h>
#include <sched.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <thread>

#include "harness/backends/engines.h"
#include "harness/backends/loader.h"
#include "harness/backends/objects/scratch.h"
#include "harness/base/error.h"
#include "harness/base/files/marked_folder.h"
#include "harness/base/object_path.h"
#include "harness/base/system/kernel_files.h"
#include "harness/base/units.h"
#include "harness/machine/cgroup.h"
#include "harness/machine/disk_quota.h"
#include "harness/machine/mount.h"
#include "harness/record/ranks/peer.h"
#include "harness/record/ranks/ranks.h"

namespace headrace {
namespace {

/// The free space of a store is unknown.
constexpr std::uint64_t kStoreRoom = std::uint64_t{1} << 50;  // [B]

/// Cores in this process's affinity mask (its main thread's: workers are pinned to one core each). Also on machines
/// with more than CPU_SETSIZE of them.
unsigned cores_by_affinity() {
  for (int count = 1024; count <= (1 << 20); count *= 2) {
    cpu_set_t* set = CPU_ALLOC(static_cast<std::size_t>(count));
    const std::size_t size = CPU_ALLOC_SIZE(static_cast<std::size_t>(count));
    const int failed = ::sched_getaffinity(::getpid(), size, set);
    const int cores = failed ? 0 : CPU_COUNT_S(size, set);
    CPU_FREE(set);
    if (cores > 0) return static_cast<unsigned>(cores);
  }
  return std::max(1u, std::thread::hardware_concurrency());
}

std::uint64_t kernel_memory_available() {
  const auto kib = system::number_field(system::read_text("/proc/meminfo").value_or(""), "MemAvailable");
  if (kib) return *kib << 10;
  const long pages = ::sysconf(_SC_AVPHYS_PAGES), size = ::sysconf(_SC_PAGESIZE);
  return pages > 0 && size > 0 ? static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(size) : 0;
}

}  // namespace

Node::Node(std::string scratch_path)
    : scratch_path_(std::move(scratch_path)), backends_(std::make_unique<Backends>()), ranks_(make_solo_ranks()) {}

Node::~Node() = default;

const std::string& Node::scratch() { return scratch_folder().path(); }

bool Node::makes_objects() const { return is_object_path(scratch_path_); }

objects::Scratch& Node::object_scratch() {
  if (!object_scratch_) {
    ObjectStore* store = backends_->storage(object_engine()).object_store();
    object_scratch_ = std::make_unique<objects::Scratch>(objects::Scratch::make(*store, scratch_path_));
  }
  return *object_scratch_;
}

void Node::make_scratch() {
  if (makes_objects())
    object_scratch();
  else
    scratch_folder();
}

const files::Folder& Node::scratch_folder() {
  if (makes_objects())
    throw Unsupported("files are made for this, and " + scratch_path_ + " is no folder: give one with --at DIR");
  // A process locks the folder before it removes it; one that was removed before it was locked is made again.
  while (!scratch_) {
    MarkedFolder made = MarkedFolder::make(own_place(scratch_path_), kScratchKind);
    if (made.folder().lock_shared() && made.is_marked()) scratch_ = std::make_unique<MarkedFolder>(std::move(made));
  }
  scratch_->folder().require_in_place();
  return scratch_->folder();
}

const files::Folder& Node::own_scratch() {
  const files::Folder& shared = scratch_folder();
  if (ranks_->rank() == 0) return shared;
  if (!own_scratch_)
    own_scratch_ = std::make_unique<MarkedFolder>(
        MarkedFolder::make(shared, fmt::format("{}{:05}", kRankFolder, ranks_->rank()), kScratchKind));
  own_scratch_->folder().require_in_place();
  return own_scratch_->folder();
}

void Node::reserve_writes(const std::string& id, std::uint64_t bytes) {
  const auto describe = [](std::uint64_t value) {
    return format_quantity(static_cast<double>(value), Dimension::bytes);
  };
  std::uint64_t total = bytes;
  for (const auto& [other, size] : reserved_) total += other == id ? 0 : size;
  if (max_write_ != 0 && total > max_write_)
    throw RunError(scratch_path_ + ": the generated data would take " + describe(total) + "; max_write allows " +
                   describe(max_write_));
  reserved_[id] = bytes;
}

void Node::spend_making(double seconds) {
  if (making_left_s_) making_left_s_ = std::max(0.0, *making_left_s_ - seconds);
}

void Node::join(std::shared_ptr<Ranks> ranks) {
  ranks_ = std::move(ranks);
  set_team(ranks_->everyone());
}

void Node::meet(std::shared_ptr<Peer> peer) { peer_ = std::move(peer); }

void Node::set_team(std::vector<unsigned> ranks) {
  team_ = std::move(ranks);
  const auto at = std::find(team_.begin(), team_.end(), ranks_->rank());
  team_index_ = static_cast<unsigned>(at - team_.begin());
}

unsigned Node::cores() const {
  const unsigned by_affinity = cores_by_affinity();
  const auto quota = system::cgroup_limits().cores;
  // A quota of 1.5 cores feeds one busy worker surely and a second one only at times.
  return quota ? std::clamp(static_cast<unsigned>(*quota), 1u, by_affinity) : by_affinity;
}

std::uint64_t Node::memory_total() const {
  return system::number_field(system::read_text("/proc/meminfo").value_or(""), "MemTotal").value_or(0) << 10;
}

std::uint64_t Node::memory_available() const {
  const std::uint64_t machine = kernel_memory_available();
  const auto group = system::cgroup_limits().memory_rest;
  return group ? std::min(machine, *group) : machine;
}

std::uint64_t Node::free_bytes(const std::string& path) const {
  if (is_object_path(path)) return kStoreRoom;
  struct statvfs status;
  const std::string existing = system::nearest_existing(path);
  if (::statvfs(existing.c_str(), &status) != 0) return 0;
  return std::min(static_cast<std::uint64_t>(status.f_bavail) * status.f_frsize, system::quota_rest(existing).bytes);
}

std::uint64_t Node::free_inodes(const std::string& path) const {
  constexpr std::uint64_t kAny = ~std::uint64_t{0};
  struct statvfs status;
  const std::string existing = is_object_path(path) ? "" : system::nearest_existing(path);
  if (existing.empty() || ::statvfs(existing.c_str(), &status) != 0) return kAny;
  return std::min(status.f_files == 0 ? kAny : static_cast<std::uint64_t>(status.f_favail),
                  system::quota_rest(existing).files);
}

/// In a container root may write no setting of the kernel.
bool Node::is_root() const { return ::geteuid() == 0 && ::access("/proc/sys/vm/drop_caches", W_OK) == 0; }

}  // namespace headrace
