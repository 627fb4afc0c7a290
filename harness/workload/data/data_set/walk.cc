// Lists the user's files through folder descriptors, so that nothing can be swapped for a link on
// the way.
#include "harness/workload/data/data_set/walk.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string_view>

#include "harness/backends/formats/format.h"
#include "harness/base/data_path.h"
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

struct stat status_of(const std::string& path) {
  struct stat status;
  if (::stat(path.c_str(), &status) != 0) throw system_error("open", path, errno);
  return status;
}

/// A folder to be listed: the user's name of it, and the path that opens it below the root.
struct Inside {
  std::string name, path;  // "" or "a/b/"; the path of one that a link leads to is absolute
  dev_t device = 0;
  ino_t inode = 0;
  const Inside* outer = nullptr;

  bool is_linked() const { return path.starts_with('/'); }
  bool lies_in(const struct stat& folder) const {
    return (device == folder.st_dev && inode == folder.st_ino) || (outer != nullptr && outer->lies_in(folder));
  }
};

class Walker {
 public:
  Walker(Walked& into, const WalkRules& rules, const DataProgress& progress)
      : into_(into), rules_(rules), progress_(progress) {}

  /// It is closed again before its entries are entered.
  void folder(const Inside& inside) {
    for (const Entry& entry : entries_of(inside)) {
      const std::string own = entry.target.empty() ? inside.path + entry.name : entry.target;
      if (entry.is_folder)
        folder({inside.name + entry.name + "/", own + "/", entry.device, entry.inode, &inside});
      else
        file(inside.name + entry.name, own, entry.size, entry.error);
    }
  }

  void file(const std::string& name, const std::string& path, std::uint64_t size, int unreadable) {
    if (size == 0) {
      if (into_.empty.size() < kNamed) into_.empty.push_back(name);
      if (!copies()) return left_out("empty");
    }
    if (unreadable != 0) return refused(kNotReadable, name, errno_text(unreadable));
    if (files().count() == std::numeric_limits<std::uint32_t>::max()) return left_out("more than 2^32 files");
    if (path.starts_with('/'))
      files().add_linked(name, path, size);
    else
      files().add(name, size);
    if (progress_ && now_ns() - reported_ns_ > 100'000'000) {
      reported_ns_ = now_ns();
      progress_(files().count(), 0, "listing files");
    }
  }

  /// A file, folder or device that the user names.
  void one(const std::string& name, const struct stat& status) {
    if (S_ISDIR(status.st_mode))
      folder({name.empty() ? "" : name + "/", name.empty() ? "" : name + "/", status.st_dev, status.st_ino, nullptr});
    else
      file(name, name, static_cast<std::uint64_t>(status.st_size), unreadable(files().root_fd(), name, name));
  }

  /// The same below the root, where links are followed: `name` as it is shown, `path` as it is found.
  void named(const std::string& name, const std::string& path) {
    if (const std::string_view why = formats::by_product(path.substr(path.rfind('/') + 1)); !why.empty())
      return left_out(std::string(why));
    const struct stat status = status_of(path);
    const std::unique_ptr<char, void (*)(void*)> found(::realpath(path.c_str(), nullptr), std::free);
    if (!found) throw system_error("open", path, errno);
    const std::string target = found.get();
    if (S_ISDIR(status.st_mode)) return folder({name + "/", target + "/", status.st_dev, status.st_ino, nullptr});
    if (!S_ISREG(status.st_mode)) return left_out("not a regular file");
    file(name, target, static_cast<std::uint64_t>(status.st_size), unreadable(AT_FDCWD, target, name));
  }

  const std::map<std::string, std::uint64_t>& left_out() const { return left_out_; }

 private:
  static constexpr std::size_t kNamed = 8;
  struct Entry {
    std::string name, target = "";  // of a link: the absolute path that it leads to
    bool is_folder = false;
    int error = 0;  // of a file that may not be read
    std::uint64_t size = 0;
    dev_t device = 0;
    ino_t inode = 0;
  };

  FileTable& files() const { return into_.files; }
  bool copies() const { return static_cast<bool>(rules_.leaves_out); }
  std::string full(const std::string& path) const { return files().root() + "/" + path; }
  void left_out(const std::string& reason) { ++left_out_[reason]; }

