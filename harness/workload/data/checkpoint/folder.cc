#include "harness/workload/data/checkpoint/folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string_view>
#include <vector>

#include "harness/backends/open_files.h"
#include "harness/base/files/marked_folder.h"
#include "harness/workload/data/data_set/block_pattern.h"

namespace headrace::checkpoint {
namespace {

constexpr const char* kKind = "checkpoint";  // and the folder's name

bool has_name_of_ours(std::string_view name) {
  if (name.starts_with('.') && name.ends_with(".new")) name = name.substr(1, name.size() - 5);
  if (!name.starts_with("rank-") || !name.ends_with(".bin")) return false;
  const std::string_view number = name.substr(5, name.size() - 9);
  return number.size() >= 5 && number.find_first_not_of("0123456789") == number.npos;
}

/// The offset of a file's first byte other than zero; `size` if there is none.
std::uint64_t first_data(int fd, std::uint64_t size) {
  const off_t data = ::lseek(fd, 0, SEEK_DATA);  // past holes, where the file system reports
  std::uint64_t at = data > 0 ? static_cast<std::uint64_t>(data) : 0;
  if (data < 0 && errno == ENXIO) return size;
  std::vector<unsigned char> chunk(1 << 20);
  while (at < size) {
    const ssize_t n = ::pread(fd, chunk.data(), chunk.size(), static_cast<off_t>(at));
    if (n <= 0) break;
    const auto end = chunk.begin() + n;
    const auto found = std::find_if(chunk.begin(), end, [](unsigned char c) { return c != 0; });
    if (found != end) return at + static_cast<std::uint64_t>(found - chunk.begin());
    at += static_cast<std::uint64_t>(n);
  }
  return size;
}

/// Is one of the first written blocks marked as a checkpoint's? Ranks write from the begin of their part of a shared
/// file, in any order.
bool holds_a_label(int fd, std::uint64_t size) {
  unsigned char found[kBlock + kLabelBytes];
  const ssize_t n = ::pread(fd, found, sizeof found, static_cast<off_t>(first_data(fd, size)));
  for (ssize_t at = 0; at + static_cast<ssize_t>(kLabelBytes) <= n; ++at)
    if (read_label(found + at)) return true;
  return false;
}

/// A name proves nothing. The content shows the owner; an empty file has the maker's mark.
bool is_ours(const files::Folder& folder, const std::string& name, const struct stat& status) {
  if (!has_name_of_ours(name) || !S_ISREG(status.st_mode) || !files::bears_mark(status)) return false;
  const auto size = static_cast<std::uint64_t>(status.st_size);
  if (size < kLabelBytes) return true;
  const files::UniqueFd fd(files::open_beneath(folder.fd(), name.c_str(), O_RDONLY | O_NONBLOCK));
  struct stat opened;
  if (!fd || ::fstat(fd.get(), &opened) != 0 || !files::same(opened, status)) return false;
  return holds_a_label(fd.get(), size) || first_data(fd.get(), size) == size;
}

/// Every checkpoint file; others are named.
CleanReport remove_files(const files::Folder& folder) {
  return remove_files_if(
      folder, [&](const std::string& name, const struct stat& status) { return is_ours(folder, name, status); },
      [&](const std::string& name) { return folder.path_of(name) + ": not made by headrace"; });
}

/// Then the mark and the folder.
CleanReport remove_all(const MarkedFolder& marked) {
  CleanReport report = remove_files(marked.folder());
  if (report.left.empty()) report.gone = marked.remove().gone;
  return report;
}

MarkedFolder held(const files::Folder& scratch) {
  MarkedFolder marked = MarkedFolder::make_alone(scratch, kKind, kKind);
  if (const CleanReport before = remove_files(marked.folder()); !before.left.empty())
    throw RunError(before.left.front());
  return marked;
}

}  // namespace

Folder::Folder(const files::Folder& scratch) : marked_(held(scratch)) {}

Folder::~Folder() {
  try {
    remove_all(marked_);
  } catch (const RunError&) {  // entries that cannot be removed stay for `clean`
  }
}

std::string Folder::name(unsigned file) { return fmt::format("rank-{:05}.bin", file); }

void Folder::require_free(unsigned count) const {
  const files::Folder& folder = marked_.folder();
  folder.require_in_place();
  for (unsigned file = 0; file < count; ++file) {
    for (const std::string& name : {Folder::name(file), temporary_name(file)}) {
      const auto status = folder.look(name);
      if (!status) continue;
      if (!is_ours(folder, name, *status))
        throw RunError(folder.path_of(name) + ": refusing to overwrite: headrace did not make this file");
      if (name != Folder::name(file)) folder.remove(name, *status);
    }
  }
}

system::UniqueFd Folder::create(unsigned file, int flags, bool shared) const {
  const std::string name = temporary_name(file);
  system::UniqueFd fd = marked_.folder().create(name.c_str(), flags);
  if (!fd && errno == EEXIST && shared) fd = marked_.folder().open_made(name.c_str(), flags);
  if (!fd && errno == EEXIST)
    throw RunError("create " + marked_.folder().path_of(name) +
                   ": refusing to overwrite: headrace did not make this file");
  if (!fd) throw_open_error("create", marked_.folder().path_of(name), flags & O_DIRECT, errno);
  return fd;
}

system::UniqueFd Folder::publish(unsigned file) const {
  system::UniqueFd old(::openat(fd(), name(file).c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
  if (!marked_.folder().rename(temporary_name(file).c_str(), name(file).c_str()))
    throw system_error("rename to", full_path(file), errno);
  return old;
}

void Folder::sync() const {
  if (!marked_.folder().sync()) throw system_error("sync", path(), errno);
}

void Folder::remove_temporary(unsigned file) const noexcept {
  try {
    const std::string name = temporary_name(file);
    if (const auto status = marked_.folder().look(name); status && files::bears_mark(*status))
      marked_.folder().remove(name, *status);
  } catch (const RunError&) {  // stays for `clean`
  }
}

CleanReport remove_left_over(const files::Folder& scratch) {
  const auto marked = MarkedFolder::find(scratch, kKind);
  if (!marked || marked->kind() != kKind) return {.left = {}, .gone = remove_marked(scratch, kKind).gone};
  if (!marked->try_hold()) return {.left = {marked->path() + ": " + marked->in_use()}, .gone = false};
  return remove_all(*marked);
}

}  // namespace headrace::checkpoint
