#include "benches/headrace/compare_options.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <filesystem>

#include "benches/headrace/console.h"
#include "harness/analysis/comparison/gates.h"
#include "harness/base/diagnostics.h"
#include "harness/base/error.h"
#include "harness/base/system/list_names.h"
#include "harness/base/units.h"
#include "harness/results/pair_metrics.h"
#include "harness/workload/registry.h"
#include "harness/workload/workload.h"

namespace headrace::cli {

double share_of(const std::string& option, const std::string& text, double fallback) {
  if (text.empty()) return fallback;
  const bool percent = text.ends_with('%');
  const Parsed parsed = parse_quantity(text.substr(0, text.size() - (percent ? 1 : 0)), Dimension::ratio);
  const double share = percent ? parsed.value / 100 : parsed.value;
  if (!parsed || share <= 0 || share >= 1)
    throw UsageError(fmt::format("{}: '{}' must be between 0 and 100 %, such as 5%", option, text));
  return share;
}

void add_compare_options(Verb& verb, CompareOptions& options) {
  verb.option("--gate GLOB", options.gates,
              "Metrics that decide the exit code, as in 'shard_stream.read_bandwidth' or "
              "'*.latency_p99_ns' (repeatable); default: those that needs were judged by, else "
              "each workload's first")
      .one_value_each();
  verb.option("--differs KEY", options.differs,
              "A part of the fingerprint that differs on purpose: device, kernel.release ... "
              "(repeatable)")
      .one_value_each();
  verb.option("--across KEY", options.across, "A parameter that is compared, not joined on, as in engine (repeatable)")
      .one_value_each();
  verb.option("--delta SHARE", options.delta, "Smallest change that matters (default 5%)");
  verb.option("--delta-tail SHARE", options.delta_tail, "The same for tails (default 10%)");
  verb.option(
      "--aa FILE", options.noise,
      "Noise floor of this system (aa.json, or its folder; made by headrace run --against-itself); default: the "
      "newest one next to the runs, of the same machine, settings and program");
}

comparison::Options compare_options(const CompareOptions& given) {
  comparison::Options options;
  options.delta_rate = share_of("--delta", given.delta, options.delta_rate);
  options.delta_tail = share_of("--delta-tail", given.delta_tail, options.delta_tail);
  options.gates = given.gates;
  options.declared = given.differs;
  options.across = given.across;
  if (!given.noise.empty()) options.noise = comparison::read_noise(given.noise);
  return options;
}

void require_gates(const comparison::Options& options, std::span<const Plan* const> plans) {
  comparison::MetricNames known;
  for (const Plan* plan : plans)
    for (const Point& point : plan->points)
      for (const MetricInfo& metric :
           metric_catalogue(*point.info, point.workload->latency_parts(), as<UsesDevices>(*point.workload).devices()))
        for (const std::string& place : {std::string(point.info->name), point.id}) known[place].insert(metric.name);
  comparison::require_matches(options.gates.globs(), known);
}

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
