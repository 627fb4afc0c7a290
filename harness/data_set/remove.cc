// Removes generated data sets: what the manifest names and nothing else.
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string_view>

#include "harness/data_set.h"
#include "harness/data_set/block_pattern.h"
#include "harness/data_set/layout.h"
#include "harness/data_set/manifest.h"
#include "harness/error.h"
#include "harness/system/entries.h"
#include "harness/system/unique_fd.h"

namespace headrace {
namespace {

using system::entries_of;
using system::UniqueFd;

constexpr std::string_view kOwn[] = {Manifest::kFile, Manifest::kUnfinished};

class Remover {
 public:
  Remover(const Manifest& manifest, int root, std::string folder, CleanReport& report)
      : manifest_(manifest),
        layout_(manifest.spec),
        root_(root),
        folder_(std::move(folder)),
        report_(report) {}

  void remove_files() {
    for (std::uint64_t number = 0; number < layout_.folders(); ++number) {
      const std::string name = layout_.folder(number);
      const UniqueFd folder(
          ::openat(root_, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
      if (!folder) continue;
      const std::uint64_t per = manifest_.spec.files_per_folder;
      const std::uint64_t end = std::min(layout_.files(), (number + 1) * per);
      for (std::uint64_t file = number * per; file < end; ++file) remove_file(folder.get(), file);
      for (const std::string& left : entries_of(folder.get()))
        if (!told(name + "/" + left)) leave(name + "/" + left, "not made by headrace");
      ::unlinkat(root_, name.c_str(), AT_REMOVEDIR);  // stays when something is in it
    }
  }

 private:
  void remove_file(int folder, std::uint64_t file) {
    const std::string path = layout_.path(file), name = path.substr(path.find('/') + 1);
    struct stat status;
    if (::fstatat(folder, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) return;
    // Writing ends on a whole block before it is cut to size; a set that was cut short may hold
    // less.
    const std::uint64_t full = layout_.size(file),
                        size = static_cast<std::uint64_t>(status.st_size);
    const bool ours =
        S_ISREG(status.st_mode) && (manifest_.complete ? size == full : size < full + kBlock);
    if (!ours) return leave(path, "not as headrace made it");
    if (::unlinkat(folder, name.c_str(), 0) != 0)
      throw system_error("remove", folder_ + "/" + path, errno);
    ++report_.files;
    report_.bytes += size;
  }

  void leave(const std::string& path, const char* why) {
    told_.push_back(path);
    report_.left.push_back(folder_ + "/" + path + ": " + why);
  }
  bool told(const std::string& path) const {
    return std::find(told_.begin(), told_.end(), path) != told_.end();
  }

  const Manifest& manifest_;
  const DataSetLayout layout_;
  const int root_;
  const std::string folder_;
  CleanReport& report_;
  std::vector<std::string> told_;
};

void remove_data_set(const std::string& folder, CleanReport& report) {
  if (MarkedFolder::kind_of(folder) != "data_set") {
    report.left.push_back(folder + ": not made by headrace");
    return;
  }
  const UniqueFd root(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!root) throw system_error("open", folder, errno);
  if (::flock(root.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    report.left.push_back(folder + ": in use by another headrace");
    return;
  }
  const std::size_t left_before = report.left.size();
  if (const auto manifest = read_manifest(root.get()))
    Remover(*manifest, root.get(), folder, report).remove_files();
  if (report.left.size() > left_before)
    return;  // with its manifest, so that it can be told apart later too
  const CleanReport rest = remove_marked(folder, kOwn);
  for (const std::string& left : rest.left) report.left.push_back(folder + "/" + left);
}

}  // namespace

CleanReport remove_data_sets(const std::string& scratch) {
  CleanReport report;
  const std::string data = scratch + "/" + kDataFolder;
  if (MarkedFolder::kind_of(data) == kDataFolder) {
    const UniqueFd folder(::open(data.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    for (const std::string& name : entries_of(folder.get()))
      if (name != MarkedFolder::kMark) remove_data_set(data + "/" + name, report);
    if (report.left.empty()) remove_marked(data, {});
  }
  return report;
}

}  // namespace headrace