  /// Measuring does not need it; a copy would lose it.
  void refused(const char* reason, const std::string& path, const std::string& why) {
    if (copies()) throw UsageError(full(path) + ": " + why);
    left_out(reason);
  }

  std::vector<Entry> entries_of(const Inside& inside) {
    const std::string path = inside.path.empty() ? "." : inside.path.substr(0, inside.path.size() - 1);
    const UniqueFd fd = open_quiet(files().root_fd(), path.c_str(), O_DIRECTORY | O_NOFOLLOW);
    std::vector<std::string> names;
    if (const int code = fd ? system::list_names(fd.get(), ".", names) : errno) return unlisted(inside, code);
    std::vector<Entry> entries;
    for (const std::string& name : names)
      if (std::optional<Entry> found = look_at(fd.get(), name, inside)) entries.push_back(std::move(*found));
    return entries;
  }

  /// A folder that could not be listed is never taken for empty.
  std::vector<Entry> unlisted(const Inside& inside, int code) {
    const bool refused = code == EACCES || code == EPERM;
    const std::string shown =
        inside.name.empty() ? files().root() : full(inside.name.substr(0, inside.name.size() - 1));
    if (refused && copies()) throw UsageError("list " + shown + ": " + errno_text(code));
    // The file system's own, at its top, which only root may list.
    if (!refused || inside.name != "lost+found/") throw system_error("list", shown, code);
    left_out("lost+found");
    return {};
  }

