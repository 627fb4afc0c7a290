// The needs of feeding the GPUs: storage.
#include "harness/job/need_list.h"

namespace headrace::job {

Derivation read_bandwidth_of(const Job& job, double sample_rate, double hit) {
  return Derivation("A3", {{"sample_rate_per_s", sample_rate},
                           {"sample_bytes", job.dataset.stored_size()},
                           {"read_amplification_ratio", job.dataset.read_amplification},
                           {"cache_hit_ratio", hit}});
}

void add_ingest_needs(const Job& job, const Basis& basis, NeedList& needs) {
  const Job::Dataset& data = job.dataset;
  const double rate = basis.sample_rate.value();
  const Derivation& cold = basis.read_bandwidth;

  needs.add_shared("ingest.sample_rate", basis.sample_rate);
  needs.add_shared("ingest.read_bandwidth", cold);
  needs.add("ingest.read_bandwidth", Scope::gpu, cold, {job.cluster.gpus(), "gpus"});

  const bool one_file_per_sample = data.layout == Layout::files;
  needs.add_shared("ingest.read_iops", one_file_per_sample ? Derivation("A5", {{"sample_rate_per_s", rate},
                                                                               {"sample_bytes", data.sample_size},
                                                                               {"io_bytes", data.request_size}})
                                                           : Derivation("A6", {{"read_bytes_per_s", cold.value()},
                                                                               {"io_bytes", data.request()}})
                                                                 .of("read_bytes_per_s", cold));

  const Derivation opens("A7", {{"sample_rate_per_s", rate}, {"samples_per_file_ratio", data.samples_per_file}});
  needs.add_shared("ingest.open_rate", opens);
  needs.add_shared("ingest.metadata_rate", Derivation("A8", {{"file_open_rate_per_s", opens.value()},
                                                             {"ops_per_open_count", data.metadata_ops_per_open}})
                                               .of("file_open_rate_per_s", opens));

  if (!needs.have({"ingest.steady_read_bandwidth"}, {"cache.available", "dataset.samples"})) return;
  const Derivation ratio("C1", {{"available_bytes", job.cache->available},
                                {"reserve_bytes", job.cache->reserve},
                                {"dataset_bytes", *data.samples * data.stored_size()}});
  const Derivation hits =
      Derivation("C2", {{"cache_ratio", ratio.value()}, {"nodes_count", job.cluster.nodes}}).of("cache_ratio", ratio);
  needs.add_shared("ingest.steady_read_bandwidth",
                   read_bandwidth_of(job, rate, hits.value()).of("cache_hit_ratio", hits));
}

void add_local_cache_needs(const Job& job, const Basis& basis, NeedList& needs) {
  if (!needs.have({"local_cache.storage_bandwidth", "local_cache.read_bandwidth", "local_cache.fill_time"},
                  {"local_cache.capacity", "dataset.samples"}))
    return;
  const Job::LocalCache& cache = *job.local_cache;
  const double dataset = *job.dataset.samples * job.dataset.stored_size();
  const Derivation ratio("C1", {{"available_bytes", cache.capacity}, {"dataset_bytes", dataset}});
  const NamedValue c{"cache_ratio", ratio.value()}, n{"nodes_count", job.cluster.nodes};
  const Derivation hits = (cache.policy == CachePolicy::lru      ? Derivation("C2", {c, n})
                           : cache.policy == CachePolicy::pinned ? Derivation("C5", {c})
                                                                 : Derivation("C6", {c, n}))
                              .of("cache_ratio", ratio);
  const Derivation storage =
      read_bandwidth_of(job, basis.sample_rate.value(), hits.value()).of("cache_hit_ratio", hits);
  needs.add_shared("local_cache.storage_bandwidth", storage);
  needs.add("local_cache.read_bandwidth", Scope::node, basis.read_bandwidth,
            {hits.value() / job.cluster.nodes, "hit_per_node", true});
  if (!needs.have({"local_cache.fill_time"}, {"local_cache.write_rate", "local_cache.remote_rate"})) return;
  const double part = cache.policy == CachePolicy::cooperative ? dataset / job.cluster.nodes : dataset;
  needs.add("local_cache.fill_time", Scope::node,
            Derivation("C10", {{"staged_bytes", std::min(cache.capacity, part)},
                               {"remote_bytes_per_s", *cache.remote_rate},
                               {"local_write_bytes_per_s", *cache.write_rate}}));
}

}  // namespace headrace::job
