// Lists the user's files through folder descriptors, so that nothing can be swapped for a link on
// the way.
#include "harness/workload/data/data_set/walk.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <iterator>
#include <limits>
#include <map>
#include <optional>
#include <string_view>

#include "harness/base/diagnostics.h"
#include "harness/base/error.h"
#include "harness/base/system/list_names.h"
#include "harness/base/system/open_quiet.h"
#include "harness/machine/block_device.h"
#include "harness/record/recorder.h"

namespace headrace {
namespace {

using system::open_quiet;
using system::UniqueFd;

constexpr const char* kOwn = ".headrace";

/// What desktops, NFS clients and Spark leave in folders of data, and loaders do not read.
bool is_by_product(std::string_view name) {
  constexpr std::string_view kNames[] = {".DS_Store", "Thumbs.db", "desktop.ini", "_SUCCESS"};
  return std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames) || name.starts_with("._") ||
         name.starts_with(".nfs");
}

class Walker {
 public:
  Walker(Walked& into, dev_t device, const WalkRules& rules, const DataProgress& progress)
      : into_(into), device_(device), rules_(rules), progress_(progress) {}

  /// `prefix` is the path of the folder below the root: "" or "a/b/". It is closed again before what lies in it is entered.
  void folder(const std::string& prefix) {
    for (const Entry& entry : entries_of(prefix)) {
      const std::string path = prefix + entry.name;
      if (entry.is_folder)
        folder(path + "/");
      else
        file(path, entry.size, entry.error);
    }
  }

  void file(const std::string& path, std::uint64_t size, int unreadable) {
    if (size == 0) {
      if (into_.empty.size() < kNamed) into_.empty.push_back(path);
      if (!copies()) return left_out("empty");
    }
    if (unreadable != 0) return refused("not readable", path, errno_text(unreadable));
    if (files().count() == std::numeric_limits<std::uint32_t>::max()) return left_out("more than 2^32 files");
    files().add(path, size);
    if (progress_ && now_ns() - reported_ns_ > 100'000'000) {
      reported_ns_ = now_ns();
      progress_(files().count(), 0, "listing files");
    }
  }

  /// A file or device that the user names.
  void one(const std::string& name, std::uint64_t size) { file(name, size, unreadable(files().root_fd(), name, "")); }

  const std::map<std::string, std::uint64_t>& left_out() const { return left_out_; }

 private:
  static constexpr std::size_t kNamed = 8;
  struct Entry {
    std::string name;
    bool is_folder = false;
    int error = 0;  // of a file that may not be read
    std::uint64_t size = 0;
  };

  FileTable& files() const { return into_.files; }
  bool copies() const { return static_cast<bool>(rules_.leaves_out); }
  std::string full(const std::string& path) const { return files().root() + "/" + path; }
  void left_out(const std::string& reason) { ++left_out_[reason]; }

  /// Measuring does without it; a copy would lose it.
  void refused(const char* reason, const std::string& path, const std::string& why) {
    if (copies()) throw UsageError(full(path) + ": " + why);
    left_out(reason);
  }

  std::vector<Entry> entries_of(const std::string& prefix) {
    const std::string path = prefix.empty() ? "." : prefix.substr(0, prefix.size() - 1);
    const UniqueFd fd = open_quiet(files().root_fd(), path.c_str(), O_DIRECTORY | O_NOFOLLOW);
    std::vector<std::string> names;
    if (const int code = fd ? system::list_names(fd.get(), ".", names) : errno) return unlisted(prefix, code);
    std::vector<Entry> entries;
    for (const std::string& name : names)
      if (std::optional<Entry> found = look_at(fd.get(), name, prefix)) entries.push_back(std::move(*found));
    return entries;
  }

  /// What could not be listed is never taken for empty.
  std::vector<Entry> unlisted(const std::string& prefix, int code) {
    const bool refused = code == EACCES || code == EPERM;
    const std::string shown = prefix.empty() ? files().root() : full(prefix.substr(0, prefix.size() - 1));
    if (refused && copies()) throw UsageError("list " + shown + ": " + errno_text(code));
    // The file system's own, at its top, which only root may list.
    if (!refused || prefix != "lost+found/") throw system_error("list", shown, code);
    left_out("lost+found");
    return {};
  }

