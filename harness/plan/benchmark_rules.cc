#include "harness/plan/benchmark_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "harness/base/diagnostics.h"
#include "harness/base/units.h"

namespace headrace {
namespace {

using requirements::Job;

/// configs/dlio/workload of the benchmark's version 2.0.
struct Workload {
  const char* name;
  double batch, step_s, sample_bytes, utilization;
};
constexpr std::array kWorkloads{
    Workload{"unet3d_a100", 7, 0.636, 146600628, 0.9},    Workload{"unet3d_h100", 7, 0.323, 146600628, 0.9},
    Workload{"resnet50_a100", 400, 0.435, 114660, 0.9},   Workload{"resnet50_h100", 400, 0.224, 114660, 0.9},
    Workload{"cosmoflow_a100", 1, 0.00551, 2828486, 0.7}, Workload{"cosmoflow_h100", 1, 0.0035, 2828486, 0.7}};

bool alike(double a, double b) { return std::abs(a - b) <= 1e-3 * b; }

RuleCheck own_workload(const Job& job) {
  for (const Workload& w : kWorkloads) {
    if (!alike(job.step.micro_batch, w.batch) || !alike(job.step.time, w.step_s) ||
        !alike(job.dataset.sample_size, w.sample_bytes) || job.step.accumulation != 1)
      continue;
    if (alike(job.step.target_utilization, w.utilization))
      return {"workload", true, fmt::format("the job is the benchmark's {}", w.name)};
    return {"workload", false,
            fmt::format("{} asks for a utilization of {}: step.target_utilization is {}", w.name, w.utilization,
                        job.step.target_utilization)};
  }
  std::vector<std::string> names;
  for (const Workload& w : kWorkloads) names.emplace_back(w.name);
  return {"workload", false,
          fmt::format("samples, batch and step time are of none of the benchmark's workloads ({})",
                      fmt::join(names, ", "))};
}

RuleCheck whole_batches(const Job& job, const RehearsedAs& as) {
  const double batch = job.step.micro_batch * job.step.accumulation;
  return {"batch", as.batch == batch && alike(as.step_s, job.step.time),
          fmt::format("batches of {:.0f} samples with {} of computing: {:.0f} with {}", batch,
                      format_quantity(job.step.time, Dimension::seconds), as.batch,
                      format_quantity(as.step_s, Dimension::seconds))};
}

RuleCheck larger_than_memory(const RehearsedAs& as) {
  const double asked = benchmark_rules::kMemoryMultiple * as.host_memory;
  const auto bytes = [](double b) { return format_quantity(b, Dimension::bytes); };
  return {"data_set", as.host_memory > 0 && as.data_bytes >= asked,
          fmt::format("a data set of {:.0f} times this host's memory, {}: {}", benchmark_rules::kMemoryMultiple,
                      bytes(asked), bytes(as.data_bytes))};
}

}  // namespace

void check_rules_name(const std::string& name) {
  if (name == benchmark_rules::kMlperf2) return;
  throw UsageError(fmt::format("--rules: '{}' is not one of {}", name, benchmark_rules::kMlperf2));
}

std::vector<RuleCheck> check_planned(const Job& job, const RehearsedAs& as) {
  return {own_workload(job), whole_batches(job, as), larger_than_memory(as)};
}

}  // namespace headrace
