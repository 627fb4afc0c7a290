// How a data set is cut into shards and shuffled (D6, D7, D10, D11).
#include <algorithm>

#include "harness/job/define.h"
#include "harness/job/rounding.h"

namespace headrace::job {
namespace {

/// D6: n = ceil(D / s_sh) [count]. Shards of a data set.
double shards_count(double dataset, double shard) { return round_up(dataset / shard); }
const Define<shards_count> d6{{
    .id = "D6",
    .name = "shards_count",
    .title = "Shard count",
    .equation = "ceil(D / s_sh)",
    .unit = "count",
    .validity = "Shards of equal size.",
    .source = "definition",
    .inputs = {{"dataset_bytes", "D"}, Input("shard_bytes", "s_sh").above(0)},
    .example = "dataset_bytes=4TB shard_bytes=500MB",
}};

/// D7: s_sh = D / (N * g * w * k) [B]. Largest shard that leaves every worker k of them.
double shard_bytes_max(double dataset, double nodes, double ranks_per_node, double workers, double shards_per_worker) {
  return dataset / (nodes * ranks_per_node * workers * shards_per_worker);
}
const Define<shard_bytes_max> d7{{
    .id = "D7",
    .name = "shard_bytes_max",
    .title = "Largest shard that keeps workers busy",
    .equation = "D / (N * g * w * k)",
    .unit = "B",
    .validity = "k of at least 4 bounds the imbalance at the end of an epoch; make the shard count "
                "divisible by N * g * w.",
    .source = "WDS; derived",
    .inputs = {{"dataset_bytes", "D"},
               Input("nodes_count", "N").whole(),
               Input("ranks_per_node_count", "g").whole(),
               Input("workers_per_rank_count", "w").whole(),
               Input("shards_per_worker_count", "k").above(0)},
    .example = "dataset_bytes=4TB nodes_count=64 ranks_per_node_count=8 workers_per_rank_count=8 "
               "shards_per_worker_count=4",
}};

/// D10: M = n * b_s * S [B]. Memory of the shuffle buffers of n streams (ranks x workers of one
/// host).
double shuffle_buffer_memory(double streams, double buffer_samples, double sample_bytes) {
  return streams * buffer_samples * sample_bytes;
}
const Define<shuffle_buffer_memory> d10{{
    .id = "D10",
    .name = "shuffle_buffer_memory",
    .title = "Shuffle-buffer memory",
    .equation = "n * b_s * S",
    .unit = "B",
    .validity = "Shuffled before decoding, so S is the stored size.",
    .source = "WDS",
    .inputs = {{"streams_count", "n"}, {"buffer_samples_count", "b_s"}, {"sample_bytes", "S"}},
    .example = "streams_count=64 buffer_samples_count=5000 sample_bytes=130kB",
}};

/// D11: k = n * max(1, b_s / n_sh) [ratio]. Distinct shards that are mixed at a time.
double shuffle_window_shards(double streams, double buffer_samples, double samples_per_shard) {
  return streams * std::max(1.0, buffer_samples / samples_per_shard);
}
const Define<shuffle_window_shards> d11{{
    .id = "D11",
    .name = "shuffle_window_shards",
    .title = "Shuffle window",
    .equation = "n * max(1, b_s / n_sh)",
    .unit = "ratio",
    .validity = "Heuristic: with shards sorted by class a small window biases the batches.",
    .source = "CORGI; WDS",
    .inputs = {{"streams_count", "n"},
               {"buffer_samples_count", "b_s"},
               Input("samples_per_shard_count", "n_sh").above(0)},
    .example = "streams_count=64 buffer_samples_count=5000 samples_per_shard_count=1000",
}};

}  // namespace
}  // namespace headrace::job
