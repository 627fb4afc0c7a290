// What feeding the GPUs asks of storage.
#include "harness/requirements/need_list.h"

namespace headrace::requirements {

Derivation sample_rate_of(const Job& job) {
  const Derivation batch("A2", {{"gpus_count", job.cluster.gpus()},
                                {"tensor_parallel_count", job.parallelism.tensor},
                                {"pipeline_parallel_count", job.parallelism.pipeline},
                                {"context_parallel_count", job.parallelism.context},
                                {"micro_batch_samples_count", job.step.micro_batch},
                                {"grad_accum_count", job.step.accumulation}});
  return Derivation("A1",
                    {{"global_batch_samples_count", batch.value()}, {"step_time_s", job.step.time}})
      .of("global_batch_samples_count", batch);
}

void add_ingest_needs(const Job& job, NeedList& needs) {
  const Job::Dataset& data = job.dataset;
  const Share node{job.cluster.nodes, "nodes"}, gpu{job.cluster.gpus(), "gpus"};
  const Derivation rate = sample_rate_of(job);
  const auto at_cluster_and_node = [&](std::string_view id, const Derivation& derivation) {
    needs.add(id, Scope::cluster, derivation);
    needs.add(id, Scope::node, derivation, node);
  };
  const auto read_bandwidth = [&](double cache_hit) {
    return Derivation("A3", {{"sample_rate_per_s", rate.value()},
                             {"sample_bytes", data.sample_size},
                             {"read_amplification_ratio", data.read_amplification},
                             {"cache_hit_ratio", cache_hit}});
  };

  at_cluster_and_node("ingest.sample_rate", rate);

  const Derivation cold = read_bandwidth(0);
  at_cluster_and_node("ingest.read_bandwidth", cold);
  needs.add("ingest.read_bandwidth", Scope::gpu, cold, gpu);

  at_cluster_and_node(
      "ingest.read_iops",
      data.layout == Layout::files
          ? Derivation("A5", {{"sample_rate_per_s", rate.value()},
                              {"sample_bytes", data.sample_size},
                              {"io_bytes", data.request_size}})
          : Derivation("A6", {{"read_bytes_per_s", cold.value()}, {"io_bytes", data.request_size}})
                .of("read_bytes_per_s", cold));

  const Derivation opens("A7", {{"sample_rate_per_s", rate.value()},
                                {"samples_per_file_ratio", data.samples_per_file}});
  at_cluster_and_node("ingest.open_rate", opens);
  at_cluster_and_node("ingest.metadata_rate",
                      Derivation("A8", {{"file_open_rate_per_s", opens.value()},
                                        {"ops_per_open_count", data.metadata_ops_per_open}})
                          .of("file_open_rate_per_s", opens));

  if (!job.cache || !data.samples) return;
  const Derivation ratio("C1", {{"available_bytes", job.cache->available},
                                {"reserve_bytes", job.cache->reserve},
                                {"dataset_bytes", *data.samples * data.sample_size}});
  const Derivation hits =
      Derivation("C2", {{"cache_ratio", ratio.value()}, {"nodes_count", job.cluster.nodes}})
          .of("cache_ratio", ratio);
  at_cluster_and_node("ingest.steady_read_bandwidth",
                      read_bandwidth(hits.value()).of("cache_hit_ratio", hits));
}

}  // namespace headrace::requirements
