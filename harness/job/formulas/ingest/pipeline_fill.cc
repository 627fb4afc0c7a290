// The cost of filling the input pipeline, which MLPerf's utilization leaves out (A26-A28).
#include "harness/job/define.h"

namespace headrace::job {
namespace {

/// A26: t_fill = N * r * b * S / W [s]. Until the first step has its data. Every rank asks for r batches at once, and
/// none arrives before nearly all do.
double pipeline_fill_time(double accelerators, double requested_batches, double batch_samples, double sample_bytes,
                          double supply) {
  return accelerators * requested_batches * batch_samples * sample_bytes / supply;
}
const Define<pipeline_fill_time> a26{{
    .id = "A26",
    .name = "pipeline_fill_time",
    .title = "Pipeline fill",
    .equation = "N * r * b * S / W",
    .unit = "s",
    .validity = "r: batches that the loader of one rank asks for at once, which are its workers (PyTorch), or 1 where "
                "workers share one batch (tf.data). W: what storage gives to all ranks at once. The mean over ranks; "
                "the slowest rank may wait 1.6 times as long. It returns each epoch; the first one also starts the "
                "workers.",
    .source = "derived; DLIO",
    .inputs = {Input("accelerators_count", "N").whole(),
               Input("requested_batches_count", "r").whole(),
               {"batch_samples_count", "b"},
               {"sample_bytes", "S"},
               Input("supply_bytes_per_s", "W").above(0)},
    .example = "accelerators_count=15 requested_batches_count=8 batch_samples_count=7 sample_bytes=146600628B "
               "supply_bytes_per_s=43.3GB/s",
}};

/// A27: u = s * t / (t_fill + t + (s - 1) * t / AU) [ratio]. The computing share of an epoch's wall clock.
double wall_clock_utilization(double steps, double step_time, double fill_time, double au) {
  return steps * step_time / (fill_time + step_time + (steps - 1) * step_time / au);
}
const Define<wall_clock_utilization> a27{{
    .id = "A27",
    .name = "wall_clock_utilization",
    .title = "Utilization of an epoch's wall clock",
    .equation = "s * t / (t_fill + t + (s - 1) * t / AU)",
    .unit = "ratio",
    .validity = "AU by MLPerf's rule (A21), whose time begins after the first step. t_fill: the wait before that step "
                "computes. Time outside all steps is in AU.",
    .source = "derived from A21 and A26",
    .inputs = {Input("steps_count", "s").whole(),
               Input("step_time_s", "t").above(0),
               {"fill_time_s", "t_fill"},
               Input("au_ratio", "AU").above(0).at_most(1)},
    .example = "steps_count=571 step_time_s=323ms fill_time_s=2.87s au_ratio=0.9271",
}};

/// A28: u = (s - r) / (1 + (s - 1) / AU) [ratio]. A27 where storage is the bottleneck. It fills the pipeline at the
/// mean rate of the epoch, and N, b, S and W cancel.
double wall_clock_utilization_bound(double steps, double requested_batches, double au) {
  if (steps < requested_batches)
    throw DomainError("wall_clock_utilization_bound: steps_count must be at least requested_batches_count");
  return (steps - requested_batches) / (1 + (steps - 1) / au);
}
const Define<wall_clock_utilization_bound> a28{{
    .id = "A28",
    .name = "wall_clock_utilization_bound",
    .title = "The same where storage is the bottleneck",
    .equation = "(s - r) / (1 + (s - 1) / AU)",
    .unit = "ratio",
    .validity = "Storage serves the fill no faster than the epoch's mean; where it can, A26 and A27 give more.",
    .source = "derived from A26 and A27",
    .inputs = {Input("steps_count", "s").whole(), Input("requested_batches_count", "r").whole(),
               Input("au_ratio", "AU").above(0).at_most(1)},
    .example = "steps_count=500 requested_batches_count=96 au_ratio=0.903",
}};

}  // namespace
}  // namespace headrace::job
