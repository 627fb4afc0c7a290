#include "harness/name_tree.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <string_view>
#include <vector>

#include "harness/error.h"
#include "harness/system/entries.h"
#include "harness/system/unique_fd.h"

namespace headrace {
namespace {

using system::UniqueFd;

constexpr const char* kKind = "metadata";

std::string tree_of(const std::string& scratch) { return scratch + "/metadata"; }

bool is_number(std::string_view text, std::size_t digits) {
  return text.size() == digits && text.find_first_not_of("0123456789") == text.npos;
}
bool is_folder_name(std::string_view name) {
  return name.starts_with('d') && is_number(name.substr(1), 3);
}
bool is_file_name(std::string_view name) {
  return !name.empty() && (name[0] == NameTree::kFile || name[0] == NameTree::kRenamed) &&
         is_number(name.substr(1), 8);
}

UniqueFd open_folder(int parent, const char* name) {
  return UniqueFd(::openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

/// The tree's folder, locked; nothing when another process holds it. File systems without locks do
/// without.
UniqueFd lock(const std::string& path) {
  UniqueFd fd = open_folder(AT_FDCWD, path.c_str());
  if (fd && ::flock(fd.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) return {};
  return fd;
}

/// Everything below `folder` that has the name, kind and size of what is made here.
class Remover {
 public:
  Remover(const std::string& path, CleanReport& report) : path_(path), report_(report) {}

  void remove_below(int folder, const std::string& prefix) {
    for (const std::string& name : system::entries_of(folder)) {
      struct stat status;
      if (::fstatat(folder, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) continue;
      if (S_ISDIR(status.st_mode) && is_folder_name(name)) {
        remove_folder(folder, name, prefix);
      } else if (S_ISREG(status.st_mode) && is_file_name(name) && status.st_size == 0) {
        take(::unlinkat(folder, name.c_str(), 0), prefix + name);
        ++report_.files;
      } else if (!prefix.empty() || name != MarkedFolder::kMark) {
        report_.left.push_back(path_ + "/" + prefix + name + ": not made by headrace");
      }
    }
  }

 private:
  void remove_folder(int parent, const std::string& name, const std::string& prefix) {
    const std::size_t left_before = report_.left.size();
    const UniqueFd folder = open_folder(parent, name.c_str());
    if (!folder) throw system_error("open", path_ + "/" + prefix + name, errno);
    remove_below(folder.get(), prefix + name + "/");
    if (report_.left.size() == left_before)
      take(::unlinkat(parent, name.c_str(), AT_REMOVEDIR), prefix + name);
  }
  void take(int failed, const std::string& name) const {
    if (failed) throw system_error("remove", path_ + "/" + name, errno);
  }

  const std::string& path_;
  CleanReport& report_;
};

CleanReport remove_all(const std::string& path, int root) {
  CleanReport report;
  Remover(path, report).remove_below(root, "");
  if (report.left.empty()) report.gone = remove_marked(path, {}).gone;
  return report;
}

}  // namespace

NameTreeShape NameTreeShape::declare(Params& params) {
  NameTreeShape shape;
  shape.depth = static_cast<unsigned>(
      params.count("depth", 1, {.min = 1, .max = 16}, "levels of folders, one in the other"));
  shape.width = static_cast<unsigned>(
      params.count("width", 10, {.min = 1, .max = 1000}, "folders in each folder"));
  shape.files_per_folder = params.count("files_per_folder", 1000, {.min = 1, .max = kMostFiles},
                                        "empty files in each folder of the last level");
  const auto allowed = [&](const char* what, std::uint64_t most) {
    params.conflict("depth",
                    fmt::format("width {}, depth {} and {} files in each folder make more "
                                "than {} {}",
                                shape.width, shape.depth, shape.files_per_folder, most, what));
  };
  if (shape.folders() > kMostFolders) {
    allowed("folders", kMostFolders);
  } else if (shape.files() > kMostFiles) {
    allowed("files", kMostFiles);
  }
  return shape;
}

std::uint64_t NameTreeShape::leaves() const {
  std::uint64_t count = 1;
  for (unsigned level = 0; level < depth && count <= kMostFolders; ++level) count *= width;
  return count;
}

std::uint64_t NameTreeShape::folders() const {
  std::uint64_t all = 0, count = 1;
  for (unsigned level = 0; level < depth && all <= kMostFolders; ++level) all += count *= width;
  return all;
}

NameTree::NameTree(const NameTreeShape& shape, const std::string& scratch)
    : path_(MarkedFolder::make(tree_of(scratch), kKind).path()) {
  UniqueFd root = lock(path_);
  if (!root) throw RunError(path_ + " is in use by another headrace");
  CleanReport before;
  Remover(path_, before).remove_below(root.get(), "");
  if (!before.left.empty()) throw RunError(before.left.front());

  folders_ = FileTable(::fcntl(root.get(), F_DUPFD_CLOEXEC, 0), path_);
  files_ = FileTable(root.release(), path_);
  try {
    make(shape);
  } catch (const RunError&) {
    remove_all(path_, files_.root_fd());
    throw;
  }
}

void NameTree::make(const NameTreeShape& shape) {
  std::vector<std::string> level{""}, next;
  for (unsigned depth = 0; depth < shape.depth; ++depth, level.swap(next)) {
    next.clear();
    for (const std::string& parent : level) {
      for (unsigned number = 0; number < shape.width; ++number) {
        const std::string folder = fmt::format("{}d{:03}", parent, number);
        if (::mkdirat(files_.root_fd(), folder.c_str(), 0755) != 0 && errno != EEXIST)
          throw system_error("create folder", path_ + "/" + folder, errno);
        folders_.add(folder, 0);
        next.push_back(folder + "/");
      }
    }
  }
  std::uint64_t file = 0;
  for (const std::string& folder : level)
    for (std::uint64_t i = 0; i < shape.files_per_folder; ++i)
      files_.add(fmt::format("{}{}{:08}", folder, kFile, file++), 0);
}

NameTree::~NameTree() {
  try {
    remove_all(path_, files_.root_fd());
  } catch (const RunError&) {  // what cannot be removed stays for `clean`
  }
}

CleanReport remove_left_over_names(const std::string& scratch) {
  const std::string path = tree_of(scratch);
  if (MarkedFolder::kind_of(path) != kKind)
    return {.left = {}, .gone = !std::filesystem::exists(path)};
  const UniqueFd root = lock(path);
  if (!root) return {.left = {"metadata: in use by another headrace"}, .gone = false};
  return remove_all(path, root.get());
}

}  // namespace headrace
