#include "benches/headrace/past_runs.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "benches/headrace/console.h"
#include "harness/base/error.h"
#include "harness/results/pair_metrics.h"

namespace headrace::cli {

namespace fs = std::filesystem;

std::vector<results::StoredRun> past_runs(const std::string& folder) {
  if (!fs::is_directory(folder)) throw UsageError(fmt::format("--history: {}: no such folder", folder));
  std::vector<std::string> files;
  for (const auto& entry : fs::directory_iterator(folder))
    if (fs::is_regular_file(entry.path() / "run.json")) files.push_back(entry.path().string());
  std::sort(files.begin(), files.end());
  std::vector<results::StoredRun> runs;
  for (const std::string& file : files) {
    try {
      runs.push_back(results::read_run_file(file));
      results::add_pair_metrics(runs.back());
    } catch (const UsageError& e) {
      tell_line(Text::format("left out of the history: {}", e.what()));
    }
  }
  return runs;
}

}  // namespace headrace::cli
