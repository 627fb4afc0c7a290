// The only file that includes <benchmark/benchmark.h>.
#include "harness/engine/driver.h"

#include <benchmark/benchmark.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <mutex>

namespace headrace::engine {
namespace {

// Counters are stored next to fields such as "threads" in Google Benchmark's own record: a prefix keeps them apart.
constexpr const char* kPrefix = "headrace.";

[[noreturn]] void bug(const char* file, int line, const std::string& what) {
  std::fprintf(stderr, "%s:%d: %s\n", file, line, what.c_str());
  std::abort();
}

/// Counts the runs; prints nothing. Aggregates are no repetitions; a label is an error's text.
class CountingReporter final : public benchmark::BenchmarkReporter {
 public:
  bool ReportContext(const Context&) override { return true; }
  void ReportRuns(const std::vector<Run>& runs) override {
    for (const Run& run : runs) {
      if (run.run_type != Run::RT_Iteration) continue;
      ++report.repetitions;
      if (!run.report_label.empty()) ++report.errors;
    }
  }
  DriverReport report;
};

void initialize_once() {
  static std::once_flag once;
  std::call_once(once, [] {
    // Fixed, so that neither our own arguments nor BENCHMARK_* in the environment change the run.
    static char program[] = "headrace", filter[] = "--benchmark_filter=.",
                out[] = "--benchmark_out=", list[] = "--benchmark_list_tests=false",
                interleaving[] = "--benchmark_enable_random_interleaving=false";
    char* arguments[] = {program, filter, out, list, interleaving, nullptr};
    int count = 5;
    benchmark::Initialize(&count, arguments);
  });
}

void run_one(benchmark::State& state, const std::function<Sample()>& body) {
  Sample sample;
  while (state.KeepRunning()) {
    sample = body();
    state.SetIterationTime(sample.elapsed_s);
  }
  for (const MetricValue& value : sample.values) {
    if (!std::isfinite(value.value)) bug(__FILE__, __LINE__, "metric " + value.name + " is not finite");
    state.counters[kPrefix + value.name] = benchmark::Counter(value.value);
  }
  // Not SkipWithError: 1.7.1 makes its aggregates by the first repetition and crashes when that was
  // skipped.
  if (!sample.error.empty()) state.SetLabel(sample.error);
}

}  // namespace

DriverReport drive(const std::string& name, unsigned repetitions, const std::function<Sample()>& body) {
  initialize_once();
  benchmark::ClearRegisteredBenchmarks();
  benchmark::RegisterBenchmark(name.c_str(), [&body](benchmark::State& state) { run_one(state, body); })
      ->UseManualTime()
      ->Iterations(1)
      ->Repetitions(static_cast<int>(repetitions));
  CountingReporter reporter;
  benchmark::RunSpecifiedBenchmarks(&reporter, ".");
  benchmark::ClearRegisteredBenchmarks();
  if (reporter.report.repetitions != repetitions) {
    bug(__FILE__, __LINE__, "Google Benchmark did not report every repetition of " + name);
  }
  return reporter.report;
}

}  // namespace headrace::engine
