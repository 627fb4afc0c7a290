// Writes the files of a run folder: aside, to disk, then renamed, so that a reader finds a whole
// file or none.
#include "harness/config/document.h"
#include "harness/results/exports.h"
#include "harness/results/result_store.h"
#include "harness/results/whole_file.h"

namespace headrace::results {
std::vector<std::string> write_run(const RunResult& run, const std::string& folder) {
  std::vector<std::string> names;
  const auto write = [&](const char* name, const std::string& text) {
    write_whole(folder + "/" + name, text);
    names.emplace_back(name);
  };
  // Small and telling files first: on a full disk the verdict has the best chance.
  write("verdict.json", verdict_json(run));
  const std::string whole = run_json(run);
  write("run.json", whole);
  const StoredRun stored = parse_run(whole, folder + "/run.json");
  write("junit.xml", junit_xml(stored));
  write("headrace.prom", prometheus_text(stored));
  write("env.json", env_json(run));
  write("config.resolved.yaml", config::to_yaml(run.plan->resolved));
  write("gbench.json", gbench_json(stored));
  write("results.csv", csv(stored));
  sync_folder(folder);
  return names;
}

}  // namespace headrace::results
