#include "harness/workload/data/local_tier.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>

#include "harness/base/diagnostics.h"
#include "harness/base/error.h"
#include "harness/base/files/write_fully.h"
#include "harness/machine/node.h"

namespace headrace {
namespace {

constexpr const char* kTierKind = "local_cache";  // and the folder's name

std::string name_of(std::uint32_t file) { return fmt::format("copy-{:08}.bin", file); }

/// A copy has the bytes of a user's file, which prove nothing. Its proof is the maker's mark, which no other program
/// gives to files. The file must have such a name, in a folder that only headrace writes.
bool is_ours(std::string_view name, const struct stat& status) {
  if (!name.starts_with("copy-") || !name.ends_with(".bin") || name.size() < 17) return false;
  if (name.substr(5, name.size() - 9).find_first_not_of("0123456789") != std::string_view::npos) return false;
  return S_ISREG(status.st_mode) && files::bears_mark(status);
}

/// Every copy; others are named.
CleanReport remove_copies(const files::Folder& folder) {
  CleanReport report;
  for (const std::string& name : folder.entries()) {
    const auto status = folder.look(name);
    if (!status || name == MarkedFolder::kMark || folder.is_aside(name)) continue;
    if (is_ours(name, *status) && folder.remove(name, *status)) {
      ++report.files;
      report.bytes += static_cast<std::uint64_t>(status->st_size);
    } else {
      report.left.push_back(folder.path_of(name) + ": not made by headrace");
    }
  }
  return report;
}

MarkedFolder scratch_at(const std::string& path) {
  try {
    return MarkedFolder::make(path, kScratchKind);
  } catch (const UsageError& e) {  // other points of the plan do not need it
    throw RunError(e.what());
  }
}

CleanReport remove_tier(const MarkedFolder& marked) {
  CleanReport report = remove_copies(marked.folder());
  if (report.left.empty()) report.gone = marked.remove().gone;
  return report;
}

}  // namespace

LocalTier::LocalTier(const std::string& path, const FileTable& source)
    : scratch_(scratch_at(path)),
      marked_(MarkedFolder::make_alone(scratch_.folder(), kTierKind, kTierKind)),
      files_(marked_.folder().again().release().release(), marked_.path()),
      held_(std::make_unique<std::atomic<unsigned char>[]>(source.count())) {
  for (std::uint32_t file = 0; file < source.count(); ++file) files_.add(name_of(file), source.size(file));
  clear(0);
}

LocalTier::~LocalTier() {
  try {
    remove_tier(marked_);
  } catch (const RunError&) {  // files that cannot be removed stay for `clean`
  }
}

void LocalTier::require_usable(const std::string& path) { scratch_at(path); }

std::uint64_t LocalTier::free_bytes() const {
  struct statvfs device {};
  if (::fstatvfs(marked_.folder().fd(), &device) != 0) throw system_error("statvfs", marked_.path(), errno);
  return std::uint64_t{device.f_bavail} * device.f_frsize;
}

void LocalTier::clear(std::uint64_t capacity) {
  marked_.folder().require_in_place();
  if (const CleanReport report = remove_copies(marked_.folder()); !report.left.empty())
    throw RunError(report.left.front());
  for (std::uint32_t file = 0; file < files_.count(); ++file) held_[file].store(0);
  used_ = 0;
  capacity_ = capacity;
}

void LocalTier::settle() const {
  for (std::uint32_t file = 0; file < files_.count(); ++file) {
    if (!holds(file)) continue;
    const system::UniqueFd fd(files::open_beneath(files_.root_fd(), files_.path(file), O_RDONLY));
    if (!fd || ::fdatasync(fd.get()) != 0) throw system_error("sync", files_.full_path(file), errno);
    ::posix_fadvise(fd.get(), 0, 0, POSIX_FADV_DONTNEED);
  }
}

bool LocalTier::reserve(std::uint64_t bytes) noexcept {
  std::uint64_t used = used_.load(std::memory_order_relaxed);
  do {
    if (bytes > capacity_ - used) return false;
  } while (!used_.compare_exchange_weak(used, used + bytes));
  return true;
}

LocalTier::Kept LocalTier::keep(std::uint32_t file, std::span<const unsigned char> bytes) noexcept {
  if (!reserve(bytes.size())) return Kept::full;
  const files::Folder& folder = marked_.folder();
  system::UniqueFd fd = folder.create(files_.path(file));
  int why = errno;
  if (fd) {
    const bool written = files::write_fully(fd.get(), bytes.data(), bytes.size(), 0);
    why = errno;
    const bool closed = ::close(fd.release()) == 0;
    if (written && !closed) why = errno;
    if (written && closed) {
      held_[file].store(1, std::memory_order_release);
      return Kept::yes;
    }
    files::remove_name(folder.fd(), files_.path(file));  // made above by this process: create() takes no name twice
  }
  used_ -= bytes.size();
  errno = why;
  return Kept::failed;
}

CleanReport remove_left_over_tier(const files::Folder& scratch) {
  const auto marked = MarkedFolder::find(scratch, kTierKind);
  if (!marked || marked->kind() != kTierKind) return {.left = {}, .gone = remove_marked(scratch, kTierKind).gone};
  if (!marked->try_hold()) return {.left = {marked->path() + ": " + marked->in_use()}, .gone = false};
  return remove_tier(*marked);
}

}  // namespace headrace
