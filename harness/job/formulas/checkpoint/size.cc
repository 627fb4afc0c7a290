// How large a checkpoint is, and the part of one rank (E1-E4).
#include <cmath>

#include "harness/job/define.h"

namespace headrace::job {
namespace {

/// E1: K = P * beta + x [B]. Saved state: beta is 14 B for bf16 weights with fp32 master, m and v. Gradients are not
/// saved. x holds random states, scheduler and loader position.
double checkpoint_bytes(double params, double bytes_per_param, double extra) {
  return params * bytes_per_param + extra;
}
const Define<checkpoint_bytes> e1{{
    .id = "E1",
    .name = "checkpoint_bytes",
    .title = "Checkpoint size",
    .equation = "P * beta + x",
    .unit = "B",
    .validity = "beta in B per parameter: 2 weights only, 12 fp32 master with m and v, 14 both "
                "(the default).",
    .source = "ZERO section 3; MEGOPT",
    .inputs = {{"params_count", "P"},
               Input("bytes_per_param", "beta").otherwise(14),
               Input("extra_bytes", "x").otherwise(0)},
    .example = "params_count=70e9 bytes_per_param=14",
}};

/// E2: P = 2 * V * h + h + L * (2 * h + h * (h + 2 * floor(h / n_h) * n_kv) + h * h + 3 * h * f)
/// [count]. Embeddings in and out, norms, attention with n_kv key-value heads, gated feed-forward.
double transformer_params(double layers, double hidden, double ffn, double vocabulary, double heads, double kv_heads) {
  const double kv_hidden = std::floor(hidden / heads) * kv_heads;
  return 2 * vocabulary * hidden + hidden +
         layers * (2 * hidden + hidden * (hidden + 2 * kv_hidden) + hidden * hidden + 3 * hidden * ffn);
}
const Define<transformer_params> e2{{
    .id = "E2",
    .name = "transformer_params",
    .title = "Parameters of a gated decoder",
    .equation = "2 * V * h + h + L * (2 * h + h * (h + 2 * floor(h / n_h) * n_kv) + h * h + 3 * h * f)",
    .unit = "count",
    .validity = "Untied embeddings, gated feed-forward, grouped-query attention.",
    .source = "DLIO",
    .inputs = {Input("layers_count", "L").whole(), Input("hidden_count", "h").whole(), Input("ffn_count", "f").whole(),
               Input("vocabulary_count", "V").whole(), Input("heads_count", "n_h").whole(),
               Input("kv_heads_count", "n_kv").whole()},
    .example = "layers_count=32 hidden_count=4096 ffn_count=14336 vocabulary_count=128256 heads_count=32 "
               "kv_heads_count=8",
}};

/// E3: k = K / G [B]. Part of one rank when the state is spread over all.
double checkpoint_shard_fully_sharded(double checkpoint, double ranks) { return checkpoint / ranks; }
const Define<checkpoint_shard_fully_sharded> e3{{
    .id = "E3",
    .name = "checkpoint_shard_fully_sharded",
    .title = "Checkpoint shard, fully sharded",
    .equation = "K / G",
    .unit = "B",
    .validity = "ZeRO-3, FSDP, or a fully parallel save.",
    .source = "ZERO; PT-DCP",
    .inputs = {{"checkpoint_bytes", "K"}, Input("ranks_count", "G").whole()},
    .example = "checkpoint_bytes=980GB ranks_count=1024",
}};

/// E4: k = P / (tp * pp) * (w + o / dp) [B]. Largest part under ZeRO-1: the first replica also
/// writes the weights.
double checkpoint_shard_zero1_max(double params, double weight_bytes, double optimizer_bytes, double tensor,
                                  double pipeline, double data) {
  return params / (tensor * pipeline) * (weight_bytes + optimizer_bytes / data);
}
const Define<checkpoint_shard_zero1_max> e4{{
    .id = "E4",
    .name = "checkpoint_shard_zero1_max",
    .title = "Largest checkpoint shard, ZeRO-1",
    .equation = "P / (tp * pp) * (w + o / dp)",
    .unit = "B",
    .validity = "Weights are written by the first data-parallel rank alone: the largest writer "
                "sets the time.",
    .source = "DLIO; MEGOPT",
    .inputs = {{"params_count", "P"},
               {"weight_bytes_per_param", "w"},
               {"optimizer_bytes_per_param", "o"},
               Input("tensor_parallel_count", "tp").whole(),
               Input("pipeline_parallel_count", "pp").whole(),
               Input("data_parallel_count", "dp").whole()},
    .example = "params_count=70e9 weight_bytes_per_param=2 optimizer_bytes_per_param=12 "
               "tensor_parallel_count=8 "
               "pipeline_parallel_count=4 data_parallel_count=16",
}};

}  // namespace
}  // namespace headrace::job
