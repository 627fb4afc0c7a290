// Saving a checkpoint: synchronous, staged, drained, kept (E5-E8, E10, E11).
#include "harness/job/define.h"
#include "harness/job/rounding.h"

namespace headrace::job {
namespace {

/// E5: W = K / (t_stall - t0) [B/s]. All ranks wait for the write; t0 is serialisation, barrier and
/// fsync.
double checkpoint_write_bandwidth_sync(double checkpoint, double stall_budget, double fixed_overhead) {
  if (stall_budget <= fixed_overhead)
    throw DomainError("checkpoint_write_bandwidth_sync: stall_budget_s must be longer than fixed_overhead_s");
  return checkpoint / (stall_budget - fixed_overhead);
}
const Define<checkpoint_write_bandwidth_sync> e5{{
    .id = "E5",
    .name = "checkpoint_write_bandwidth_sync",
    .title = "Write bandwidth, synchronous save",
    .equation = "K / (t_stall - t0)",
    .unit = "B/s",
    .validity = "All ranks are blocked; the stall budget is longer than the fixed overhead.",
    .source = "MLPS section 2.2",
    .inputs = {{"checkpoint_bytes", "K"},
               Input("stall_budget_s", "t_stall").above(0),
               Input("fixed_overhead_s", "t0").otherwise(0)},
    .example = "checkpoint_bytes=980GB stall_budget_s=30s fixed_overhead_s=5s",
}};

/// E6: t = k / W [s]. Time to stage a shard to host memory, or to write it.
double checkpoint_transfer_time(double transfer, double path_rate) { return transfer / path_rate; }
const Define<checkpoint_transfer_time> e6{{
    .id = "E6",
    .name = "checkpoint_transfer_time",
    .title = "Stage or write time",
    .equation = "k / W",
    .unit = "s",
    .validity = "Staging into pinned memory is the only part of an asynchronous save that blocks.",
    .source = "PT-DCP",
    .inputs = {{"transfer_bytes", "k"}, Input("path_bytes_per_s", "W").above(0)},
    .example = "transfer_bytes=122.5GB path_bytes_per_s=25GB/s",
}};

/// E7: W = K / (u * (tau - t_stage)) [B/s]. The background write must end before the next save starts. U <= 1 leaves
/// the path to ingest for the rest of the time.
double checkpoint_drain_bandwidth(double checkpoint, double interval, double stage_time, double duty) {
  if (interval <= stage_time)
    throw DomainError("checkpoint_drain_bandwidth: interval_s must be longer than stage_time_s");
  return checkpoint / (duty * (interval - stage_time));
}
const Define<checkpoint_drain_bandwidth> e7{{
    .id = "E7",
    .name = "checkpoint_drain_bandwidth",
    .title = "Drain bandwidth, asynchronous save",
    .equation = "K / (u * (tau - t_stage))",
    .unit = "B/s",
    .validity = "The previous drain ends before the next save; the interval is longer than the staging.",
    .source = "PT-DCP",
    .inputs = {{"checkpoint_bytes", "K"},
               Input("interval_s", "tau").above(0),
               {"stage_time_s", "t_stage"},
               Input("duty_ratio", "u").above(0).at_most(1).otherwise(1)},
    .example = "checkpoint_bytes=980GB interval_s=15min stage_time_s=5s duty_ratio=0.5",
}};

/// E8: M = K_node * n_buf [B]. Host memory for the staged copies of one node.
double checkpoint_host_memory(double node_checkpoint, double buffers) { return node_checkpoint * buffers; }
const Define<checkpoint_host_memory> e8{{
    .id = "E8",
    .name = "checkpoint_host_memory",
    .title = "Host memory for staging",
    .equation = "K_node * n_buf",
    .unit = "B",
    .validity = "Two buffers when a save may start before the drain of the last one ends.",
    .source = "PT-DCP",
    .inputs = {{"node_checkpoint_bytes", "K_node"}, Input("buffers_count", "n_buf").whole().otherwise(1)},
    .example = "node_checkpoint_bytes=7.65625GB buffers_count=2",
}};

/// E10: C = K * (n_keep + n_fly) [B]. Space for the checkpoints kept and those being written.
double retention_capacity(double checkpoint, double kept, double in_flight) { return checkpoint * (kept + in_flight); }
const Define<retention_capacity> e10{{
    .id = "E10",
    .name = "retention_capacity",
    .title = "Retention capacity",
    .equation = "K * (n_keep + n_fly)",
    .unit = "B",
    .validity = "An old copy is deleted only when the new one is durable.",
    .source = "definition",
    .inputs = {{"checkpoint_bytes", "K"}, {"kept_count", "n_keep"}, Input("in_flight_count", "n_fly").otherwise(1)},
    .example = "checkpoint_bytes=980GB kept_count=3 in_flight_count=1",
}};

/// E11: C = floor(T / tau) * K [B]. Bytes that a run writes in all.
double checkpoint_bytes_written(double run_time, double interval, double checkpoint) {
  return round_down(run_time / interval) * checkpoint;
}
const Define<checkpoint_bytes_written> e11{{
    .id = "E11",
    .name = "checkpoint_bytes_written",
    .title = "Bytes written over a run",
    .equation = "floor(T / tau) * K",
    .unit = "B",
    .validity = "Decides the endurance of drives and the size of a cold tier.",
    .source = "definition",
    .inputs = {{"run_time_s", "T"}, Input("interval_s", "tau").above(0), {"checkpoint_bytes", "K"}},
    .example = "run_time_s=30d interval_s=30min checkpoint_bytes=980GB",
}};

}  // namespace
}  // namespace headrace::job
