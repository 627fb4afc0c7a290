// Rates through a cache, and the cost of filling one (C8-C11).
#include <algorithm>
#include <limits>

#include "harness/job/define.h"
#include "harness/job/rounding.h"

namespace headrace::job {
namespace {

/// C8: W = 1 / (h / W_c + (1 - h) / W_s) [B/s]. Hits and misses one after another.
double fetch_rate_serial(double hit, double cache_rate, double storage_rate) {
  return 1 / (hit / cache_rate + (1 - hit) / storage_rate);
}
const Define<fetch_rate_serial> c8{{
    .id = "C8",
    .name = "fetch_rate_serial",
    .title = "Fetch rate, serial",
    .equation = "1 / (h / W_c + (1 - h) / W_s)",
    .unit = "B/s",
    .validity = "One request at a time.",
    .source = "DSTALL equation 2",
    .inputs = {Input("cache_hit_ratio", "h").at_most(1), Input("cache_bytes_per_s", "W_c").above(0),
               Input("storage_bytes_per_s", "W_s").above(0)},
    .example = "cache_hit_ratio=0.65 cache_bytes_per_s=10GB/s storage_bytes_per_s=500MB/s",
}};

/// C9: W = min(W_c / h, W_s / (1 - h)) [B/s]. Hits and misses at the same time; a side without
/// requests is no limit.
double fetch_rate_concurrent(double hit, double cache_rate, double storage_rate) {
  constexpr double kNoLimit = std::numeric_limits<double>::max();
  return std::min(hit > 0 ? cache_rate / hit : kNoLimit, hit < 1 ? storage_rate / (1 - hit) : kNoLimit);
}
const Define<fetch_rate_concurrent> c9{{
    .id = "C9",
    .name = "fetch_rate_concurrent",
    .title = "Fetch rate, concurrent",
    .equation = "min(W_c / h, W_s / (1 - h))",
    .unit = "B/s",
    .validity = "Hits and misses overlap; in steady state the storage carries W * (1 - h).",
    .source = "derived",
    .inputs = {Input("cache_hit_ratio", "h").at_most(1), Input("cache_bytes_per_s", "W_c").above(0),
               Input("storage_bytes_per_s", "W_s").above(0)},
    .example = "cache_hit_ratio=0.65 cache_bytes_per_s=10GB/s storage_bytes_per_s=500MB/s",
}};

/// C10: t = D / min(W_remote, W_local) [s]. Time to fill one node's cache from remote storage.
double cache_fill_time(double staged, double remote_rate, double local_write_rate) {
  return staged / std::min(remote_rate, local_write_rate);
}
const Define<cache_fill_time> c10{{
    .id = "C10",
    .name = "cache_fill_time",
    .title = "Cache fill time",
    .equation = "D / min(W_remote, W_local)",
    .unit = "s",
    .validity = "The first epoch hits nothing on any tier.",
    .source = "definition",
    .inputs = {{"staged_bytes", "D"},
               Input("remote_bytes_per_s", "W_remote").above(0),
               Input("local_write_bytes_per_s", "W_local").above(0)},
    .example = "staged_bytes=3.75TB remote_bytes_per_s=5GB/s local_write_bytes_per_s=6GB/s",
}};

/// C11: E = ceil(t_stage / (t_remote - t_local)) if t_remote > t_local, else -1 [count]. Epochs
/// until staging pays; -1 when it never does.
double break_even_epochs(double staging, double remote_epoch, double local_epoch) {
  const double gain = remote_epoch - local_epoch;
  return gain > 0 ? round_up(staging / gain) : -1;
}
const Define<break_even_epochs> c11{{
    .id = "C11",
    .name = "break_even_epochs",
    .title = "Break-even epochs",
    .equation = "ceil(t_stage / (t_remote - t_local)) if t_remote > t_local, else -1",
    .unit = "count",
    .validity = "Staging before the run; -1 means that staging never pays.",
    .source = "derived",
    .inputs = {{"staging_time_s", "t_stage"}, {"remote_epoch_time_s", "t_remote"}, {"local_epoch_time_s", "t_local"}},
    .example = "staging_time_s=500s remote_epoch_time_s=300s local_epoch_time_s=125s",
}};

}  // namespace
}  // namespace headrace::job
