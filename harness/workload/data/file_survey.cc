#include "harness/workload/data/file_survey.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <set>
#include <tuple>

#include "harness/base/error.h"
#include "harness/base/parallel.h"
#include "harness/base/system/open_quiet.h"
#include "harness/machine/file_extents.h"

namespace headrace {
namespace {

constexpr unsigned kThreads = 16;        // each waits for its own file
constexpr unsigned kMostExtents = 4096;  // looked at in one file

/// Facts on one file.
struct Seen {
  dev_t device = 0;
  ino_t inode = 0;
  std::uint64_t size = 0, on_storage = 0, holes = 0, compressed = 0;
  bool stored_is_known = true;
};

std::uint64_t mixed(std::uint64_t a, std::uint64_t b) {
  std::uint64_t z = (a ^ (b + 0x9e3779b97f4a7c15u + (a << 6) + (a >> 2))) * 0xbf58476d1ce4e5b9u;
  return z ^ (z >> 31);
}

std::uint64_t mark_of(const struct stat& s, bool stable_inodes) {
  std::uint64_t mark = mixed(static_cast<std::uint64_t>(s.st_size), static_cast<std::uint64_t>(s.st_mtim.tv_sec));
  mark = mixed(mark, static_cast<std::uint64_t>(s.st_mtim.tv_nsec));
  return stable_inodes ? mixed(mixed(mark, s.st_ino), s.st_dev) : mark;
}

/// Bytes of `fd` that nothing was ever written to; those beyond the last extent looked at count as
/// written.
std::uint64_t holes_in(int fd, std::uint64_t size) {
  std::uint64_t holes = 0;
  off_t at = 0;
  for (unsigned i = 0; i < kMostExtents && static_cast<std::uint64_t>(at) < size; ++i) {
    const off_t hole = ::lseek(fd, at, SEEK_HOLE);
    if (hole < 0 || static_cast<std::uint64_t>(hole) >= size) break;
    off_t data = ::lseek(fd, hole, SEEK_DATA);
    if (data < 0) {
      if (errno != ENXIO) break;
      data = static_cast<off_t>(size);  // a hole to the end
    }
    holes += static_cast<std::uint64_t>(data - hole);
    at = data;
  }
  return holes;
}

/// Whole blocks, as far as the file has them on storage: data in the inode itself takes none.
std::uint64_t least_on_storage(const struct stat& s) {
  const auto size = static_cast<std::uint64_t>(s.st_size);
  const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  const std::uint64_t whole = (size + page - 1) / page * page;
  return std::clamp(static_cast<std::uint64_t>(s.st_blocks) * 512, size, whole);
}

Seen seen_of(int fd, const struct stat& status, std::uint64_t size) {
  Seen one{.device = status.st_dev,
           .inode = status.st_ino,
           .size = size,
           .on_storage = std::max(size, least_on_storage(status)),
           .holes = std::min(size, holes_in(fd, size))};
  const system::StoredAs as = system::stored_as(fd, status);
  one.compressed = std::min(size, as.compressed);
  one.stored_is_known = as.compressed == 0 || as.stored.has_value();
  if (as.compressed > 0 && as.stored) one.on_storage = std::min(size, *as.stored);
  return one;
}

RunError changed(const FileTable& files, std::uint32_t file) {
  return RunError(fmt::format("{} has changed: it was replaced or written during the run", files.full_path(file)));
}

}  // namespace

FileSurvey survey(const FileTable& files, bool stable_inodes, const DataProgress& progress) {
  FileSurvey all;
  all.stable_inodes = stable_inodes;
  if (files.is_device()) return all;
  std::vector<Seen> seen(files.count());
  all.marks.resize(files.count());
  std::atomic<std::uint64_t> done{0};
  parallel_for(
      files.count(), kThreads,
      [&](unsigned, std::uint64_t item) {
        const auto file = static_cast<std::uint32_t>(item);
        const system::UniqueFd fd = system::open_quiet(files.root_fd(), files.path(file));
        struct stat status;
        if (!fd || ::fstat(fd.get(), &status) != 0) throw system_error("open", files.full_path(file), errno);
        const std::uint64_t size = files.size(file);
        seen[file] = seen_of(fd.get(), status, size);
        all.marks[file] = mark_of(status, stable_inodes);
        done += size;
      },
      [&] {
        if (progress) progress(done, files.total_bytes(), "looking at the files");
      });
  std::uint64_t on_storage = 0;
  std::vector<std::uint32_t> order(files.count());
  std::set<dev_t> devices;
  for (std::uint32_t i = 0; i < files.count(); ++i) {
    order[i] = i;
    all.bytes += seen[i].size;
    all.hole_bytes += seen[i].holes;
    all.compressed_bytes += seen[i].compressed;
    all.stored_is_known = all.stored_is_known && seen[i].stored_is_known;
    on_storage += seen[i].on_storage;
    if (devices.insert(seen[i].device).second) all.places.push_back(files.full_path(i));
    if (seen[i].holes > 0 && all.sparse_file.empty()) all.sparse_file = files.full_path(i);
  }
  const auto inode = [&](std::uint32_t i) { return std::tie(seen[i].device, seen[i].inode); };
  std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    return std::tuple_cat(inode(a), std::tie(a)) < std::tuple_cat(inode(b), std::tie(b));
  });
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (i == 0 || inode(order[i]) != inode(order[i - 1]))
      all.distinct_bytes += seen[order[i]].size;
    else if (all.shared_file.empty())
      all.shared_file = files.full_path(order[i]);
  }
  if (all.bytes > 0) all.rounding = static_cast<double>(on_storage) / static_cast<double>(all.bytes);
  return all;
}

void check_unchanged(const FileTable& files, const FileSurvey& before, const DataProgress& progress,
                     std::uint32_t at_most) {
  if (files.is_device()) return;
  const std::uint32_t looked_at = std::min(files.count(), at_most);
  std::atomic<std::uint64_t> done{0};
  parallel_for(
      looked_at, kThreads,
      [&](unsigned, std::uint64_t item) {
        const auto file = static_cast<std::uint32_t>(item * files.count() / looked_at);
        struct stat status;
        if (::fstatat(files.root_fd(), files.path(file), &status, 0) != 0)
          throw system_error("stat", files.full_path(file), errno);
        if (mark_of(status, before.stable_inodes) != before.marks[file]) throw changed(files, file);
        done += files.size(file);
      },
      [&] {
        if (progress) progress(done, files.total_bytes(), "looking at the files");
      });
}

}  // namespace headrace
