#include "harness/workload/data/name_tree.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <string_view>
#include <vector>

#include "harness/base/error.h"
#include "harness/base/files/marked_folder.h"

namespace headrace {
namespace {

using files::UniqueFd;

constexpr const char* kTreeKind = "metadata";  // and the folder's name

bool is_number(std::string_view text, std::size_t digits) {
  return text.size() == digits && text.find_first_not_of("0123456789") == text.npos;
}
bool is_folder_name(std::string_view name) { return name.starts_with('d') && is_number(name.substr(1), 3); }
bool is_file_name(std::string_view name) {
  return !name.empty() && (name[0] == NameTree::kFile || name[0] == NameTree::kRenamed) && is_number(name.substr(1), 8);
}

/// Everything below a folder that has the name, kind and mark of headrace's own entries.
void remove_below(const files::Folder& folder, bool is_root, CleanReport& report) {
  for (const std::string& name : folder.entries()) {
    const auto status = folder.look(name);
    if (!status || (is_root && (name == MarkedFolder::kMark || folder.is_aside(name)))) continue;
    if (S_ISDIR(status->st_mode) && is_folder_name(name)) {
      const files::Folder inner = folder.inner(name);
      if (!inner) throw system_error("open", folder.path_of(name), errno);
      const std::size_t left_before = report.left.size();
      remove_below(inner, false, report);
      if (report.left.size() > left_before || folder.remove_folder(name)) continue;
    } else if (S_ISREG(status->st_mode) && is_file_name(name) && status->st_size == 0 && files::bears_mark(*status) &&
               folder.remove(name, *status)) {
      ++report.files;
      continue;
    }
    report.left.push_back(folder.path_of(name) + ": not made by headrace");
  }
}

CleanReport remove_tree(const MarkedFolder& marked) {
  CleanReport report;
  remove_below(marked.folder(), true, report);
  if (report.left.empty()) report.gone = marked.remove().gone;
  return report;
}

MarkedFolder held(const files::Folder& scratch) {
  MarkedFolder marked = MarkedFolder::make_alone(scratch, kTreeKind, kTreeKind);
  CleanReport before;
  remove_below(marked.folder(), true, before);
  if (!before.left.empty()) throw RunError(before.left.front());
  return marked;
}

}  // namespace

NameTreeShape NameTreeShape::declare(Params& params) {
  NameTreeShape shape;
  shape.depth =
      static_cast<unsigned>(params.count("depth", 1, {.min = 1, .max = 16}, "levels of folders, one in the other"));
  shape.width = static_cast<unsigned>(params.count("width", 10, {.min = 1, .max = 1000}, "folders in each folder"));
  shape.files_per_folder = params.count("files_per_folder", 1000, {.min = 1, .max = kMostFiles},
                                        "empty files in each folder of the last level");
  const auto allowed = [&](const char* what, std::uint64_t most) {
    params.conflict("depth", fmt::format("width {}, depth {} and {} files in each folder make more "
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

NameTree::NameTree(const NameTreeShape& shape, const files::Folder& scratch) : marked_(held(scratch)) {
  const files::Folder& root = marked_.folder();
  folders_ = FileTable(root.again().release().release(), root.path());
  files_ = FileTable(root.again().release().release(), root.path());
  try {
    make(shape);
  } catch (const RunError&) {
    remove_tree(marked_);
    throw;
  }
}

void NameTree::make(const NameTreeShape& shape) {
  std::vector<std::string> level{""}, next;
  for (unsigned depth = 0; depth < shape.depth; ++depth, level.swap(next)) {
    next.clear();
    for (const std::string& parent : level) {
      const files::Folder inside =
          parent.empty() ? marked_.folder().again() : marked_.folder().inner(parent.substr(0, parent.size() - 1));
      if (!inside) throw system_error("open folder", marked_.folder().path_of(parent), errno);
      for (unsigned number = 0; number < shape.width; ++number) {
        const std::string folder = fmt::format("{}d{:03}", parent, number);
        inside.make(fmt::format("d{:03}", number));
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

void NameTree::require_in_place() const {
  marked_.folder().require_in_place();
  for (std::uint32_t i = 0; i < folders_.count(); ++i) {
    const UniqueFd folder(files::open_beneath(folders_.root_fd(), folders_.path(i), O_PATH | O_DIRECTORY));
    if (!folder) throw system_error("open folder", folders_.full_path(i), errno);
  }
}

NameTree::~NameTree() {
  try {
    remove_tree(marked_);
  } catch (const RunError&) {  // entries that cannot be removed stay for `clean`
  }
}

CleanReport remove_left_over_names(const files::Folder& scratch) {
  const auto marked = MarkedFolder::find(scratch, kTreeKind);
  if (!marked || marked->kind() != kTreeKind) return {.left = {}, .gone = remove_marked(scratch, kTreeKind).gone};
  if (!marked->try_hold()) return {.left = {marked->path() + ": " + marked->in_use()}, .gone = false};
  return remove_tree(*marked);
}

}  // namespace headrace
