// All needs of a job, with what the table knows of each.
#include "harness/job/needs.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "harness/job/need_kinds.h"
#include "harness/job/need_list.h"
#include "harness/job/uncertainty.h"

namespace headrace::job {
namespace {

NeedList list_needs(const Job& job, bool texts) {
  NeedList list(job, texts);
  const Basis basis(job);
  add_ingest_needs(job, basis, list);
  add_host_needs(job, basis, list);
  add_checkpoint_needs(job, list);
  add_network_needs(job, list);
  add_local_cache_needs(job, basis, list);
  add_object_store_needs(job, basis, list);
  add_model_parallel_needs(job, list);
  add_fabric_needs(job, list);
  add_goodput_needs(job, basis, list);
  add_cost_needs(job, list);
  return list;
}

}  // namespace

std::uint64_t JobCollective::message_size() const {
  constexpr double kMost = 8589934588.0, kFloat = 4;  // what MPI counts to
  return static_cast<std::uint64_t>(std::clamp(std::round(message / kFloat) * kFloat, 2 * kFloat, kMost));
}

Basis::Basis(const Job& job)
    : sample_rate([&] {
        const Derivation batch("A2", {{"gpus_count", job.cluster.gpus()},
                                      {"tensor_parallel_count", job.parallelism.tensor},
                                      {"pipeline_parallel_count", job.parallelism.pipeline},
                                      {"context_parallel_count", job.parallelism.context},
                                      {"micro_batch_samples_count", job.step.micro_batch},
                                      {"grad_accum_count", job.step.accumulation}});
        return Derivation("A1", {{"global_batch_samples_count", batch.value()}, {"step_time_s", job.step.time}})
            .of("global_batch_samples_count", batch);
      }()),
      read_bandwidth(read_bandwidth_of(job, sample_rate.value(), 0)) {}

std::string_view to_string(Scope scope) {
  switch (scope) {
    case Scope::cluster:
      return "cluster";
    case Scope::node:
      return "node";
    case Scope::gpu:
      return "gpu";
  }
  return "";
}

std::vector<Need> derive_needs(const Job& job) {
  std::vector<Need> needs = list_needs(job, true).take();
  for (Need& need : needs) {
    const NeedKind& kind = need_kind(need.id);
    for (const Measure& m : measures(kind, need.scope, job)) {
      need.measured_by.emplace_back(m.metric);
      if (m.lower_bound) need.lower_bounds.emplace_back(m.metric);
    }
    need.informative = need.measured_by.empty();
    need.cache = kind.cache;
  }
  add_uncertainty(job, needs);
  return needs;
}

std::vector<Need> derive_need_values(const Job& job) { return list_needs(job, false).take(); }

std::vector<Need> judged_needs(const Job& job) {
  std::vector<Need> needs = derive_needs(job);
  std::set<std::string> of_nodes;
  for (const Need& need : needs)
    if (need.scope == Scope::node) of_nodes.insert(need.id);
  std::erase_if(needs, [&](const Need& need) {
    if (need.informative) return true;
    if (need.scope == Scope::gpu) return need_kind(need.id).owner != Owner::gpu;
    return need.scope == Scope::cluster && of_nodes.contains(need.id);
  });
  return needs;
}

std::vector<LockedNeed> locked_needs(const Job& job) { return list_needs(job, false).take_locked(); }

}  // namespace headrace::job
