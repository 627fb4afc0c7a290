// What reading from an object store takes: requests in flight, request rates, prefixes, shard
// sizes.
#include <fmt/format.h>

#include <algorithm>

#include "harness/job/need_list.h"

namespace headrace::job {
namespace {

/// D1 within a tenth of the streaming rate: s / (t0 + s / w1) >= 0.9 * w1 gives s >= 9 * t0 * w1.
void add_smallest_shard(const Job::ObjectStore& store, NeedList& needs) {
  constexpr double kLatencies = 9;
  Explanation why;
  if (needs.texts())
    why = {"D1",
           "9 * t0 * w1",
           "9 * first byte latency * stream bytes/s",
           fmt::format("9 * {} * {}", compact_quantity(store.first_byte_latency, Dimension::seconds),
                       compact_quantity(store.stream_rate, Dimension::bytes_per_second)),
           {{"first_byte_latency_s", store.first_byte_latency}, {"stream_bytes_per_s", store.stream_rate}}};
  needs.add("dataset.shard_size_min", Scope::cluster, kLatencies * store.first_byte_latency * store.stream_rate, "B",
            std::move(why));
}

}  // namespace

void add_object_store_needs(const Job& job, const Basis& basis, NeedList& needs) {
  const Job::Dataset& data = job.dataset;
  const double shards_per_worker = job.object_store ? job.object_store->shards_per_worker : 4;
  if (data.layout == Layout::shards &&
      needs.have({"dataset.shard_size_max"}, {"dataset.samples", "loader.workers_per_gpu"}))
    needs.add("dataset.shard_size_max", Scope::cluster,
              Derivation("D7", {{"dataset_bytes", *data.samples * data.stored_size()},
                                {"nodes_count", job.cluster.nodes},
                                {"ranks_per_node_count", job.cluster.gpus_per_node},
                                {"workers_per_rank_count", std::max(1.0, *job.loader.workers_per_gpu)},
                                {"shards_per_worker_count", shards_per_worker}}));
  if (!needs.have({"dataset.shard_size_min", "object_store.concurrency", "object_store.request_rate",
                   "object_store.prefixes", "object_store.connections"},
                  {"object_store.first_byte_latency", "object_store.stream_rate"}))
    return;
  const Job::ObjectStore& store = *job.object_store;
  const double request =
      store.request_size.value_or(data.layout == Layout::files ? data.sample_size : data.request_size);
  const double target = basis.read_bandwidth.value();
  add_smallest_shard(store, needs);
  // Requests in flight are whole: a node's share is computed from its own bandwidth, not divided.
  for (const auto& [scope, parts] : {std::pair{Scope::cluster, 1.0}, {Scope::node, job.cluster.nodes}}) {
    const Derivation streams("D2", {{"target_bytes_per_s", target / parts},
                                    {"request_bytes", request},
                                    {"first_byte_latency_s", store.first_byte_latency},
                                    {"stream_bytes_per_s", store.stream_rate}});
    needs.add("object_store.concurrency", scope, streams);
  }
  const Derivation rate("D3", {{"target_bytes_per_s", target}, {"request_bytes", request}});
  needs.add_shared("object_store.request_rate", rate);
  needs.add("object_store.prefixes", Scope::cluster,
            Derivation("D4", {{"request_rate_per_s", rate.value()}, {"prefix_limit_per_s", store.prefix_limit}})
                .of("request_rate_per_s", rate));
  needs.add("object_store.connections", Scope::cluster,
            Derivation("D5", {{"target_bytes_per_s", target}, {"connection_bytes_per_s", store.connection_rate}}));
  if (job.checkpoint && job.model.parameters) {
    const Derivation size = checkpoint_size_of(job);
    needs.add("object_store.part_size", Scope::cluster,
              Derivation("D12", {{"object_bytes", size.value()}}).of("object_bytes", size));
  }
}

}  // namespace headrace::job
