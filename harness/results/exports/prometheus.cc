// Prometheus text file for the node exporter's textfile collector: base units, HELP and TYPE, no
// timestamps.
#include <fmt/format.h>

#include <functional>
#include <optional>

#include "harness/base/escape.h"
#include "harness/judge/verdict/verdict.h"
#include "harness/results/exports.h"
#include "harness/results/parts.h"

namespace headrace::results {
namespace {

std::string label(std::string_view value) { return prometheus_label(value); }

std::string head_of(std::string_view name, std::string_view help) {
  return fmt::format("# HELP {} {}\n# TYPE {} gauge\n", name, help, name);
}

/// One family with a sample per need that has a value.
std::string per_need(const StoredVerdict& run, std::string_view name, std::string_view help, bool with_unit,
                     const std::function<std::optional<double>(const Judgement&)>& value) {
  std::string out = head_of(name, help);
  for (const Judgement& j : run.judgements) {
    const std::optional<double> v = value(j);
    if (!v) continue;
    const std::string unit = with_unit ? fmt::format(",unit=\"{}\"", label(base_unit(j.unit))) : "";
    out += fmt::format("{}{{need=\"{}\",scope=\"{}\"{}}} {}\n", name, label(j.id), label(j.scope), unit,
                       *v * (with_unit ? to_base_unit(j.unit) : 1));
  }
  return out;
}

}  // namespace

std::string prometheus_text(const StoredVerdict& run) {
  std::string out = head_of("headrace_verdict", "1 for the state that a need is in, 0 for the others.");
  for (const Judgement& j : run.judgements) {
    for (const Outcome o : kOutcomes) {
      out += fmt::format("headrace_verdict{{need=\"{}\",scope=\"{}\",state=\"{}\"}} {}\n", label(j.id), label(j.scope),
                         headrace::to_string(o), j.outcome == o ? 1 : 0);
    }
  }
  out += per_need(run, "headrace_measured", "Median of the repetitions.", true,
                  [](const Judgement& j) { return j.measured; });
  out += per_need(run, "headrace_required", "The requirement, safety margin included.", true,
                  [](const Judgement& j) { return std::optional(j.need); });
  out += per_need(run, "headrace_headroom_ratio", "Measured over needed, or needed over measured where less is better.",
                  false, [](const Judgement& j) { return j.headroom; });
  out += head_of("headrace_exit_code", "Exit code of the run.");
  out += fmt::format("headrace_exit_code {}\n", run.summary.exit_code);
  out += head_of("headrace_last_run_timestamp_seconds", "When the run ended, seconds since 1970.");
  out += fmt::format("headrace_last_run_timestamp_seconds {:.0f}\n", run.ended_s());
  return out;
}

const RegisterExport prometheus_registered{
    40,
    {"prom", "headrace.prom", [](const StoredRun& run, const ExportOptions&) { return prometheus_text(run); },
     "# HELP headrace_"}};

}  // namespace headrace::results
