// Writes the files of a run folder.
#include <string>
#include <vector>

#include "harness/base/config/document.h"
#include "harness/base/files/marked_folder.h"
#include "harness/results/exports.h"
#include "harness/results/result_store.h"
#include "harness/results/run_file.h"

namespace headrace::results {

std::vector<std::string> write_run(const RunResult& run, const MarkedFolder& folder) {
  const std::string whole = run_json(run);
  const StoredRun stored = parse_run(whole, folder.folder().path_of("run.json"));
  const std::string env = env_json(run), config = config::to_yaml(run.plan->resolved), verdict = verdict_json(run);
  std::vector<MarkedFolder::File> files{{"run.json", whole}, {"env.json", env}, {"config.resolved.yaml", config}};
  std::vector<std::string> texts;
  texts.reserve(export_formats().size());  // files refer to them
  for (const ExportFormat& format : export_formats())
    if (*format.file != '\0') files.push_back({format.file, texts.emplace_back(format.text(stored, {}))});
  files.push_back({"verdict.json", verdict});  // the last: it exists only where all files that it depends on do
  folder.write(files);
  std::vector<std::string> names;
  for (const auto& file : files) names.emplace_back(file.name);
  return names;
}

StoredRun stored_run(const RunResult& run, const MarkedFolder* folder) {
  return folder != nullptr ? read_run_file(folder->path()) : parse_run(run_json(run), "run.json");
}

}  // namespace headrace::results
