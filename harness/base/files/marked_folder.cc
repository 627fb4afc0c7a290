// Marks: written aside and renamed, read and removed relative to the folder's descriptor.
#include "harness/base/files/marked_folder.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <thread>

#include "harness/base/diagnostics.h"
#include "harness/base/error.h"
#include "harness/base/files/mark.h"
#include "harness/base/files/trust.h"
#include "harness/base/object_path.h"

namespace headrace {
namespace {

using files::Folder;
using files::Mark;

const std::string kMarkFile(MarkedFolder::kMark);

std::string absolute_path(const std::string& path) {
  if (is_object_path(path)) throw UsageError(path + ": leads into an object store; give a folder");
  std::filesystem::path full = std::filesystem::absolute(path).lexically_normal();
  if (!full.has_filename() && full.has_relative_path()) full = full.parent_path();  // "scratch/"
  return full.string();
}

constexpr std::size_t kMostMark = 64 << 10;  // [B]

/// The mark, and why it may be another user's.
struct FoundMark {
  std::optional<Mark> mark;
  std::string other_writer;
};

FoundMark look_for_mark(const Folder& folder) {
  // A user who cannot write the folder cannot replace the mark in between.
  FoundMark found{files::parse_mark(folder.read(kMarkFile, kMostMark)), files::other_writer(folder)};
  if (found.mark && found.other_writer.empty()) found.other_writer = files::other_writer(folder, kMarkFile);
  return found;
}

/// The one that counts: only this user, or root, can have written it.
std::optional<Mark> mark_of(const Folder& folder) {
  FoundMark found = look_for_mark(folder);
  return found.other_writer.empty() ? std::move(found.mark) : std::nullopt;
}

[[noreturn]] void refuse_other_writer(const FoundMark& found) {
  throw UsageError(
      found.other_writer +
      ": headrace trusts only what root or you wrote; run it as that user, or give a folder that does not exist yet");
}

std::string some_of(const std::vector<std::string>& names) {
  constexpr std::size_t kShown = 3;
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), kShown); ++i) text += (i ? ", " : "") + names[i];
  if (names.size() > kShown) text += ", ... " + std::to_string(names.size()) + " in all";
  return text;
}

/// Everything but temporary files of interrupted or present writers.
std::vector<std::string> entries_but_asides(const Folder& folder) {
  std::vector<std::string> names = folder.entries();
  std::erase_if(names, [&](const std::string& name) { return folder.is_aside(name); });
  return names;
}

/// headrace was stopped between making the folder and marking it.
bool is_blank(const Folder& folder) { return files::bears_mark(folder.status()) && entries_but_asides(folder).empty(); }

void remove_asides(const Folder& folder) {
  for (const std::string& name : folder.entries())
    if (const auto found = folder.look(name); found && folder.is_aside(name)) folder.remove(name, *found);
}

/// The digest of the file `name`, where it is as headrace wrote it; else "".
std::string own_digest(const Folder& folder, const Mark& mark, const std::string& name) {
  const auto digests = mark.files.find(name);
  const auto found = folder.look(name);
  if (digests == mark.files.end() || !found || !S_ISREG(found->st_mode)) return "";
  const std::string length = std::to_string(found->st_size) + "-";
  const bool may_be = std::any_of(digests->second.begin(), digests->second.end(),
                                  [&](const std::string& d) { return d.starts_with(length); });
  if (!may_be) return "";
  std::string digest = files::digest_of(folder.read(name, static_cast<std::size_t>(found->st_size)));
  const bool own = std::find(digests->second.begin(), digests->second.end(), digest) != digests->second.end();
  return own ? digest : "";
}

bool is_own(const Folder& folder, const Mark& mark, const std::string& name) {
  return !own_digest(folder, mark, name).empty();
}

/// Why removal leaves an entry that is not as headrace wrote it. Content of others keeps a folder of headrace's.
const char* why_left(const Folder& folder, const Mark& mark, const std::string& name) {
  if (mark.files.contains(name)) return ": changed since headrace wrote it";
  const Folder inner = folder.inner(name);
  const bool own = inner && (files::bears_mark(inner.status()) || mark_of(inner));
  return own && !inner.entries().empty() ? ": not empty" : ": not made by headrace";
}

