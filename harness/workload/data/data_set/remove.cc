// Removes generated data sets: files that are provably headrace's, and nothing else.
#include <cerrno>

#include "harness/base/error.h"
#include "harness/base/files/marked_folder.h"
#include "harness/workload/data/data_set.h"
#include "harness/workload/data/data_set/layout.h"
#include "harness/workload/data/data_set/manifest.h"

namespace headrace {
namespace {

/// Looks at existing files, not at possible ones: a list may claim any number of files.
class Remover {
 public:
  Remover(const DataSetSpec& spec, const files::Folder& root, CleanReport& report)
      : layout_(spec), proof_(layout_, root), root_(root), report_(report) {}

  void remove_files() {
    for (const std::string& name : root_.entries()) {
      if (const auto number = layout_.folder_number(name)) {
        const files::Folder folder = root_.inner(name);
        if (!folder && errno != ENOTDIR && errno != ELOOP) throw system_error("open", root_.path_of(name), errno);
        if (!folder) continue;  // no folder: the set's own removal names it
        const std::size_t left_before = report_.left.size();
        for (const std::string& file : folder.entries()) remove_file(folder, *number, file);
        if (report_.left.size() == left_before && !root_.remove_folder(name))
          leave(folder.path(), files::bears_mark(folder.status()) ? "not empty" : "not made by headrace");
      }
    }
  }

 private:
  void remove_file(const files::Folder& folder, std::uint64_t number, const std::string& name) {
    const auto file = layout_.file_number(name);
    if (!file || layout_.folder_of(*file) != number) return leave(folder.path_of(name), "not made by headrace");
    const FileProof::Answer there = proof_.look(folder, name.c_str(), *file);
    if (there.found == FileProof::Found::absent) return;
    if (there.found == FileProof::Found::foreign || !folder.remove(name, there.status))
      return leave(folder.path_of(name), "not as headrace made it");
    ++report_.files;
    report_.bytes += static_cast<std::uint64_t>(there.status.st_size);
  }

  void leave(const std::string& path, const char* why) { report_.left.push_back(path + ": " + why); }

  const DataSetLayout layout_;
  const FileProof proof_;
  const files::Folder& root_;
  CleanReport& report_;
};

void remove_data_set(const files::Folder& parent, const std::string& name, CleanReport& report) {
  const auto set = MarkedFolder::find(parent, name);
  if (!set || set->kind() != kSetKind) {
    if (!remove_marked(parent, name).gone)
      report.left.push_back(parent.path_of(name) + (set ? ": not empty" : ": not made by headrace"));
    return;
  }
  if (!set->try_hold()) {
    report.left.push_back(set->path() + ": " + set->in_use());
    return;
  }
  const std::size_t left_before = report.left.size();
  if (const auto spec = DataSetSpec::of_id(name)) Remover(*spec, set->folder(), report).remove_files();
  if (report.left.size() > left_before) return;  // with its manifest, so that it can be distinguished later too
  remove_manifest(set->folder());
  const CleanReport rest = set->remove();
  for (const std::string& left : rest.left) report.left.push_back(set->folder().path_of(left));
}

}  // namespace

CleanReport remove_data_sets(const MarkedFolder& scratch) {
  CleanReport report;
  const auto data = MarkedFolder::find(scratch.folder(), kDataFolder);
  if (!data) remove_marked(scratch.folder(), kDataFolder);
  if (!data || data->kind() != kDataFolder) return report;
  for (const std::string& name : data->folder().entries())
    if (name != MarkedFolder::kMark && !data->folder().is_aside(name)) remove_data_set(data->folder(), name, report);
  // Another process that uses the scratch folder may be about to make a set there.
  if (report.left.empty() && scratch.folder().lock_alone()) data->remove();
  return report;
}

}  // namespace headrace
