// Any text as run.json, or as a report page that carries one: refused with words, or a run that
// every export can show.
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "harness/base/error.h"
#include "harness/results/run_file.h"
#include "tests/fuzz/stored.h"
#include "tests/unit/temporary_folder.h"

namespace {
using namespace headrace;
using fuzzing::expect;

results::StoredRun read(const std::string& text) {
  if (!text.starts_with('<')) return results::parse_run(text, "run.json");
  static const headrace::testing::TemporaryFolder folder;
  folder.write("report.html", text);
  return results::read_run_file(folder / "report.html");
}

bool is_json(const std::string& text) { return nlohmann::json::accept(text); }

void check_exports(const results::StoredRun& run) {
  try {
    for (const char* word : {"gbench", "bmf"})
      expect(is_json(results::export_format(word).text(run, {})), "it is JSON", word);
  } catch (const RunError&) {  // a value that its units make too large for JSON
  }
  for (const char* word : {"junit", "csv"})
    expect(!results::export_format(word).text(run, {}).empty(), "a run has a form", run.id);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  results::StoredRun run;
  try {
    run = read(std::string(reinterpret_cast<const char*>(data), size));
  } catch (const UsageError& e) {
    expect(*e.what() != '\0', "a refusal says why", "");
    return 0;
  }
  for (const results::StoredPoint& point : run.points) {
    expect(run.find(point.id) == &point, "a point is found by its name", point.id);
    for (const results::StoredMetric& metric : point.metrics)
      expect(metric.low <= metric.high, "bounds are in order", metric.name);
  }
  fuzzing::check_verdict(run);
  check_exports(run);
  return 0;
}
