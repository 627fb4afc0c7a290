#include "harness/engine/plan/benchmark/checkpoints.h"

#include <fmt/format.h>

#include <array>
#include <cmath>

#include "harness/base/units.h"
#include "harness/engine/plan/job_points/checkpoints.h"

namespace headrace {
namespace {

using job::Job;
using job::Sharding;

/// The benchmark rounds the sizes that it reports.
constexpr double kRounded = 0.03;

bool is(const std::optional<double>& reported, double own) { return reported && *reported == own; }

Sharding sharding_of(const BenchmarkModel& model) { return model.pipeline > 1 ? Sharding::zero1 : Sharding::zero3; }

const char* word(Sharding sharding) {
  static constexpr std::array kWords{"none", "zero1", "zero2", "zero3"};
  return kWords[static_cast<std::size_t>(sharding)];
}

RuleCheck own_checkpoint(const Job& job, const BenchmarkModel& model) {
  const double size = job_points::checkpoint_bytes(job);
  const Job::Parallelism& by = job.parallelism;
  const bool shards = by.tensor == model.tensor && by.pipeline == model.pipeline && by.sharding == sharding_of(model);
  return {
      "workload", shards && !job.checkpoint->async && std::abs(size - model.bytes) <= kRounded * model.bytes,
      fmt::format("{} is saved in {} (tensor {:.0f}, pipeline {:.0f}, {}), synchronously: {} (tensor {:.0f}, pipeline "
                  "{:.0f}, {}), {}",
                  model.name, format_quantity(model.bytes, Dimension::bytes), model.tensor, model.pipeline,
                  word(sharding_of(model)), format_quantity(size, Dimension::bytes), by.tensor, by.pipeline,
                  word(by.sharding), job.checkpoint->async ? "asynchronously" : "synchronously")};
}

}  // namespace

const BenchmarkModel* benchmark_model(const std::string& rules, const Job& job) {
  if (!job.checkpoint) return nullptr;
  for (const BenchmarkModel& m : benchmark_version(rules)->models)
    if (is(job.model.layers, m.layers) && is(job.model.hidden, m.hidden) && is(job.model.ffn, m.ffn) &&
        is(job.model.heads, m.heads) && is(job.model.kv_heads, m.kv_heads))
      return &m;
  return nullptr;
}

double bytes_saved(const BenchmarkModel& model, const SavedBy& by) {
  return model.bytes * by.hosts * by.ranks_on_host / model.ranks();
}

std::vector<RuleCheck> check_planned_saves(const std::string& rules, const Job& job, const SavedBy& by) {
  using namespace benchmark_rules;
  const BenchmarkModel& model = *benchmark_model(rules, job);
  const double ranks = by.hosts * by.ranks_on_host;
  const bool stands_for_all = model.by_one_host && by.hosts == 1 && ranks == kRanksOfOneHost;
  const std::string or_one = model.by_one_host && model.ranks() > kRanksOfOneHost
                                 ? fmt::format(", or {:.0f} on one host whose own storage it is", kRanksOfOneHost)
                                 : std::string();
  return {own_checkpoint(job, model),
          {"ranks", ranks == model.ranks() || stands_for_all,
           fmt::format("{:.0f} ranks save{}: {:.0f} on {:.0f} host{}", model.ranks(), or_one, ranks, by.hosts,
                       by.hosts == 1 ? "" : "s")},
          {"ranks_on_host", by.ranks_on_host >= kFewestOnHost,
           fmt::format("{:.0f} ranks or more on each host: {:.0f}", kFewestOnHost, by.ranks_on_host)}};
}

}  // namespace headrace
