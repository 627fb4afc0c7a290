// What keeping the replicas equal asks of the network.
#include "harness/requirements/need_list.h"

namespace headrace::requirements {
namespace {

/// Bytes that each rank sends per step for gradients, and weights where they are sharded.
Derivation gradient_wire_bytes(const Job& job, double ranks) {
  const double local_params =
      *job.model.parameters / (job.parallelism.tensor * job.parallelism.pipeline);
  const NamedValue params{"local_params_count", local_params},
      gradients{"gradient_bytes", job.model.gradient_bytes},
      weights{"weight_bytes", job.model.weight_bytes}, n{"ranks_count", ranks};
  switch (job.parallelism.sharding) {
    case Sharding::none:
      return Derivation("F6", {params, gradients, n});
    case Sharding::zero1:
    case Sharding::zero2:
      return Derivation("F7", {params, gradients, weights, n});
    case Sharding::zero3:
      break;
  }
  return Derivation("F8", {params,
                           gradients,
                           weights,
                           n,
                           {"all_gathers_count", 2 * job.step.accumulation},
                           {"reduce_scatters_count", job.step.accumulation}});
}

}  // namespace

void add_network_needs(const Job& job, NeedList& needs) {
  const double ranks = job.replicas() * job.parallelism.context;
  if (!job.model.parameters || ranks <= 1) return;
  const Derivation wire = gradient_wire_bytes(job, ranks);
  needs.add("network.gradient_busbw", Scope::gpu,
            Derivation("F18", {{"wire_bytes", wire.value()},
                               {"overlap_window_s", job.parallelism.window * job.step.time},
                               {"overlap_ratio", job.parallelism.overlap},
                               {"exposed_budget_s", job.parallelism.exposed * job.step.time}})
                .of("wire_bytes", wire));
}

}  // namespace headrace::requirements
