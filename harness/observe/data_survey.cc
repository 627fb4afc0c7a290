#include "harness/observe/data_survey.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <map>
#include <set>

#include "harness/formats/shard_samples.h"
#include "harness/system/block_device.h"
#include "harness/system/mount.h"
#include "harness/system/open_quiet.h"

namespace headrace::observe {
namespace {

namespace fs = std::filesystem;

constexpr double kMostOfTheFiles = 0.9;

std::string extension_of(const std::string& path) { return fs::path(path).extension().string(); }

/// The deepest folder that nine tenths of the looks were below.
std::string common_folder(const std::vector<std::pair<std::string, std::uint64_t>>& files, std::uint64_t looks) {
  std::map<std::string, std::uint64_t> below;
  for (const auto& [path, weight] : files)
    for (fs::path folder = fs::path(path).parent_path();; folder = folder.parent_path()) {
      below[folder.string()] += weight;
      if (folder == folder.parent_path()) break;
    }
  std::string deepest;
  for (const auto& [folder, weight] : below)
    if (static_cast<double>(weight) >= kMostOfTheFiles * static_cast<double>(looks) && folder.size() > deepest.size())
      deepest = folder;
  return deepest;
}

/// Of files that are not here: those that were read, as large as they were read.
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

}  // namespace

bool is_program_file(std::string_view path) {
  for (const std::string_view system :
       {"/usr/", "/lib", "/etc/", "/proc/", "/sys/", "/run/", "/bin/", "/sbin/", "/var/lib/"})
    if (path.starts_with(system)) return true;
  constexpr std::string_view kShared =
      "/dev/shm/";  // what lies there itself is shared memory, not what lies in folders
  if (path.starts_with("/dev/") && (!path.starts_with(kShared) || path.find('/', kShared.size()) == path.npos))
    return true;
  for (const std::string_view part : {"/site-packages/", "/dist-packages/", "/__pycache__/", "/.git/", "/.cache/"})
    if (path.find(part) != path.npos) return true;
  for (const std::string_view end :
       {".py", ".pyc", ".so", ".pth.tmp", ".log", ".toml", ".cfg", ".yaml", ".yml", " (deleted)"})
    if (path.ends_with(end)) return true;
  return path.find(".so.") != path.npos;
}

DataSurvey survey_data(const Recording& recording, const Roles& roles, const std::string& root,
                       const SurveyBounds& bounds) {
  DataSurvey found;
  std::vector<std::pair<std::string, std::uint64_t>> read;
  std::vector<const FileSeen*> away;  // not on this machine, or gone since
  std::uint64_t looks = 0;
  std::map<std::string, std::uint64_t> extensions;
  for (const FileSeen& file : recording.files) {
    if (file.written > 0 || is_program_file(file.path)) continue;
    if (!roles.is_worker(file.process) && !roles.is_consumer(file.process)) continue;
    struct stat status {};
    const bool here = ::stat((root + file.path).c_str(), &status) == 0;
    if (here ? !S_ISREG(status.st_mode) : file.extent == 0) continue;
    if (!here) away.push_back(&file);
    const std::uint64_t weight = std::uint64_t{file.read} + file.open + file.named;
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
  found.format = formats::format_by_name(read.front().first);
  if (away.size() * 2 > read.size()) return from_reads(away, std::move(found));

  const auto until = std::chrono::steady_clock::now() + std::chrono::duration<double>(bounds.seconds);
  std::set<std::string> folders;
  double squares = 0;
  std::vector<std::string> shards;
  std::error_code error;
  found.complete = true;
  const fs::path top = root + found.folder;
  for (fs::recursive_directory_iterator it(top, fs::directory_options::skip_permission_denied, error), end;
       !error && it != end; it.increment(error)) {
    if (found.files >= bounds.most_files || std::chrono::steady_clock::now() > until) {
      found.complete = false;
      break;
    }
    const std::string path = it->path().string();
    if (std::find(found.extensions.begin(), found.extensions.end(), extension_of(path)) == found.extensions.end())
      continue;
    std::error_code wrong;
    if (!it->is_regular_file(wrong)) continue;
    const auto size = static_cast<double>(it->file_size(wrong));
    if (wrong) continue;
    ++found.files;
    found.bytes += static_cast<std::uint64_t>(size);
    squares += size * size;
    folders.insert(it->path().parent_path().string());
    if (shards.size() < 3 && found.format != formats::Format::none) shards.push_back(path);
  }
  if (error) found.complete = false;
  found.folders = folders.size();
  if (found.files > 1) {
    const double n = static_cast<double>(found.files), mean = found.mean_size();
    found.size_deviation = std::sqrt(std::max(0.0, squares / n - mean * mean));
  }
  std::uint64_t parsed_bytes = 0, samples = 0;
  for (const std::string& shard : shards) {
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
