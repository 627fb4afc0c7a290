// Values of a job that follow from others when they are not given.
#include "harness/base/units.h"
#include "harness/job/formula.h"
#include "harness/job/job.h"

namespace headrace::job {
namespace {

std::optional<double> parameters_of(const Job::Model& m) {
  if (m.experts || !m.layers || !m.hidden || !m.ffn || !m.heads || !m.kv_heads || !m.vocabulary) return std::nullopt;
  return apply("E2", {{"layers_count", *m.layers},
                      {"hidden_count", *m.hidden},
                      {"ffn_count", *m.ffn},
                      {"vocabulary_count", *m.vocabulary},
                      {"heads_count", *m.heads},
                      {"kv_heads_count", *m.kv_heads}})
      .value();
}

std::optional<double> step_time_of(const Job& job) {
  const auto& parameters = job.model.active_parameters ? job.model.active_parameters : job.model.parameters;
  if (!job.cluster.gpu_flops || !job.step.mfu || !parameters || !job.model.sequence_length) return std::nullopt;
  const double samples = job.step.micro_batch * job.step.accumulation * job.replicas();
  return apply("A13", {{"params_count", *parameters},
                       {"batch_tokens_count", samples * *job.model.sequence_length},
                       {"gpus_count", job.cluster.gpus()},
                       {"peak_flop_per_s", *job.cluster.gpu_flops},
                       {"mfu_ratio", *job.step.mfu}})
      .value();
}

std::optional<double> mtbf_of(const Job::Cluster& c) {
  if (!c.reference_mtbf || !c.reference_gpus) return std::nullopt;
  return apply("E14", {{"reference_mtbf_s", *c.reference_mtbf},
                       {"reference_gpus_count", *c.reference_gpus},
                       {"gpus_count", c.gpus()}})
      .value();
}

/// The usual loader of such a data set, and its name.
std::pair<ReadProfile, const char*> profile_of(Layout layout) {
  switch (layout) {
    case Layout::shards:
      return {ReadProfile::wds, "wds"};
    case Layout::tokens:
      return {ReadProfile::mmap, "mmap"};
    case Layout::files:
      break;
  }
  return {ReadProfile::whole, "whole"};
}

}  // namespace

void derive_values(Job& job) {
  const auto missing = [&](const char* path) { return !job.values.count(path) || job.derived.count(path); };
  const auto derive = [&](const char* path, const std::optional<double>& value, Dimension dimension, auto& member) {
    if (!value) return;
    member = *value;
    job.derived.insert(path);
    job.values[path] = exact_quantity(*value, dimension);
  };
  if (missing("model.parameters"))
    derive("model.parameters", parameters_of(job.model), Dimension::count, job.model.parameters);
  if (missing("step.time")) derive("step.time", step_time_of(job), Dimension::seconds, job.step.time);
  if (missing("dataset.read_profile")) {
    const auto [profile, name] = profile_of(job.dataset.layout);
    job.dataset.read_profile = profile;
    job.derived.insert("dataset.read_profile");
    job.values["dataset.read_profile"] = name;
  }
  if (job.loader.workers_per_gpu == 0.0) {  // it begins a batch when it takes the one before
    job.loader.prefetch_factor = 1;
    job.derived.insert("loader.prefetch_factor");
    job.values["loader.prefetch_factor"] = "1";
  }
  if (missing("cluster.mtbf")) derive("cluster.mtbf", mtbf_of(job.cluster), Dimension::seconds, job.cluster.mtbf);
}

}  // namespace headrace::job
