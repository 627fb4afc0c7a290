// Writes the files of a run folder: aside, to disk, then renamed, so that a reader finds a whole
// file or none.
#include "harness/config/document.h"
#include "harness/results/result_store.h"
#include "harness/results/whole_file.h"

namespace headrace::results {
std::vector<std::string> write_run(const RunResult& run, const std::string& folder) {
  // Small and telling files first: on a full disk the verdict has the best chance.
  const std::pair<const char*, std::string> files[] = {
      {"verdict.json", verdict_json(run)},
      {"run.json", run_json(run)},
      {"junit.xml", junit_xml(run)},
      {"headrace.prom", prometheus_text(run)},
      {"env.json", env_json(run)},
      {"config.resolved.yaml", config::to_yaml(run.plan->resolved)},
      {"gbench.json", gbench_json(run)},
      {"results.csv", csv(run)},
  };
  std::vector<std::string> names;
  for (const auto& [name, text] : files) {
    write_whole(folder + "/" + name, text);
    names.emplace_back(name);
  }
  sync_folder(folder);
  return names;
}

}  // namespace headrace::results
