// Reading a checkpoint back (E9).
#include "harness/job/define.h"

namespace headrace::job {
namespace {

/// E9: W = (K + (r - 1) * K_w) / (t_rto - t0) [B/s]. r replicas each read the weights; r = 1 when
/// they are read once and broadcast. t0 is start-up that reads nothing.
double restore_bandwidth(double checkpoint, double weights, double weight_readers, double budget, double overhead) {
  if (budget <= overhead) throw DomainError("restore_bandwidth: restore_budget_s must be longer than fixed_overhead_s");
  return (checkpoint + (weight_readers - 1) * weights) / (budget - overhead);
}
const Define<restore_bandwidth> e9{{
    .id = "E9",
    .name = "restore_bandwidth",
    .title = "Restore bandwidth",
    .equation = "(K + (r - 1) * K_w) / (t_rto - t0)",
    .unit = "B/s",
    .validity = "The restore budget is longer than the fixed overhead.",
    .source = "DLIO",
    .inputs = {{"checkpoint_bytes", "K"},
               {"weight_bytes", "K_w"},
               Input("weight_readers_count", "r").whole().otherwise(1),
               Input("restore_budget_s", "t_rto").above(0),
               Input("fixed_overhead_s", "t0").otherwise(0)},
    .example = "checkpoint_bytes=980GB weight_bytes=140GB weight_readers_count=16 restore_budget_s=5min "
               "fixed_overhead_s=60s",
}};

}  // namespace
}  // namespace headrace::job
