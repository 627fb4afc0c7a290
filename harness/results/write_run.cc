// Writes the files of a run folder.
#include <array>

#include "harness/config/document.h"
#include "harness/files/marked_folder.h"
#include "harness/results/exports.h"
#include "harness/results/result_store.h"

namespace headrace::results {

std::vector<std::string> write_run(const RunResult& run, const MarkedFolder& folder) {
  const std::string whole = run_json(run);
  const StoredRun stored = parse_run(whole, folder.folder().path_of("run.json"));
  const std::string env = env_json(run), config = config::to_yaml(run.plan->resolved), gbench = gbench_json(stored),
                    junit = junit_xml(stored), prometheus = prometheus_text(stored), table = csv(stored),
                    verdict = verdict_json(run);
  // The verdict last: it stands only where all that it rests on does.
  const std::array<MarkedFolder::File, 8> files{{{"run.json", whole},
                                                 {"env.json", env},
                                                 {"config.resolved.yaml", config},
                                                 {"gbench.json", gbench},
                                                 {"junit.xml", junit},
                                                 {"headrace.prom", prometheus},
                                                 {"results.csv", table},
                                                 {"verdict.json", verdict}}};
  folder.write(files);
  std::vector<std::string> names;
  for (const auto& file : files) names.emplace_back(file.name);
  return names;
}

}  // namespace headrace::results
