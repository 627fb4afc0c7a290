// What decoding and moving the samples asks of a node's cores, memory and GPU links.
#include "harness/requirements/need_list.h"

namespace headrace::requirements {

void add_host_needs(const Job& job, NeedList& needs) {
  const Job::Dataset& data = job.dataset;
  const double node_rate = sample_rate_of(job).value() / job.cluster.nodes;
  if (data.cpu_time_per_sample)
    needs.add("host.cpu_cores", Scope::node,
              Derivation("B2", {{"node_sample_rate_per_s", node_rate},
                                {"cpu_time_per_sample_s", *data.cpu_time_per_sample},
                                {"target_utilization_ratio", job.loader.utilization}}));
  if (!data.decoded_size) return;
  if (job.loader.workers_per_gpu)
    needs.add("host.prefetch_memory", Scope::node,
              Derivation("B4", {{"ranks_count", job.cluster.gpus_per_node},
                                {"workers_count", *job.loader.workers_per_gpu},
                                {"prefetch_factor_count", job.loader.prefetch_factor},
                                {"batch_samples_count", job.step.micro_batch},
                                {"decoded_sample_bytes", *data.decoded_size}}));
  needs.add("host.memory_bandwidth", Scope::node,
            Derivation("B11", {{"sample_rate_per_s", node_rate},
                               {"sample_bytes", data.sample_size},
                               {"decoded_sample_bytes", *data.decoded_size}}));
  const auto h2d = [&](double gpus) {
    return Derivation("B5", {{"gpus_count", gpus},
                             {"batch_samples_count", job.step.micro_batch * job.step.accumulation},
                             {"decoded_sample_bytes", *data.decoded_size},
                             {"step_time_s", job.step.time}});
  };
  needs.add("gpu.h2d_bandwidth", Scope::gpu, h2d(1));
  needs.add("gpu.h2d_bandwidth", Scope::node, h2d(job.cluster.gpus_per_node));
}

}  // namespace headrace::requirements
