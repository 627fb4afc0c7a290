// Marks: made by writing aside and renaming, read and removed relative to the folder's descriptor.
#include "harness/marked_folder.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "harness/diagnostics.h"
#include "harness/error.h"
#include "harness/system/entries.h"
#include "harness/system/small_file.h"
#include "harness/system/unique_fd.h"
#include "harness/version.h"

namespace headrace {
namespace {

using system::entries_of;
using system::UniqueFd;

constexpr int kSchema = 1;
constexpr const char* kMarkFile = ".headrace";
constexpr const char* kUnfinishedMark = ".headrace.new";
constexpr std::string_view kPrefix = "headrace.";

std::string absolute_path(const std::string& path) {
  std::filesystem::path full = std::filesystem::absolute(path).lexically_normal();
  if (!full.has_filename() && full.has_relative_path()) full = full.parent_path();  // "scratch/"
  return full.string();
}

/// The folder itself, never what a symbolic link in its place points at.
UniqueFd open_folder(const std::string& path) {
  return UniqueFd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

std::string read_mark(int folder) {
  const auto json = nlohmann::json::parse(system::read_small_file(folder, kMarkFile), nullptr,
                                          /*allow_exceptions=*/false);
  if (!json.is_object() || !json.contains("kind") || !json["kind"].is_string()) return "";
  const std::string kind = json["kind"];
  return kind.starts_with(kPrefix) ? kind.substr(kPrefix.size()) : "";
}

void write_mark(int folder, const std::string& path, const std::string& kind) {
  const nlohmann::ordered_json json{
      {"kind", std::string(kPrefix) + kind}, {"schema", kSchema}, {"version", kVersion}};
  system::replace_small_file(folder, kMarkFile, kUnfinishedMark, json.dump() + "\n",
                             path + "/" + kMarkFile);
}

std::string some_of(const std::vector<std::string>& names) {
  constexpr std::size_t kShown = 3;
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), kShown); ++i)
    text += (i ? ", " : "") + names[i];
  if (names.size() > kShown) text += ", ... " + std::to_string(names.size()) + " in all";
  return text;
}

}  // namespace

MarkedFolder MarkedFolder::make(const std::string& given, const std::string& kind) {
  const std::string path = absolute_path(given);
  const std::filesystem::path parent = std::filesystem::path(path).parent_path();
  std::error_code failed;
  std::filesystem::create_directories(parent, failed);
  if (failed) throw system_error("create folder", parent.string(), failed.value());
  if (::mkdir(path.c_str(), 0755) != 0 && errno != EEXIST)
    throw system_error("create folder", path, errno);

  const UniqueFd folder = open_folder(path);
  if (!folder) {
    const int code = errno;
    struct stat status;
    if (::lstat(path.c_str(), &status) == 0 && S_ISLNK(status.st_mode))
      throw UsageError(path + ": is a symbolic link; give the folder itself");
    if (code == ENOTDIR) throw UsageError(path + ": is not a folder; give a new or empty one");
    throw system_error("open folder", path, code);
  }
  const std::string found = read_mark(folder.get());
  if (found == kind) return MarkedFolder(path);
  if (!found.empty())
    throw UsageError(path + ": is headrace's folder of another kind (" + found + ", not " + kind +
                     "); give a new or empty one");
  std::vector<std::string> foreign = entries_of(folder.get());
  std::erase(foreign, kUnfinishedMark);
  if (!foreign.empty())
    throw UsageError(path + ": holds what headrace did not make (" + some_of(foreign) +
                     "); give a new or empty folder");
  write_mark(folder.get(), path, kind);
  return MarkedFolder(path);
}

std::string MarkedFolder::kind_of(const std::string& path) {
  const UniqueFd folder = open_folder(absolute_path(path));
  return folder ? read_mark(folder.get()) : "";
}

CleanReport remove_marked(const std::string& given, std::span<const std::string_view> own) {
  CleanReport report;
  const std::string path = absolute_path(given);
  const UniqueFd folder = open_folder(path);
  if (!folder && errno == ENOENT) {
    report.gone = true;
    return report;
  }
  if (!folder || read_mark(folder.get()).empty()) {
    report.left.push_back(path + ": not headrace's folder (no mark)");
    return report;
  }
  for (const std::string& name : entries_of(folder.get())) {
    if (name == kMarkFile || name == kUnfinishedMark) continue;
    struct stat status;
    const bool ours = std::find(own.begin(), own.end(), name) != own.end() &&
                      ::fstatat(folder.get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 &&
                      S_ISREG(status.st_mode);
    if (!ours) {
      report.left.push_back(name + ": not made by headrace");
      continue;
    }
    if (::unlinkat(folder.get(), name.c_str(), 0) != 0)
      throw system_error("remove", path + "/" + name, errno);
    ++report.files;
    report.bytes += static_cast<std::uint64_t>(status.st_size);
  }
  if (!report.left.empty()) return report;
  // The mark goes last, so that a removal that was cut short can be taken up again.
  ::unlinkat(folder.get(), kUnfinishedMark, 0);
  if (::unlinkat(folder.get(), kMarkFile, 0) != 0)
    throw system_error("remove", path + "/" + kMarkFile, errno);
  if (::rmdir(path.c_str()) != 0 &&
      errno != EBUSY)  // EBUSY: a mount point, which stays as an empty folder
    throw system_error("remove folder", path, errno);
  report.gone = true;
  return report;
}

}  // namespace headrace