[[noreturn]] void refuse(const std::string& path, int code) {
  struct stat status;
  if (::lstat(path.c_str(), &status) == 0 && S_ISLNK(status.st_mode))
    throw UsageError(path + ": is a symbolic link; give the folder itself");
  if (code == ENOTDIR) throw UsageError(path + ": is not a folder; give a new or empty one");
  throw system_error("open folder", path, code);
}

/// Makes the folder, or opens the one that is there.
Folder make_or_open(const std::string& path, mode_t mode) {
  if (::mkdir(path.c_str(), mode) != 0 && errno != EEXIST) throw system_error("create folder", path, errno);
  Folder folder = Folder::at(path);
  if (!folder) refuse(path, errno);
  return folder;
}

/// Removed files that a program still has open after 3 s. NFS and FUSE close files later than programs do.
std::vector<std::string> files_kept_open(const Folder& folder) {
  constexpr int kTries = 60;
  for (int tries = 0;; ++tries) {
    std::vector<std::string> names = folder.entries();
    std::erase_if(names, [](const std::string& name) { return !files::is_kept_open(name); });
    if (names.empty() || tries >= kTries) return names;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
}

/// Of a folder whose mark is removed. Files that others make at the same time stay.
void remove_emptied(const Folder& folder, CleanReport& report) {
  files_kept_open(folder);  // the mark, say
  report.gone = folder.remove_itself();
  if (report.gone || !folder.in_place()) return;
  for (const std::string& name : folder.entries()) report.left.push_back(name + ": was made during the removal");
}

CleanReport remove_found(const Folder& folder, const std::optional<MarkedFolder>& marked) {
  if (marked) return marked->remove();
  CleanReport report;
  if (!folder || !is_blank(folder)) {
    report.left.push_back(folder.path() + ": not headrace's folder (no mark)");
  } else {
    remove_asides(folder);
    remove_emptied(folder, report);
  }
  return report;
}

}  // namespace

CleanReport remove_files_if(const files::Folder& folder,
                            const std::function<bool(const std::string& name, const struct stat& status)>& ours,
                            const std::function<std::string(const std::string& name)>& reported) {
  CleanReport report;
  for (const std::string& name : folder.entries()) {
    const auto status = folder.look(name);
    if (!status || name == MarkedFolder::kMark || folder.is_aside(name) || files::is_kept_open(name)) continue;
    if (ours(name, *status) && folder.remove(name, *status)) {
      ++report.files;
      report.bytes += static_cast<std::uint64_t>(status->st_size);
    } else if (folder.look(name)) {
      report.left.push_back(reported(name));
    }
  }
  return report;
}

void CleanReport::add(const CleanReport& more) {
  files += more.files;
  bytes += more.bytes;
  left.insert(left.end(), more.left.begin(), more.left.end());
}

MarkedFolder MarkedFolder::claim(Folder folder, const std::string& kind) {
  for (;;) {
    const FoundMark found = look_for_mark(folder);
    if (!found.other_writer.empty()) refuse_other_writer(found);
    if (found.mark) {
      if (found.mark->kind != kind)
        throw UsageError(folder.path() + ": is headrace's folder of another kind (" + found.mark->kind + ", not " +
                         kind + "); give a new or empty one");
      return {std::move(folder), kind};
    }
    const std::vector<std::string> foreign = entries_but_asides(folder);
    // Another headrace may have marked it in between, and use it.
    if (!foreign.empty() && !mark_of(folder))
      throw UsageError(folder.path() + ": holds what headrace did not make (" + some_of(foreign) +
                       "); give a new or empty folder");
    if (foreign.empty())
      folder.put_new(
          kMarkFile,
          files::mark_text(
              {.kind = kind, .made = files::bears_mark(folder.status()), .holder = {}, .token = {}, .files = {}}));
  }
}

MarkedFolder MarkedFolder::make(const std::string& given, const std::string& kind) {
  const std::string path = absolute_path(given);
  files::make_parents(std::filesystem::path(path).parent_path().string());
  return claim(make_or_open(path, files::kFolderMode), kind);
}

MarkedFolder MarkedFolder::make(const Folder& parent, const std::string& name, const std::string& kind) {
  return claim(parent.make(name), kind);
}

