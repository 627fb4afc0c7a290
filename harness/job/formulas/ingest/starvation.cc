// The cost of waiting GPUs (A23-A25).
#include "harness/job/define.h"

namespace headrace::job {
namespace {

/// A23: C = G * p * (1 - AU) [USD/h]. Money spent per hour on accelerators that wait.
double starvation_cost_rate(double gpus, double price, double au) { return gpus * price * (1 - au); }
const Define<starvation_cost_rate> a23{{
    .id = "A23",
    .name = "starvation_cost_rate",
    .title = "Starvation cost rate",
    .equation = "G * p * (1 - AU)",
    .unit = "USD/h",
    .validity = "Idle accelerators are billed like busy ones.",
    .source = "definition",
    .inputs = {Input("gpus_count", "G").whole(), {"gpu_price_usd_per_h", "p"}, Input("au_ratio", "AU").at_most(1)},
    .example = "gpus_count=1024 gpu_price_usd_per_h=3 au_ratio=0.8",
}};

/// A24: C = G * p * T0 * (1 / AU - 1) [USD]. Extra cost of a job that would take T0 hours without
/// stalls.
double starvation_extra_cost(double gpus, double price, double stall_free_hours, double au) {
  return gpus * price * stall_free_hours * (1 / au - 1);
}
const Define<starvation_extra_cost> a24{{
    .id = "A24",
    .name = "starvation_extra_cost",
    .title = "Starvation cost of a fixed job",
    .equation = "G * p * T0 * (1 / AU - 1)",
    .unit = "USD",
    .validity = "T0 is the wall time in hours without any stall.",
    .source = "derived",
    .inputs = {Input("gpus_count", "G").whole(),
               {"gpu_price_usd_per_h", "p"},
               {"stall_free_time_h", "T0"},
               Input("au_ratio", "AU").above(0).at_most(1)},
    .example = "gpus_count=1024 gpu_price_usd_per_h=3 stall_free_time_h=684h au_ratio=0.8",
}};

/// A25: r = 1 - AU0 / AU1 [ratio]. Share of the spend that comes back when utilization rises from
/// AU0 to AU1.
double reclaimable_fraction(double au_before, double au_after) { return 1 - au_before / au_after; }
const Define<reclaimable_fraction> a25{{
    .id = "A25",
    .name = "reclaimable_fraction",
    .title = "Reclaimable share of the spend",
    .equation = "1 - AU0 / AU1",
    .unit = "ratio",
    .validity = "The same work before and after; negative when utilization falls.",
    .source = "derived",
    .inputs = {Input("au_before_ratio", "AU0").at_most(1), Input("au_after_ratio", "AU1").above(0).at_most(1)},
    .example = "au_before_ratio=0.15 au_after_ratio=0.85",
}};

}  // namespace
}  // namespace headrace::job
