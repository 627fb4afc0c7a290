// Failures, the best interval between saves, and the useful share of the time (E12-E19).
#include <cmath>

#include "harness/job/define.h"

namespace headrace::job {
namespace {

/// E12: o = t_stall / (tau + t_stall) [ratio]. Share of the time that saves block.
double checkpoint_overhead(double stall, double interval) { return stall / (interval + stall); }
const Define<checkpoint_overhead> e12{{
    .id = "E12",
    .name = "checkpoint_overhead",
    .title = "Checkpoint overhead",
    .equation = "t_stall / (tau + t_stall)",
    .unit = "ratio",
    .validity = "tau is the compute time between saves.",
    .source = "definition",
    .inputs = {{"stall_s", "t_stall"}, Input("interval_s", "tau").above(0)},
    .example = "stall_s=30s interval_s=1h",
}};

/// E13: G * t_stall / 3600 [h]. GPU-hours that one save costs.
double gpu_hours_lost(double gpus, double stall) { return gpus * stall / 3600; }
const Define<gpu_hours_lost> e13{{
    .id = "E13",
    .name = "gpu_hours_lost",
    .title = "GPU-hours lost per save",
    .equation = "G * t_stall / 3600",
    .unit = "h",
    .validity = "Multiply by the price of a GPU-hour for money.",
    .source = "definition",
    .inputs = {Input("gpus_count", "G").whole(), {"stall_s", "t_stall"}},
    .example = "gpus_count=512 stall_s=30s",
}};

/// E14: M = M_ref * G_ref / G [s]. Mean time between failures of a job of another size.
double job_mtbf(double reference_mtbf, double reference_gpus, double gpus) {
  return reference_mtbf * reference_gpus / gpus;
}
const Define<job_mtbf> e14{{
    .id = "E14",
    .name = "job_mtbf",
    .title = "Mean time between failures of the job",
    .equation = "M_ref * G_ref / G",
    .unit = "s",
    .validity = "Independent failures at a rate that grows with the GPUs; 419 interruptions in 54 "
                "days on 16384 GPUs "
                "give M_ref = 11135 s.",
    .source = "LLAMA3",
    .inputs = {Input("reference_mtbf_s", "M_ref").above(0), Input("reference_gpus_count", "G_ref").whole(),
               Input("gpus_count", "G").whole()},
    .example = "reference_mtbf_s=11135.08s reference_gpus_count=16384 gpus_count=1024",
}};

/// E15: tau = sqrt(2 * delta * M) [s]. Compute time between saves that wastes least, to first
/// order.
double young_interval(double stall, double mtbf) { return std::sqrt(2 * stall * mtbf); }
const Define<young_interval> e15{{
    .id = "E15",
    .name = "young_interval",
    .title = "Young's interval",
    .equation = "sqrt(2 * delta * M)",
    .unit = "s",
    .validity = "delta much shorter than M; delta is the blocking time only.",
    .source = "YOUNG",
    .inputs = {{"stall_s", "delta"}, Input("mtbf_s", "M").above(0)},
    .example = "stall_s=5min mtbf_s=24h",
}};

/// E16: tau = sqrt(2 * delta * M) * (1 + sqrt(delta / (2 * M)) / 3 + delta / (18 * M)) - delta if
/// delta < 2 * M, else M [s]. Daly's higher-order interval.
double daly_interval(double stall, double mtbf) {
  if (stall >= 2 * mtbf) return mtbf;
  const double x = stall / (2 * mtbf);
  return std::sqrt(2 * stall * mtbf) * (1 + std::sqrt(x) / 3 + x / 9) - stall;
}
const Define<daly_interval> e16{{
    .id = "E16",
    .name = "daly_interval",
    .title = "Daly's interval",
    .equation = "sqrt(2 * delta * M) * (1 + sqrt(delta / (2 * M)) / 3 + delta / (18 * M)) - delta "
                "if delta < 2 * M, "
                "else M",
    .unit = "s",
    .validity = "Exponential failures; the interval is the compute time between saves.",
    .source = "DALY",
    .inputs = {{"stall_s", "delta"}, Input("mtbf_s", "M").above(0)},
    .example = "stall_s=5min mtbf_s=6h",
}};

/// E17: g = tau / (M * exp(R / M) * (exp((tau + delta) / M) - 1)) [ratio]. Share of the time that
/// is useful work.
double goodput_daly(double interval, double stall, double restart, double mtbf) {
  return interval / (mtbf * std::exp(restart / mtbf) * std::expm1((interval + stall) / mtbf));
}
const Define<goodput_daly> e17{{
    .id = "E17",
    .name = "goodput_daly",
    .title = "Goodput, exact",
    .equation = "tau / (M * exp(R / M) * (exp((tau + delta) / M) - 1))",
    .unit = "ratio",
    .validity = "Exponential failures; R is restart and restore together.",
    .source = "DALY",
    .inputs =
        {Input("interval_s", "tau").above(0), {"stall_s", "delta"}, {"restart_s", "R"}, Input("mtbf_s", "M").above(0)},
    .example = "interval_s=7001.6s stall_s=5min restart_s=10min mtbf_s=24h",
}};

/// E18: x = delta / tau + (tau / 2 + t_drain + R) / M [ratio]. Share of the time lost to saves and failures. With an
/// asynchronous save the newest durable copy is older by the drain.
double waste_first_order(double interval, double stall, double drain, double restart, double mtbf) {
  return stall / interval + (interval / 2 + drain + restart) / mtbf;
}
const Define<waste_first_order> e18{{
    .id = "E18",
    .name = "waste_first_order",
    .title = "Waste, first order",
    .equation = "delta / tau + (tau / 2 + t_drain + R) / M",
    .unit = "ratio",
    .validity = "A result up to about 0.2; beyond that use E17.",
    .source = "YOUNG; derived",
    .inputs = {Input("interval_s", "tau").above(0),
               {"stall_s", "delta"},
               Input("drain_s", "t_drain").otherwise(0),
               {"restart_s", "R"},
               Input("mtbf_s", "M").above(0)},
    .example = "interval_s=30min stall_s=5s drain_s=2min restart_s=10min mtbf_s=178161.28s",
}};

/// E19: W = K / (M * (x - R / M)^2 / 2) [B/s]. Write rate at which saves at Young's interval waste
/// x.
double write_bandwidth_for_waste(double checkpoint, double mtbf, double restart, double waste) {
  const double left = waste - restart / mtbf;
  if (left <= 0) throw DomainError("write_bandwidth_for_waste: waste_ratio must be above restart_s / mtbf_s");
  return checkpoint / (mtbf * left * left / 2);
}
const Define<write_bandwidth_for_waste> e19{{
    .id = "E19",
    .name = "write_bandwidth_for_waste",
    .title = "Write bandwidth for a waste budget",
    .equation = "K / (M * (x - R / M)^2 / 2)",
    .unit = "B/s",
    .validity = "Synchronous saves at Young's interval; x above R / M.",
    .source = "derived from E15 and E18",
    .inputs = {{"checkpoint_bytes", "K"},
               Input("mtbf_s", "M").above(0),
               {"restart_s", "R"},
               Input("waste_ratio", "x").above(0).at_most(1)},
    .example = "checkpoint_bytes=980GB mtbf_s=178161.28s restart_s=5min waste_ratio=0.02",
}};

}  // namespace
}  // namespace headrace::job