  /// Nothing for entries that are left out.
  std::optional<Entry> look_at(int folder, const std::string& name, const Inside& inside) {
    struct stat status;
    if (::fstatat(folder, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) return vanished(inside.name + name, errno);
    if (S_ISREG(status.st_mode) && name.starts_with(kOwn)) return std::nullopt;  // in a folder that headrace packed
    Entry entry{.name = name};
    const bool link = S_ISLNK(status.st_mode);
    struct stat target {};
    const bool leads = link && ::fstatat(folder, name.c_str(), &target, 0) == 0;
    entry.is_folder = S_ISDIR(leads ? target.st_mode : status.st_mode);
    if (entry.is_folder && inside.name.empty()) into_.folders.push_back(name);
    if (!copies() || !entry.is_folder)
      if (const std::string_view why = formats::by_product(name);
          !why.empty() && !(copies() && why == "hidden") &&
          !(entry.is_folder && why == formats::kUnfinished && !formats::is_incomplete(name)))
        return without(std::string(why));
    if (const std::string why = copies() ? rules_.leaves_out(name, entry.is_folder) : ""; !why.empty())
      return without(why);
    if (link) {
      if (const char* const why = follow(inside, leads, target, entry)) {
        refused(why, inside.name + name,
                std::string("is a ") + why + (rules_.follow_links ? "" : ": --follow-links takes what it leads to"));
        return std::nullopt;
      }
      status = target;
    }
    entry.device = status.st_dev;
    entry.inode = status.st_ino;
    if (entry.is_folder && status.st_dev != inside.device && is_of_the_kernel(folder, name))
      return without("folder of the kernel");
    if (entry.is_folder) return entry;
    if (!S_ISREG(status.st_mode)) return without("not a regular file");
    entry.error = unreadable(folder, name, inside.name + name);
    entry.size = static_cast<std::uint64_t>(status.st_size);
    return entry;
  }

  /// Of another file system that holds no files: /proc below a root, for instance.
  static bool is_of_the_kernel(int folder, const std::string& name) {
    const UniqueFd fd = open_quiet(folder, name.c_str(), O_DIRECTORY);
    struct statfs status;
    static constexpr std::array kKinds{PROC_SUPER_MAGIC,   SYSFS_MAGIC,   CGROUP_SUPER_MAGIC, CGROUP2_SUPER_MAGIC,
                                       DEVPTS_SUPER_MAGIC, DEBUGFS_MAGIC, TRACEFS_MAGIC,      SECURITYFS_MAGIC};
    return fd && ::fstatfs(fd.get(), &status) == 0 && std::ranges::find(kKinds, status.f_type) != kKinds.end();
  }

  /// nullptr: `entry` has the link's target.
  const char* follow(const Inside& inside, bool leads, const struct stat& target, Entry& entry) const {
    if (!rules_.follow_links) return "symbolic link";
    if (!leads) return "symbolic link to nothing";
    if (entry.is_folder && inside.lies_in(target)) return "symbolic link to a folder that it lies in";
    const std::string path = (inside.is_linked() ? "" : files().root() + "/") + inside.path + entry.name;
    const std::unique_ptr<char, void (*)(void*)> found(::realpath(path.c_str(), nullptr), std::free);
    if (!found) return "symbolic link to nothing";
    entry.target = found.get();
    return nullptr;
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
  int unreadable(int folder, const std::string& name, const std::string& shown) const {
    if (::faccessat(folder, name.c_str(), R_OK, AT_EACCESS) == 0) return 0;
    if (errno == EACCES || errno == EPERM) return errno;
    throw system_error("look at", full(shown), errno);
  }

  Walked& into_;
  const WalkRules& rules_;
  const DataProgress& progress_;
  std::map<std::string, std::uint64_t> left_out_;
  std::uint64_t reported_ns_ = 0;
};

std::string describe(const std::map<std::string, std::uint64_t>& left_out) {
  std::string text;
  for (const auto& [reason, count] : left_out)
    text += (text.empty() ? " (left out: " : ", ") + reason + " " + std::to_string(count);
  return text.empty() ? "" : text + ")";
}

Walked opened(const std::string& root) {
  UniqueFd fd = open_quiet(AT_FDCWD, root.empty() ? "." : root.c_str(), O_DIRECTORY);
  if (!fd) throw system_error("open", root, errno);
  return {FileTable(fd.release(), root), {}, {}, {}};
}

Walked finished(Walked walked, const Walker& walker, const std::string& path, const WalkRules& rules) {
  std::map<std::string, std::uint64_t> left_out = walker.left_out();
  if (rules.images) leave_out_other_files(walked.files, left_out);
  if (walked.files.count() == 0) throw RunError(path + ": holds no file that can be read" + describe(left_out));
  walked.left_out.assign(left_out.begin(), left_out.end());
  return walked;
}

Walked walk_pattern(const std::string& pattern, const WalkRules& rules, const DataProgress& progress) {
  const std::string root = folder_of_pattern(pattern);
  Walked walked = opened(root.empty() ? "." : root);
  Walker walker(walked, rules, progress);
  for (const std::string& path : paths_of_pattern(pattern))
    walker.named(root.empty() ? path : path.substr(root.ends_with('/') ? root.size() : root.size() + 1), path);
  return finished(std::move(walked), walker, pattern, rules);
}

}  // namespace

void leave_out_other_files(FileTable& files, std::map<std::string, std::uint64_t>& left_out) {
  std::uint32_t images = 0;
  for (std::uint32_t file = 0; file < files.count(); ++file) images += formats::has_image_extension(files.name(file));
  if (images == 0 || images == files.count()) return;
  left_out["no image by its name"] += files.count() - images;
  files.keep_only([&files](std::uint32_t file) { return formats::has_image_extension(files.name(file)); });
}

Walked walk(const std::string& path, const WalkRules& rules, const DataProgress& progress) {
  struct stat status;
  if (is_pattern(path) && ::stat(path.c_str(), &status) != 0) return walk_pattern(path, rules, progress);
  status = status_of(path);
  const bool device = S_ISBLK(status.st_mode), single = S_ISREG(status.st_mode) || device;
  if (device && !rules.allow_device)
    throw RunError("open " + path + ": is a block device, and allow_device is not true");
  if (!single && !S_ISDIR(status.st_mode))
    throw RunError("open " + path + ": is neither a file nor a folder" +
                   (rules.allow_device ? " nor a block device" : ""));
  if (device) status.st_size = static_cast<off_t>(system::device_size(path));
  // Files are opened by their true paths; one that the user names is meant.
  const std::filesystem::path given =
      single && std::filesystem::is_symlink(path) ? std::filesystem::canonical(path) : std::filesystem::path(path);
  Walked walked = opened(single ? given.parent_path().string() : path);
  if (device) walked.files.set_device();
  Walker walker(walked, rules, progress);
  walker.one(single ? given.filename().string() : "", status);
  return finished(std::move(walked), walker, path, rules);
}

}  // namespace headrace
