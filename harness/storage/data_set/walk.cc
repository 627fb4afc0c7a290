// Lists the user's files through folder descriptors, so that nothing can be swapped for a link on
// the way.
#include "harness/storage/data_set/walk.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <limits>
#include <map>
#include <memory>

#include "harness/base/error.h"
#include "harness/record/recorder.h"
#include "harness/system/block_device.h"
#include "harness/system/open_quiet.h"

namespace headrace {
namespace {

using system::open_quiet;
using system::UniqueFd;

constexpr const char* kOwn = ".headrace";

class Walker {
 public:
  Walker(FileTable& files, dev_t device, const DataProgress& progress)
      : files_(files), device_(device), progress_(progress) {}

  /// `prefix` is the path of `folder` relative to the root: "" or "a/b/".
  void folder(UniqueFd folder, const std::string& prefix) {
    const int fd = folder.get();
    const std::unique_ptr<DIR, int (*)(DIR*)> list(::fdopendir(fd), ::closedir);
    if (!list) return left_out("folder not readable");
    folder.release();  // the list closes it
    std::vector<std::string> names;
    while (const dirent* entry = ::readdir(list.get()))
      if (const std::string_view name = entry->d_name; name != "." && name != "..") names.emplace_back(name);
    std::sort(names.begin(), names.end());
    for (const std::string& name : names) entry(fd, name, prefix);
  }

  void file(int folder, const std::string& name, const std::string& prefix, const struct stat& status) {
    if (status.st_size == 0) {
      if (empty_.size() < kNamed) empty_.push_back(prefix + name);
      return left_out("empty");
    }
    if (::faccessat(folder, name.c_str(), R_OK, AT_EACCESS) != 0) return left_out("not readable");
    if (files_.count() == std::numeric_limits<std::uint32_t>::max()) return left_out("more than 2^32 files");
    files_.add(prefix + name, static_cast<std::uint64_t>(status.st_size));
    if (progress_ && now_ns() - told_ns_ > 100'000'000) {
      told_ns_ = now_ns();
      progress_(files_.count(), 0, "listing files");
    }
  }

  void left_out(const std::string& reason) { ++left_out_[reason]; }
  const std::map<std::string, std::uint64_t>& left_out() const { return left_out_; }
  const std::vector<std::string>& empty() const { return empty_; }

 private:
  static constexpr std::size_t kNamed = 8;

  void entry(int folder, const std::string& name, const std::string& prefix) {
    struct stat status;
    if (::fstatat(folder, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) return left_out("vanished");
    if (S_ISLNK(status.st_mode)) return left_out("symbolic link");
    if (S_ISREG(status.st_mode) && name.starts_with(kOwn)) return;  // in a folder that headrace packed
    if (S_ISREG(status.st_mode)) return file(folder, name, prefix, status);
    if (!S_ISDIR(status.st_mode)) return left_out("not a regular file");
    if (status.st_dev != device_) return left_out("folder on another file system");
    UniqueFd inner = open_quiet(folder, name.c_str(), O_DIRECTORY | O_NOFOLLOW);
    if (!inner) return left_out("folder not readable");
    this->folder(std::move(inner), prefix + name + "/");
  }

  FileTable& files_;
  const dev_t device_;
  const DataProgress& progress_;
  std::map<std::string, std::uint64_t> left_out_;
  std::vector<std::string> empty_;
  std::uint64_t told_ns_ = 0;
};

std::string told(const std::map<std::string, std::uint64_t>& left_out) {
  std::string text;
  for (const auto& [reason, count] : left_out)
    text += (text.empty() ? " (left out: " : ", ") + reason + " " + std::to_string(count);
  return text.empty() ? "" : text + ")";
}

}  // namespace

Walked walk(const std::string& path, bool allow_device, const DataProgress& progress) {
  struct stat status;
  if (::stat(path.c_str(), &status) != 0) throw system_error("open", path, errno);
  const bool device = S_ISBLK(status.st_mode), single = S_ISREG(status.st_mode) || device;
  if (device && !allow_device) throw RunError("open " + path + ": is a block device, and allow_device is not true");
  if (!single && !S_ISDIR(status.st_mode))
    throw RunError("open " + path + ": is neither a file nor a folder" + (allow_device ? " nor a block device" : ""));
  if (device) status.st_size = static_cast<off_t>(system::device_size(path));
  // Files are read without following links; one that the user names is meant.
  const std::filesystem::path given =
      single && std::filesystem::is_symlink(path) ? std::filesystem::canonical(path) : std::filesystem::path(path);
  const std::string root = single ? given.parent_path().string() : path;

  UniqueFd fd = open_quiet(AT_FDCWD, root.empty() ? "." : root.c_str(), O_DIRECTORY);
  if (!fd) throw system_error("open", root, errno);
  UniqueFd list(single ? -1 : ::openat(fd.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  Walked walked{FileTable(fd.release(), root), {}, {}};
  if (device) walked.files.set_device();
  Walker walker(walked.files, status.st_dev, progress);
  if (single) {
    walker.file(walked.files.root_fd(), given.filename().string(), "", status);
  } else {
    walker.folder(std::move(list), "");
  }
  if (walked.files.count() == 0) throw RunError(path + ": holds no file that can be read" + told(walker.left_out()));
  walked.left_out.assign(walker.left_out().begin(), walker.left_out().end());
  walked.empty = walker.empty();
  return walked;
}

}  // namespace headrace
