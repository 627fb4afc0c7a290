#include "benches/headrace/past_runs.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <filesystem>

#include "benches/headrace/console.h"
#include "harness/base/error.h"
#include "harness/base/system/list_names.h"
#include "harness/results/pair_metrics.h"

namespace headrace::cli {

namespace fs = std::filesystem;

std::vector<results::StoredRun> past_runs(const std::string& folder) {
  if (!fs::is_directory(folder)) throw UsageError(fmt::format("--history: {}: no such folder", folder));
  std::vector<std::string> files;
  std::vector<std::string> names;
  if (const int code = system::list_names(AT_FDCWD, folder.c_str(), names))
    throw UsageError(fmt::format("--history: list {}: {}", folder, errno_text(code)));
  for (const std::string& name : names)
    if (std::error_code none; fs::is_regular_file(fs::path(folder) / name / "run.json", none))
      files.push_back((fs::path(folder) / name).string());
  std::vector<results::StoredRun> runs;
  for (const std::string& file : files) {
    try {
      runs.push_back(results::read_run_file(file));
      results::add_pair_metrics(runs.back());
    } catch (const UsageError& e) {
      print_stderr_line(Text::format("left out of the history: {}", e.what()));
    }
  }
  return runs;
}

}  // namespace headrace::cli
