#include "benches/headrace/run_folders.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <thread>

#include "benches/headrace/console.h"
#include "benches/headrace/report_maker.h"
#include "harness/base/diagnostics.h"
#include "harness/base/error.h"
#include "harness/base/parallel.h"
#include "harness/base/system/list_names.h"
#include "harness/bringup/as_runs.h"
#include "harness/results/pair_metrics.h"

namespace headrace::cli {

namespace fs = std::filesystem;

namespace {

/// A folder that cannot be listed may hold runs: it is an error, and not an empty folder.
void find_below(const fs::path& folder, const std::vector<std::string>& wanted, const std::string& verb,
                std::vector<std::string>& files) {
  std::vector<std::string> names;
  const int code = system::list_names(AT_FDCWD, folder.c_str(), names);
  if (code == ENOENT) return;  // another process removed it
  if (code != 0) throw UsageError(fmt::format("{}: list {}: {}", verb, folder.string(), errno_text(code)));
  for (const std::string& name : names) {
    const fs::path path = folder / name;
    std::error_code error;
    if (std::find(wanted.begin(), wanted.end(), name) != wanted.end())
      files.push_back(path.string());
    else if (fs::symlink_status(path, error).type() == fs::file_type::directory)
      find_below(path, wanted, verb, files);
  }
}

}  // namespace

std::vector<std::string> run_files_below(const std::string& path, const std::string& verb, Also also) {
  std::error_code error;
  if (fs::is_regular_file(path, error)) return {path};
  if (!fs::is_directory(path, error)) throw UsageError(fmt::format("{}: {}: no such file or folder", verb, path));
  std::vector<std::string> names{"run.json"};
  if (also == Also::bringups) names.emplace_back(bringup::kFile);
  for (const std::string& name : names)
    if (fs::is_regular_file(fs::path(path) / name, error)) return {(fs::path(path) / name).string()};
  std::vector<std::string> files;
  find_below(path, names, verb, files);
  if (files.empty()) throw UsageError(fmt::format("{}: {}: no {} below it", verb, path, join(names, " or ")));
  std::sort(files.begin(), files.end());
  return files;
}

std::vector<results::StoredRun> read_runs(const std::vector<std::string>& files, std::vector<Unreadable>& unreadable,
                                          bool slim) {
  std::vector<std::vector<results::StoredRun>> read(files.size());
  std::vector<std::string> problems(files.size());
  parallel_for(files.size(), std::thread::hardware_concurrency(), [&](unsigned, std::uint64_t i) {
    try {
      if (fs::path(files[i]).filename() == bringup::kFile)
        read[i] = bringup::runs_in(files[i]);
      else
        read[i].push_back(results::read_run_file(files[i]));
    } catch (const UsageError& e) {
      problems[i] = e.what();
      return;
    }
    if (!slim) return;
    for (results::StoredRun& run : read[i]) {
      results::add_pair_metrics(run);
      for (results::StoredPoint& point : run.points) {
        point.pairs.reset();
        point.pairs_each.clear();
        point.latency.clear();
        point.latency.shrink_to_fit();
        point.each.clear();
        point.each.shrink_to_fit();
      }
    }
  });
  std::vector<results::StoredRun> runs;
  for (std::size_t i = 0; i < files.size(); ++i) {
    for (results::StoredRun& run : read[i]) runs.push_back(std::move(run));
    if (!problems[i].empty()) unreadable.push_back({files[i], problems[i]});
  }
  return runs;
}

void print_findings(const Findings& findings, const std::optional<MarkedFolder>& folder, bool draw,
                    const std::string& format, const Shared& shared) {
  std::string page;
  if (folder) {
    const std::string name = findings.name, data = name + ".json";
    folder->write(data, findings.json());
    if (findings.csv) folder->write(name + ".csv", findings.csv());
    if (draw) page = drawn_or_reported(*folder, data.c_str());
  }
  if (format != "text") return print_document(format == "json" ? findings.json() : findings.csv());
  const Terminal terminal(stdout, shared);
  print(answer_text(findings.answer, terminal) + findings.text(terminal));
  if (!page.empty()) print(Text::format("page    {}\n", page));
  print_line(findings.last_line);
}

}  // namespace headrace::cli
