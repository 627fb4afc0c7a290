// The useful share of the time: epochs, shared paths, checkpoint intervals, failures.
#include "harness/job/need_list.h"

namespace headrace::job {
namespace {

void add_failure_needs(const Job& job, NeedList& needs) {
  const Job::Checkpoint& save = *job.checkpoint;
  if (!needs.have({"checkpoint.young_interval", "checkpoint.daly_interval", "goodput.useful_share", "goodput.waste"},
                  {"cluster.mtbf"}))
    return;
  const NamedValue stall{"stall_s", save.stall}, mtbf{"mtbf_s", *job.cluster.mtbf},
      interval{"interval_s", save.interval};
  needs.add("checkpoint.young_interval", Scope::cluster, Derivation("E15", {stall, mtbf}));
  needs.add("checkpoint.daly_interval", Scope::cluster, Derivation("E16", {stall, mtbf}));
  if (!needs.have({"goodput.useful_share", "goodput.waste"}, {"cluster.restart"})) return;
  const NamedValue restart{"restart_s", *job.cluster.restart + save.restore.value_or(0)};
  // The newest durable copy is older by the background write, which may take its whole share of the
  // interval.
  const double drain = save.async ? save.duty * (save.interval - save.stall) : 0;
  needs.add("goodput.useful_share", Scope::cluster, Derivation("E17", {interval, stall, restart, mtbf}));
  needs.add("goodput.waste", Scope::cluster, Derivation("E18", {interval, stall, {"drain_s", drain}, restart, mtbf}));
  if (!save.waste || *save.waste <= restart.second / mtbf.second) return;
  const Derivation size = checkpoint_size_of(job);
  needs.add_shared("checkpoint.waste_write_bandwidth",
                   Derivation("E19", {{"checkpoint_bytes", size.value()}, mtbf, restart, {"waste_ratio", *save.waste}})
                       .of("checkpoint_bytes", size));
}

}  // namespace

void add_goodput_needs(const Job& job, const Basis& basis, NeedList& needs) {
  if (job.derived.count("step.time"))
    needs.add("step.time", Scope::cluster,
              Derivation("A13", {{"params_count", job.model.active_parameters.value_or(*job.model.parameters)},
                                 {"batch_tokens_count",
                                  basis.sample_rate.value() * job.step.time * *job.model.sequence_length},
                                 {"gpus_count", job.cluster.gpus()},
                                 {"peak_flop_per_s", *job.cluster.gpu_flops},
                                 {"mfu_ratio", *job.step.mfu}}));
  if (needs.have({"ingest.epoch_time"}, {"dataset.samples"}))
    needs.add("ingest.epoch_time", Scope::cluster,
              Derivation("A14", {{"dataset_samples_count", *job.dataset.samples},
                                 {"dataset_bytes",
                                  *job.dataset.samples * job.dataset.stored_size() * job.dataset.read_amplification},
                                 {"compute_sample_rate_per_s", basis.sample_rate.value()},
                                 {"supply_bytes_per_s", basis.read_bandwidth.value()}}));
  if (needs.have({"ingest.token_rate"}, {"model.sequence_length"}))
    needs.add("ingest.token_rate", Scope::cluster,
              Derivation("A10", {{"batch_tokens_count",
                                  basis.sample_rate.value() * job.step.time * *job.model.sequence_length},
                                 {"step_time_s", job.step.time}}));
  if (!job.checkpoint || !job.model.parameters) return;
  const Job::Checkpoint& save = *job.checkpoint;
  if (save.async) {
    const Derivation size = checkpoint_size_of(job);
    needs.add_shared(
        "storage.shared_bandwidth",
        Derivation("G9", {{"ingest_bytes_per_s", basis.read_bandwidth.value()},
                          {"checkpoint_drain_bytes_per_s", checkpoint_write_of(job, size.value()).value()}}));
  }
  const NamedValue stall{"stall_s", save.stall};
  needs.add("checkpoint.overhead", Scope::cluster, Derivation("E12", {stall, {"interval_s", save.interval}}));
  needs.add("checkpoint.gpu_hours", Scope::cluster, Derivation("E13", {{"gpus_count", job.cluster.gpus()}, stall}));
  if (needs.have({"checkpoint.bytes_written"}, {"cluster.run_time"})) {
    const Derivation size = checkpoint_size_of(job);
    needs.add("checkpoint.bytes_written", Scope::cluster,
              Derivation("E11", {{"run_time_s", *job.cluster.run_time},
                                 {"interval_s", save.interval},
                                 {"checkpoint_bytes", size.value()}})
                  .of("checkpoint_bytes", size));
  }
  add_failure_needs(job, needs);
}

}  // namespace headrace::job