  /// Nothing for what is left out.
  std::optional<Entry> look_at(int folder, const std::string& name, const std::string& prefix) {
    struct stat status, target;
    if (::fstatat(folder, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) return vanished(prefix + name, errno);
    if (S_ISREG(status.st_mode) && name.starts_with(kOwn)) return std::nullopt;  // in a folder that headrace packed
    if (S_ISREG(status.st_mode) && is_by_product(name)) return without("of a desktop or a scheduler, no data");
    const bool link = S_ISLNK(status.st_mode);
    const bool is_folder =
        S_ISDIR(link && ::fstatat(folder, name.c_str(), &target, 0) == 0 ? target.st_mode : status.st_mode);
    if (is_folder && prefix.empty()) into_.folders.push_back(name);
    if (const std::string why = copies() ? rules_.leaves_out(name, is_folder) : ""; !why.empty()) return without(why);
    if (link) {
      refused("symbolic link", prefix + name, "is a symbolic link; give what it leads to in its place");
      return std::nullopt;
    }
    if (is_folder && status.st_dev != device_ && !copies()) return without("folder on another file system");
    if (is_folder) return Entry{.name = name, .is_folder = true};
    if (!S_ISREG(status.st_mode)) return without("not a regular file");
    return Entry{
        .name = name, .error = unreadable(folder, name, prefix), .size = static_cast<std::uint64_t>(status.st_size)};
  }

  std::optional<Entry> vanished(const std::string& path, int code) {
    if (code != ENOENT || copies()) throw system_error("look at", full(path), code);
    return without("vanished");
  }
  std::optional<Entry> without(const std::string& reason) {
    left_out(reason);
    return std::nullopt;
  }

  /// 0, or why this user may not read it.
  int unreadable(int folder, const std::string& name, const std::string& prefix) const {
    if (::faccessat(folder, name.c_str(), R_OK, AT_EACCESS) == 0) return 0;
    if (errno == EACCES || errno == EPERM) return errno;
    throw system_error("look at", full(prefix + name), errno);
  }

  Walked& into_;
  const dev_t device_;
  const WalkRules& rules_;
  const DataProgress& progress_;
  std::map<std::string, std::uint64_t> left_out_;
  std::uint64_t reported_ns_ = 0;
};

std::string told(const std::map<std::string, std::uint64_t>& left_out) {
  std::string text;
  for (const auto& [reason, count] : left_out)
    text += (text.empty() ? " (left out: " : ", ") + reason + " " + std::to_string(count);
  return text.empty() ? "" : text + ")";
}

}  // namespace

Walked walk(const std::string& path, const WalkRules& rules, const DataProgress& progress) {
  struct stat status;
  if (::stat(path.c_str(), &status) != 0) throw system_error("open", path, errno);
  const bool device = S_ISBLK(status.st_mode), single = S_ISREG(status.st_mode) || device;
  if (device && !rules.allow_device)
    throw RunError("open " + path + ": is a block device, and allow_device is not true");
  if (!single && !S_ISDIR(status.st_mode))
    throw RunError("open " + path + ": is neither a file nor a folder" +
                   (rules.allow_device ? " nor a block device" : ""));
  if (device) status.st_size = static_cast<off_t>(system::device_size(path));
  // Files are read without following links; one that the user names is meant.
  const std::filesystem::path given =
      single && std::filesystem::is_symlink(path) ? std::filesystem::canonical(path) : std::filesystem::path(path);
  const std::string root = single ? given.parent_path().string() : path;

  UniqueFd fd = open_quiet(AT_FDCWD, root.empty() ? "." : root.c_str(), O_DIRECTORY);
  if (!fd) throw system_error("open", root, errno);
  Walked walked{FileTable(fd.release(), root), {}, {}, {}};
  if (device) walked.files.set_device();
  Walker walker(walked, status.st_dev, rules, progress);
  if (single)
    walker.one(given.filename().string(), static_cast<std::uint64_t>(status.st_size));
  else
    walker.folder("");
  if (walked.files.count() == 0) throw RunError(path + ": holds no file that can be read" + told(walker.left_out()));
  walked.left_out.assign(walker.left_out().begin(), walker.left_out().end());
  return walked;
}

}  // namespace headrace
