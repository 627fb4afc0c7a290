#include "harness/observe/data_survey.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>

#include "harness/backends/formats/format.h"
#include "harness/backends/formats/shard_samples.h"
#include "harness/base/error.h"
#include "harness/base/system/list_names.h"
#include "harness/base/system/open_quiet.h"
#include "harness/machine/block_device.h"
#include "harness/machine/mount.h"

namespace headrace::observe {
namespace {

namespace fs = std::filesystem;

constexpr double kMostOfTheFiles = 0.9;

std::string extension_of(const std::string& path) { return fs::path(path).extension().string(); }

/// For files that are not here: those that were read, with the size that was read.
DataSurvey from_reads(const std::vector<const FileSeen*>& files, DataSurvey found) {
  std::set<std::string> folders;
  double squares = 0;
  for (const FileSeen* file : files) {
    if (std::find(found.extensions.begin(), found.extensions.end(), extension_of(file->path)) == found.extensions.end())
      continue;
    ++found.files;
    found.bytes += file->extent;
    squares += static_cast<double>(file->extent) * static_cast<double>(file->extent);
    folders.insert(fs::path(file->path).parent_path().string());
  }
  found.folders = folders.size();
  if (found.files > 1) {
    const double n = static_cast<double>(found.files), mean = found.mean_size();
    found.size_deviation = std::sqrt(std::max(0.0, squares / n - mean * mean));
  }
  return found;
}

/// Counts the files of the data set below a folder, within the bounds.
class Listing {
 public:
  Listing(DataSurvey& found, const SurveyBounds& bounds)
      : found_(found),
        most_(bounds.most_files),
        until_(std::chrono::steady_clock::now() + std::chrono::duration<double>(bounds.seconds)) {
    found_.complete = true;
  }

  void look_below(const std::string& folder) {
    std::vector<std::string> names;
    if (const int code = system::list_names(AT_FDCWD, folder.c_str(), names)) return missed(folder, code);
    std::uint64_t own = 0;
    for (auto name = names.begin(); name != names.end() && within_bounds(); ++name) look_at(folder + "/" + *name, own);
    found_.folders += own > 0;
  }
  /// The deviation of the files' sizes [B].
  double size_deviation() const {
    if (found_.files < 2) return 0;
    const double mean = found_.mean_size();
    return std::sqrt(std::max(0.0, squares_ / static_cast<double>(found_.files) - mean * mean));
  }
  /// Three at most, to be looked into.
  const std::vector<std::string>& shards() const { return shards_; }

 private:
  bool within_bounds() {
    const bool within = found_.files < most_ && std::chrono::steady_clock::now() <= until_;
    found_.complete = found_.complete && within;
    return within;
  }
  void look_at(const std::string& path, std::uint64_t& own) {
    struct stat status {};
    if (!formats::by_product(std::string_view(path).substr(path.rfind('/') + 1)).empty()) return;
    if (::lstat(path.c_str(), &status) != 0) return missed(path, errno);
    if (S_ISDIR(status.st_mode)) return look_below(path);
    const auto& wanted = found_.extensions;
    if (std::find(wanted.begin(), wanted.end(), extension_of(path)) == wanted.end()) return;
    if (::stat(path.c_str(), &status) != 0) return missed(path, errno);
    if (!S_ISREG(status.st_mode)) return;
    const auto size = static_cast<double>(status.st_size);
    ++own;
    ++found_.files;
    found_.bytes += static_cast<std::uint64_t>(status.st_size);
    squares_ += size * size;
    if (shards_.size() < 3 && found_.format != formats::Format::none) shards_.push_back(path);
  }
  void missed(const std::string& path, int code) {
    if (code == ENOENT) return;  // removed in the meantime, or a link to nothing
    found_.complete = false;
    if (found_.unlisted.empty()) found_.unlisted = path + ": " + errno_text(code);
  }

