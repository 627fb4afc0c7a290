#include "harness/engine/plan/benchmark/rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "harness/base/diagnostics.h"
#include "harness/base/units.h"
#include "harness/engine/plan/benchmark/workloads.h"

namespace headrace {
namespace {

using job::Job;

bool alike(double a, double b) { return std::abs(a - b) <= 1e-3 * b; }

/// nullptr: none of them.
const BenchmarkWorkload* workload_of(const Job& job, const BenchmarkVersion& version) {
  for (const BenchmarkWorkload& w : version.workloads)
    if (alike(job.step.micro_batch, w.batch) && alike(job.step.time, w.step_s) &&
        alike(job.dataset.sample_size, w.sample_bytes) && alike(job.dataset.samples_per_file, w.samples_per_file) &&
        job.step.accumulation == 1)
      return &w;
  return nullptr;
}

/// The names of all workloads, or of those with results.
std::string names(const BenchmarkVersion& version, bool planning) {
  std::vector<std::string> all;
  for (const BenchmarkWorkload& w : version.workloads)
    if (planning || !w.planning) all.emplace_back(w.name);
  return fmt::format("{}", fmt::join(all, ", "));
}

RuleCheck own_workload(const Job& job, const BenchmarkVersion& version) {
  const BenchmarkWorkload* const w = workload_of(job, version);
  if (w == nullptr)
    return {"workload", false,
            fmt::format("samples, samples of a file, batch and step time are of none of the benchmark's workloads ({})",
                        names(version, true))};
  if (!alike(job.step.target_utilization, w->utilization))
    return {"workload", false,
            fmt::format("{} asks for a utilization of {}: step.target_utilization is {}", w->name, w->utilization,
                        job.step.target_utilization)};
  return {"workload", true, fmt::format("the job is the benchmark's {}", w->name)};
}

RuleCheck taken(const Job& job, const BenchmarkVersion& version) {
  const BenchmarkWorkload* const w = workload_of(job, version);
  return {"taken", w != nullptr && !w->planning,
          fmt::format("a workload that results are taken of ({}): {}", names(version, false),
                      w == nullptr  ? "none of the benchmark's"
                      : w->planning ? fmt::format("{}, which is for planning alone", w->name)
                                    : std::string(w->name))};
}

RuleCheck whole_batches(const Job& job, const RehearsedAs& as) {
  const double batch = job.step.micro_batch * job.step.accumulation;
  return {"batch", as.batch == batch && alike(as.step_s, job.step.time),
          fmt::format("batches of {:.0f} samples with {} of computing: {:.0f} with {}", batch,
                      format_quantity(job.step.time, Dimension::seconds), as.batch,
                      format_quantity(as.step_s, Dimension::seconds))};
}

RuleCheck read_ahead(const Job& job) {
  return {"prefetch", job.loader.prefetch_factor <= benchmark_rules::kMostPrefetch,
          fmt::format("{:.0f} batches read ahead at most: loader.prefetch_factor is {:.0f}",
                      benchmark_rules::kMostPrefetch, job.loader.prefetch_factor)};
}

RuleCheck larger_than_memory(const RehearsedAs& as) {
  const double asked = benchmark_rules::kMemoryMultiple * as.host_memory;
  const auto bytes = [](double b) { return format_quantity(b, Dimension::bytes); };
  return {"data_set", as.host_memory > 0 && as.data_bytes >= asked,
          fmt::format("a data set of {:.0f} times this host's memory, {}: {}", benchmark_rules::kMemoryMultiple,
                      bytes(asked), bytes(as.data_bytes))};
}

}  // namespace

std::string rules_names() {
  std::vector<std::string> all;
  for (const BenchmarkVersion& version : benchmark_versions()) all.emplace_back(version.name);
  return fmt::format("{}", fmt::join(all, ", "));
}

void check_rules_name(const std::string& name) {
  if (benchmark_version(name) == nullptr)
    throw UsageError(fmt::format("--rules: '{}' is not one of {}", name, rules_names()));
}

std::vector<RuleCheck> check_planned(const std::string& name, const Job& job, const RehearsedAs& as) {
  check_rules_name(name);
  const BenchmarkVersion& version = *benchmark_version(name);
  std::vector<RuleCheck> all{own_workload(job, version)};
  if (std::ranges::any_of(version.workloads, &BenchmarkWorkload::planning)) all.push_back(taken(job, version));
  for (RuleCheck& check : std::vector{whole_batches(job, as), read_ahead(job), larger_than_memory(as)})
    all.push_back(std::move(check));
  return all;
}

}  // namespace headrace