MarkedFolder MarkedFolder::make_private(const std::string& given, const std::string& kind) {
  const std::string path = absolute_path(given), parent_path = std::filesystem::path(path).parent_path().string();
  const Folder parent = Folder::at(std::filesystem::canonical(parent_path).string());
  if (!parent) throw system_error("open folder", parent_path, errno);
  if (const std::string why = files::other_replacer(parent); !why.empty())
    throw UsageError(why + ", who could replace what headrace makes there");
  Folder folder = make_or_open(path, files::kPrivateFolderMode);
  if (const std::string why = files::other_replacer(folder); !why.empty()) refuse_other_writer({{}, why});
  return claim(std::move(folder), kind);
}

MarkedFolder MarkedFolder::make_alone(const std::string& path, const std::string& kind) {
  for (;;) {
    MarkedFolder folder = make(path, kind);
    folder.hold();
    if (!folder.is_marked()) continue;  // another process removed it
    remove_asides(folder.folder_);      // of writers that were killed
    return folder;
  }
}

MarkedFolder MarkedFolder::make_alone(const Folder& parent, const std::string& name, const std::string& kind) {
  for (;;) {
    MarkedFolder folder = make(parent, name, kind);
    folder.hold();
    if (!folder.is_marked()) continue;
    remove_asides(folder.folder_);
    return folder;
  }
}

MarkedFolder MarkedFolder::make_next(const std::string& given, const std::string& kind) {
  const std::string path = absolute_path(given);
  files::make_parents(std::filesystem::path(path).parent_path().string());
  for (unsigned number = 1;; ++number) {
    const std::string name = number == 1 ? path : path + "-" + std::to_string(number);
    if (::mkdir(name.c_str(), files::kFolderMode) == 0) return make_alone(name, kind);
    if (errno != EEXIST) throw system_error("create folder", name, errno);
  }
}

std::optional<MarkedFolder> MarkedFolder::find(const std::string& given) {
  Folder folder = Folder::at(absolute_path(given));
  if (!folder) return std::nullopt;
  const FoundMark found = look_for_mark(folder);
  if (!found.mark) return std::nullopt;
  if (!found.other_writer.empty()) refuse_other_writer(found);
  return MarkedFolder(std::move(folder), found.mark->kind);
}

std::optional<MarkedFolder> MarkedFolder::find(const Folder& parent, const std::string& name) {
  Folder folder = parent.inner(name);
  const auto mark = folder ? mark_of(folder) : std::nullopt;
  if (!mark) return std::nullopt;
  return MarkedFolder(std::move(folder), mark->kind);
}

std::string MarkedFolder::kind_of(const std::string& path) {
  const Folder folder = Folder::at(absolute_path(path));
  const auto mark = folder ? look_for_mark(folder).mark : std::nullopt;
  return mark ? mark->kind : "";
}

bool MarkedFolder::is_free_for(const std::string& given, const std::string& kind) {
  const std::string path = absolute_path(given);
  const Folder folder = Folder::at(path);
  if (!folder && errno == ENOENT) return true;
  if (!folder) refuse(path, errno);
  const auto mark = mark_of(folder);
  return mark ? mark->kind == kind : entries_but_asides(folder).empty();
}

bool MarkedFolder::is_marked() const {
  const auto mark = mark_of(folder_);
  return mark && mark->kind == kind_;
}

bool MarkedFolder::try_hold() const {
  if (!folder_.lock_alone()) return false;
  if (auto mark = mark_of(folder_)) {
    mark->holder = files::Holder::this_process();
    try {
      folder_.put(kMarkFile, files::mark_text(*mark));
    } catch (const RunError&) {  // a full disk: the lock alone is enough
    }
  }
  return true;
}