  DataSurvey& found_;
  const std::uint64_t most_;
  const std::chrono::time_point<std::chrono::steady_clock, std::chrono::duration<double>> until_;
  double squares_ = 0;
  std::vector<std::string> shards_;
};

}  // namespace

std::string common_folder(const std::vector<std::pair<std::string, std::uint64_t>>& files, std::uint64_t all) {
  std::map<std::string, std::uint64_t> below;
  for (const auto& [path, weight] : files)
    for (fs::path folder = fs::path(path).parent_path();; folder = folder.parent_path()) {
      below[folder.string()] += weight;
      if (folder == folder.parent_path()) break;
    }
  std::string deepest;
  for (const auto& [folder, weight] : below)
    if (static_cast<double>(weight) >= kMostOfTheFiles * static_cast<double>(all) && folder.size() > deepest.size())
      deepest = folder;
  return deepest;
}

std::vector<std::string> commands_of(const Recording& recording) {
  std::set<std::string> commands;
  for (const ProcessSeen& one : recording.processes) commands.insert(one.command);
  return {commands.begin(), commands.end()};
}

bool is_script(const std::string& path, const std::vector<std::string>& commands) {
  const std::string name = fs::path(path).filename().string();
  if (std::none_of(commands.begin(), commands.end(),
                   [&](const std::string& one) { return one.find(name) != one.npos; }))
    return false;
  std::error_code error;
  if (!fs::is_regular_file(path, error)) return false;  // a pipe would be waited for
  std::array<char, 2> begin{};
  std::ifstream file(path, std::ios::binary);
  return file.read(begin.data(), begin.size()) && begin[0] == '#' && begin[1] == '!';
}

bool is_program_file(std::string_view path) {
  for (const std::string_view system :
       {"/usr/", "/lib", "/etc/", "/proc/", "/sys/", "/run/", "/bin/", "/sbin/", "/var/lib/"})
    if (path.starts_with(system)) return true;
  constexpr std::string_view kShared =
      "/dev/shm/";  // files directly in it are shared memory, files in its folders are not
  if (path.starts_with("/dev/") && (!path.starts_with(kShared) || path.find('/', kShared.size()) == path.npos))
    return true;
  for (const std::string_view part : {"/site-packages/", "/dist-packages/", "/__pycache__/", "/.git/", "/.cache/"})
    if (path.find(part) != path.npos) return true;
  for (const std::string_view end :
       {".py", ".pyc", ".so", ".pth.tmp", ".log", ".toml", ".cfg", ".yaml", ".yml", " (deleted)"})
    if (path.ends_with(end)) return true;
  return path.find(".so.") != path.npos;
}

namespace {

/// Were batches being taken, or soon after, when it was last found being read?
bool read_for_batches(const FileSeen& file, const Roles& roles) {
  return roles.end_s <= roles.begin_s || file.last_s >= roles.begin_s;
}

/// How often it was found being read; where `held`, found open.
std::uint64_t weight_of(const FileSeen& file, bool held) {
  return held ? file.held : std::uint64_t{file.read} + file.open + file.named;
}

/// Is any file of data found being read? One that is only open may be anything: a lock, a log. Where opens are slow and
/// reads are not, threads are found in opens alone.
bool any_read(const Recording& recording, const Roles& roles, const std::string& root) {
  constexpr std::uint64_t kOpens = 10;  // looks
  std::uint64_t named = 0;
  for (const FileSeen& file : recording.files) {
    struct stat status {};
    if (file.written > 0 || file.read + file.open + file.named == 0 || !read_for_batches(file, roles) ||
        is_program_file(file.path) || (!roles.is_worker(file.process) && !roles.is_consumer(file.process)) ||
        (::stat((root + file.path).c_str(), &status) == 0 && !S_ISREG(status.st_mode)))
      continue;
    named += file.named;
    if (file.read + file.open > 0 || named >= kOpens) return true;
  }
  return false;
}

}  // namespace

DataSurvey survey_data(const Recording& recording, const Roles& roles, const std::string& root,
                       const SurveyBounds& bounds) {
  DataSurvey found;
  found.read = any_read(recording, roles, root);
  std::vector<std::pair<std::string, std::uint64_t>> read;
  std::vector<const FileSeen*> away;  // not on this machine, or gone since
  std::uint64_t looks = 0;
  std::map<std::string, std::uint64_t> extensions;
  const std::vector<std::string> commands = commands_of(recording);
  for (const FileSeen& file : recording.files) {
    if (file.written > 0 || is_program_file(file.path) || is_script(root + file.path, commands)) continue;
    if (!roles.is_worker(file.process) && !roles.is_consumer(file.process)) continue;
    const std::uint64_t weight = weight_of(file, !found.read);
    if (weight == 0 || (found.read && !read_for_batches(file, roles))) continue;
    struct stat status {};
    const bool here = ::stat((root + file.path).c_str(), &status) == 0;
    if (here ? !S_ISREG(status.st_mode) || status.st_size == 0 : file.extent == 0) continue;
    if (!here) away.push_back(&file);
    read.emplace_back(file.path, weight);
    looks += weight;
    extensions[extension_of(file.path)] += weight;
  }
  if (read.empty()) return found;
  for (const auto& [extension, weight] : extensions)
    if (static_cast<double>(weight) >= 0.05 * static_cast<double>(looks)) found.extensions.push_back(extension);
  std::erase_if(read, [&](const auto& one) {
    return std::find(found.extensions.begin(), found.extensions.end(), extension_of(one.first)) ==
           found.extensions.end();
  });
  looks = 0;
  for (const auto& [path, weight] : read) looks += weight;
  found.seen = read.size();
  found.folder = common_folder(read, looks);
  if (found.folder == "/") {  // files that have nothing in common
    DataSurvey unknown;
    unknown.read = found.read;
    return unknown;
  }
  std::error_code none;
  if (found.folder.find("/..") != found.folder.npos)
    if (const fs::path plain = fs::canonical(root + found.folder, none); !none && root.empty())
      found.folder = plain.string();
  found.format = formats::format_by_name(read.front().first);
  if (away.size() * 2 > read.size()) return from_reads(away, std::move(found));

  Listing listing(found, bounds);
  const std::string top = root + found.folder;
  listing.look_below(top);
  found.size_deviation = listing.size_deviation();
  std::uint64_t parsed_bytes = 0, samples = 0;
  for (const std::string& shard : listing.shards()) {
    const formats::CountedSamples counted = formats::count_samples(shard, found.format, bounds.shard_bytes);
    if (counted.samples == 0) continue;
    parsed_bytes += counted.bytes;
    samples += counted.samples;
    ++found.shards_parsed;
  }
  if (samples > 0)
    found.samples_per_file = found.mean_size() * static_cast<double>(samples) / static_cast<double>(parsed_bytes);

  struct stat status {};
  if (::stat(top.c_str(), &status) == 0) {
    const std::string number = fmt::format("{}:{}", major(status.st_dev), minor(status.st_dev));
    std::error_code none;
    if (fs::exists("/sys/dev/block/" + number, none)) {
      const system::BlockDevice device{.name = "", .sys_path = "/sys/dev/block/" + number};
      found.device = system::disk_number(device);
      if (found.device.empty()) found.device = number;
    }
  }
  if (root.empty())
    if (const auto mount = system::mount_of(found.folder)) {
      found.file_system = mount->type;
      if (found.device.empty())
        if (const auto device = system::device_of(found.folder)) found.device = system::disk_number(*device);
    }
  return found;
}

}  // namespace headrace::observe
