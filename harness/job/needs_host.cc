// The needs of decoding, shuffling and moving samples: a node's cores, memory and GPU links.
#include <algorithm>

#include "harness/job/need_kinds.h"
#include "harness/job/need_list.h"

namespace headrace::job {
namespace {

void add_shuffle_needs(const Job& job, NeedList& needs) {
  if (!needs.have({"loader.shuffle_memory"}, {"loader.shuffle_buffer", "loader.workers_per_gpu"})) return;
  const double streams = job.cluster.gpus_per_node * std::max(1.0, *job.loader.workers_per_gpu);
  needs.add("loader.shuffle_memory", Scope::node,
            Derivation("D10", {{"streams_count", streams},
                               {"buffer_samples_count", *job.loader.shuffle_buffer},
                               {"sample_bytes", job.dataset.sample_size}}));
  if (job.dataset.layout != Layout::shards) return;
  needs.add("loader.shuffle_window", Scope::cluster,
            Derivation("D11", {{"streams_count", streams * job.cluster.nodes},
                               {"buffer_samples_count", *job.loader.shuffle_buffer},
                               {"samples_per_shard_count", job.dataset.samples_per_file}}));
}

/// Limits that workers meet where they are processes.
void add_process_needs(const Job& job, NeedList& needs) {
  if (!loads_in_processes(job) ||
      !needs.have({"host.loader_processes", "host.loader_files"}, {"loader.workers_per_gpu"}))
    return;
  const double workers = *job.loader.workers_per_gpu;
  needs.add("host.loader_processes", Scope::node,
            Derivation("B13", {{"ranks_count", job.cluster.gpus_per_node}, {"workers_count", workers}}));
  needs.add("host.loader_files", Scope::node,
            Derivation("B14", {{"workers_count", workers}, {"prefetch_factor_count", job.loader.prefetch_factor}}));
}

}  // namespace

void add_host_needs(const Job& job, const Basis& basis, NeedList& needs) {
  const Job::Dataset& data = job.dataset;
  const double node_rate = basis.sample_rate.value() / job.cluster.nodes;
  if (needs.have({"host.cpu_cores"}, {"dataset.cpu_time_per_sample"}))
    needs.add("host.cpu_cores", Scope::node,
              Derivation("B2", {{"node_sample_rate_per_s", node_rate},
                                {"cpu_time_per_sample_s", *data.cpu_time_per_sample},
                                {"target_utilization_ratio", job.loader.utilization}}));
  if (needs.have({"host.decode_rate"}, {"dataset.codec"}) && data.codec != SampleCodec::none)
    needs.add("host.decode_rate", Scope::node, basis.sample_rate, {job.cluster.nodes, "nodes"});
  if (needs.have({"host.prefetch_memory"}, {"dataset.decoded_size", "loader.workers_per_gpu"}))
    needs.add("host.prefetch_memory", Scope::node,
              Derivation("B4", {{"ranks_count", job.cluster.gpus_per_node},
                                {"workers_count", std::max(1.0, *job.loader.workers_per_gpu)},
                                {"prefetch_factor_count", job.loader.prefetch_factor},
                                {"batch_samples_count", job.step.micro_batch},
                                {"decoded_sample_bytes", *data.decoded_size}}));
  if (needs.have({"host.memory_bandwidth", "gpu.h2d_bandwidth"}, {"dataset.decoded_size"})) {
    needs.add("host.memory_bandwidth", Scope::node,
              Derivation("B11", {{"sample_rate_per_s", node_rate},
                                 {"sample_bytes", data.sample_size},
                                 {"decoded_sample_bytes", *data.decoded_size}}));
    for (const auto& [scope, gpus] : {std::pair{Scope::gpu, 1.0}, {Scope::node, job.cluster.gpus_per_node}})
      needs.add("gpu.h2d_bandwidth", scope,
                Derivation("B5", {{"gpus_count", gpus},
                                  {"batch_samples_count", job.step.micro_batch * job.step.accumulation},
                                  {"decoded_sample_bytes", *data.decoded_size},
                                  {"step_time_s", job.step.time}}));
  }
  add_process_needs(job, needs);
  add_shuffle_needs(job, needs);
}

}  // namespace headrace::job