void MarkedFolder::hold() const {
  constexpr int kTries = 20;  // its owner may be about to write its mark, or about to end
  for (int tries = 0; !try_hold(); ++tries) {
    const auto mark = mark_of(folder_);
    const bool known = mark && mark->holder && mark->holder->may_live();
    if (tries >= kTries || (known && tries > kTries / 4)) throw RunError(path() + " is " + in_use());
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
}

std::string MarkedFolder::in_use() const {
  const auto mark = mark_of(folder_);
  return "in use by another headrace" +
         (mark && mark->holder && mark->holder->may_live() ? " (" + mark->holder->text() + ")" : "");
}

void MarkedFolder::write(std::span<const File> written) const {
  folder_.require_in_place();
  auto mark = mark_of(folder_);
  if (!mark) throw RunError(path() + ": its mark is gone");
  for (const File& file : written) {
    const std::string name(file.name);
    const std::string present = own_digest(folder_, *mark, name);
    if (present.empty() && folder_.look(name))
      throw RunError("write " + folder_.path_of(name) +
                     ": is not as headrace wrote it; move it away, or name another folder");
    // The present file, which stays if this process is killed before the rename, and the new one.
    std::vector<std::string>& digests = mark->files[name];
    digests = {files::digest_of(file.text)};
    if (!present.empty() && present != digests.front()) digests.insert(digests.begin(), present);
  }
  // Listed first, so that files of an interrupted writer are known.
  const std::string listed = files::mark_text(*mark);
  if (listed.size() > kMostMark) throw RunError(path() + ": too many files to list in its mark");
  folder_.put(kMarkFile, listed);
  for (const File& file : written) folder_.put(std::string(file.name), file.text);
}

void MarkedFolder::write(std::string_view name, std::string_view text) const {
  const File file{name, text};
  write({&file, 1});
}

bool MarkedFolder::may_write(std::string_view name) const {
  const auto mark = mark_of(folder_);
  return !folder_.look(std::string(name)) || (mark && is_own(folder_, *mark, std::string(name)));
}

void MarkedFolder::remove_file(const std::string& name) const {
  const auto mark = mark_of(folder_);
  if (!mark || !mark->files.contains(name)) return;
  if (const auto found = folder_.look(name); found && is_own(folder_, *mark, name)) folder_.remove(name, *found);
}

void MarkedFolder::remove_files() const {
  if (const auto mark = mark_of(folder_))
    for (const auto& [name, digests] : mark->files) remove_file(name);
}

CleanReport MarkedFolder::remove() const {
  CleanReport report;
  if (!folder_.lock_alone()) {
    report.left.push_back(path() + ": " + in_use());
    return report;
  }
  const auto mark = mark_of(folder_);
  if (!mark) return report;  // another process removed it
  for (const std::string& name : folder_.entries()) {
    if (name == kMark || files::is_kept_open(name)) continue;
    const auto found = folder_.look(name);
    if (!found) continue;
    const bool aside = folder_.is_aside(name);
    if (!aside && !is_own(folder_, *mark, name)) {
      report.left.push_back(name + why_left(folder_, *mark, name));
      continue;
    }
    if (folder_.remove(name, *found) && !aside) {
      ++report.files;
      report.bytes += static_cast<std::uint64_t>(found->st_size);
    }
  }
  if (!report.left.empty()) return report;
  for (const std::string& name : files_kept_open(folder_))
    report.left.push_back(name + ": was removed, and a program has it open");
  if (!report.left.empty()) return report;
  // The mark goes last, so that a removal that was cut short can be taken up again.
  if (const auto found = folder_.look(kMarkFile)) folder_.remove(kMarkFile, *found);
  report.gone = !mark->made;
  if (!report.gone) remove_emptied(folder_, report);
  if (!report.left.empty()) folder_.put_new(kMarkFile, files::mark_text(*mark));
  return report;
}

std::string own_place(const std::string& path) {
  const Folder folder = Folder::at(absolute_path(path));
  if (!folder || folder.look(kMarkFile) || files::other_writer(folder).empty()) return path;
  return folder.path_of("headrace-" + std::to_string(::geteuid()));
}

CleanReport remove_marked(const std::string& given) {
  const std::string path = absolute_path(given);
  struct stat status;
  if (::lstat(path.c_str(), &status) != 0 && errno == ENOENT) return {.left = {}, .gone = true};
  Folder folder = Folder::at(path);
  folder = folder ? std::move(folder) : Folder({}, path);
  return remove_found(folder, MarkedFolder::find(path));
}

CleanReport remove_marked(const Folder& parent, const std::string& name) {
  if (!parent.look(name)) return {.left = {}, .gone = true};
  Folder folder = parent.inner(name);
  return remove_found(folder, MarkedFolder::find(parent, name));
}

}  // namespace headrace
