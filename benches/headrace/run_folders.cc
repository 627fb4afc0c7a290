#include "benches/headrace/run_folders.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <thread>

#include "harness/base/parallel.h"

namespace headrace::cli {

namespace fs = std::filesystem;

std::vector<std::string> run_files_below(const std::string& path, const std::string& verb) {
  std::error_code error;
  if (fs::is_regular_file(path, error)) return {path};
  if (!fs::is_directory(path, error)) throw UsageError(fmt::format("{}: {}: no such file or folder", verb, path));
  if (fs::is_regular_file(fs::path(path) / "run.json", error)) return {(fs::path(path) / "run.json").string()};
  std::vector<std::string> files;
  const auto options = fs::directory_options::skip_permission_denied;
  for (auto entry = fs::recursive_directory_iterator(path, options, error);
       !error && entry != fs::recursive_directory_iterator(); entry.increment(error))
    if (entry->path().filename() == "run.json") files.push_back(entry->path().string());
  if (error) throw UsageError(fmt::format("{}: {}: {}", verb, path, error.message()));
  if (files.empty()) throw UsageError(fmt::format("{}: {}: no run.json below it", verb, path));
  std::sort(files.begin(), files.end());
  return files;
}

std::vector<results::StoredRun> read_runs(const std::vector<std::string>& files, std::vector<Unreadable>& unreadable,
                                          bool slim) {
  std::vector<std::optional<results::StoredRun>> read(files.size());
  std::vector<std::string> problems(files.size());
  parallel_for(files.size(), std::thread::hardware_concurrency(), [&](unsigned, std::uint64_t i) {
    try {
      read[i] = results::read_run_file(files[i]);
    } catch (const UsageError& e) {
      problems[i] = e.what();
      return;
    }
    if (!slim) return;
    for (results::StoredPoint& point : read[i]->points) {
      point.pairs.reset();
      point.latency.clear();
      point.latency.shrink_to_fit();
      point.each.clear();
      point.each.shrink_to_fit();
    }
  });
  std::vector<results::StoredRun> runs;
  for (std::size_t i = 0; i < files.size(); ++i) {
    if (read[i])
      runs.push_back(std::move(*read[i]));
    else
      unreadable.push_back({files[i], problems[i]});
  }
  return runs;
}

}  // namespace headrace::cli
