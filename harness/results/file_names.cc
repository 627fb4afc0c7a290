// The names of a run folder's files.
#include "harness/results/result_store.h"

namespace headrace::results {

std::span<const std::string_view> run_file_names() {
  static constexpr std::string_view kNames[] = {
      "run.json",  "verdict.json",  "config.resolved.yaml", "env.json",   "gbench.json",
      "junit.xml", "headrace.prom", "results.csv",          "report.html"};
  return kNames;
}

}  // namespace headrace::results
