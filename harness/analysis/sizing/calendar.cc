// How often to save, the measured cost of a save, and one cycle from save to save.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "harness/analysis/sizing/parts.h"

namespace headrace::sizing {
namespace {

using job::apply;
using job::DomainError;
using job::Job;

/// The rate of some nodes does not show how long all of them wait.
const Phase* phase_named(const Sizing& s, std::string_view phase) {
  for (const Phase& p : s.phases)
    if (p.phase == phase && p.curve && p.whole) return &p;
  return nullptr;
}

double checkpoint_bytes(const Job& job) {
  return apply("E1", {{"params_count", *job.model.parameters},
                      {"bytes_per_param", job.checkpoint->bytes_per_parameter},
                      {"extra_bytes", job.checkpoint->extra}})
      .value();
}

/// The formula's value; nothing outside its domain.
std::optional<double> value(std::string_view id, std::initializer_list<job::NamedValue> in) {
  try {
    return apply(id, in).value();
  } catch (const DomainError&) {
    return std::nullopt;
  }
}

void add_failures(const Job& job, Calendar& c) {
  if (!job.cluster.mtbf) return;
  const double mtbf = *job.cluster.mtbf;
  c.mtbf_s = mtbf;
  c.young_s = value("E15", {{"stall_s", c.stall_s}, {"mtbf_s", mtbf}});
  c.daly_s = value("E16", {{"stall_s", c.stall_s}, {"mtbf_s", mtbf}});
  const double restart = job.cluster.restart.value_or(0) + c.restore_s.value_or(0);
  const double drain = c.async ? c.save_s : 0;
  c.goodput =
      value("E17", {{"interval_s", c.interval_s}, {"stall_s", c.stall_s}, {"restart_s", restart}, {"mtbf_s", mtbf}});
  const double from = std::max(30.0, std::min(c.interval_s, c.daly_s.value_or(c.interval_s)) / 8);
  const double to = std::max(c.interval_s, c.daly_s.value_or(c.interval_s)) * 8;
  constexpr int kPoints = 61;
  for (int i = 0; i < kPoints; ++i) {
    const double interval = from * std::pow(to / from, i / (kPoints - 1.0));
    const double stall = c.stall_s / interval, rework = (interval / 2 + drain + restart) / mtbf;
    c.tradeoff.push_back({interval, stall, rework, stall + rework});  // E18
  }
  c.lost = value("E18", {{"interval_s", c.interval_s},
                         {"stall_s", c.stall_s},
                         {"drain_s", drain},
                         {"restart_s", restart},
                         {"mtbf_s", mtbf}});
  c.best_interval_s = c.daly_s;
}

}  // namespace

std::optional<Calendar> calendar_of(const Sizing& s) {
  const Job& job = s.job;
  const Phase *save = phase_named(s, "checkpoint_save"), *restore = phase_named(s, "checkpoint_restore");
  if (!job.checkpoint || !job.model.parameters || save == nullptr) return std::nullopt;
  const Job::Checkpoint& plan = *job.checkpoint;
  Calendar c;
  c.async = plan.async;
  c.interval_s = plan.interval;
  c.stall_allowed_s = plan.stall;
  const double bytes = checkpoint_bytes(job);
  c.save_s = apply("E6", {{"transfer_bytes", bytes * save->demand.largest_writer},
                          {"path_bytes_per_s", save->supply.value.mean}})
                 .value() +
             plan.overhead;
  c.stall_s = c.save_s;
  c.stall_basis = "the measured save";
  if (plan.async) {
    const auto staged = measurements(s.sessions, std::vector<std::string>{"checkpoint_write.stage_bandwidth"}, "");
    c.stall_s = plan.stall;
    c.stall_basis = "the job's own figure: the copy to host memory was not measured";
    if (!staged.empty() && staged.front().low > 0) {
      c.stall_s = bytes * save->demand.largest_writer / job.cluster.nodes / staged.front().per_client();
      c.stall_basis = staged.front().name();
    }
  }
  if (restore != nullptr)
    c.restore_s = (bytes + (plan.weight_readers - 1) * *job.model.parameters * job.model.weight_bytes) /
                      restore->supply.value.mean +
                  plan.restore_overhead;
  add_failures(job, c);
  if (!c.lost) c.lost = value("E12", {{"stall_s", c.stall_s}, {"interval_s", c.interval_s}});
  return c;
}

std::optional<Starvation> starvation_of(const Sizing& s) {
  Starvation starved;
  bool any = false;
  double filling = 0;  // the rate of an epoch's storage [B/s]
  for (const Phase& p : s.phases) {
    // Reads of a first epoch come once; the waiting of later epochs is the cost, where it is known.
    if (!p.curve || !p.answers_job() || !kind_of(p.phase).feeds_gpus) continue;
    if (p.phase == "cold_epoch" && phase_named(s, "steady_epoch") != nullptr) continue;
    const auto use = apply(
        "A18", {{"supply_bytes_per_s", p.supply.value.mean}, {"demand_bytes_per_s", p.demand.required * p.share}});
    any = true;
    if (p.phase == "cold_epoch" || p.phase == "steady_epoch") filling = p.supply.value.mean / p.share;
    if (use.value() < starved.utilization || starved.phase.empty()) {
      starved.utilization = use.value();
      starved.phase = p.phase;
    }
  }
  if (!any) return std::nullopt;
  starved.wall_clock = job::priced_wall_clock_of(s.job, filling, starved.utilization);
  const auto& price = s.job.cluster.gpu_price;
  if (!price) return starved;
  starved.price_usd_per_h = price;
  const auto cost =
      apply("A23",
            {{"gpus_count", s.job.cluster.gpus()}, {"gpu_price_usd_per_h", *price}, {"au_ratio", starved.utilization}});
  starved.cost_usd_per_h = cost.value();
  starved.from = derived(cost);
  if (s.job.cluster.run_time && starved.utilization > 0)
    starved.cost_total_usd = value("A24", {{"gpus_count", s.job.cluster.gpus()},
                                           {"gpu_price_usd_per_h", *price},
                                           {"stall_free_time_h", *s.job.cluster.run_time / 3600},
                                           {"au_ratio", starved.utilization}});
  return starved;
}

std::vector<Stretch> cycle_of(const Sizing& s) {
  std::vector<Stretch> cycle;
  const double compute = s.calendar ? s.calendar->interval_s : s.job.step.time;
  const double utilization = s.starvation ? s.starvation->utilization : 1;
  if (utilization <= 0) return cycle;
  double at = 0;
  const auto add = [&](const char* what, double seconds) {
    if (seconds <= 0) return;
    cycle.push_back({what, at, at + seconds});
    at += seconds;
  };
  add("compute", compute);
  add("input_wait", compute / utilization - compute);
  if (s.calendar) {
    add("checkpoint_stall", s.calendar->stall_s);
    if (s.calendar->async) cycle.push_back({"checkpoint_drain", at, at + s.calendar->save_s});
  }
  return cycle;
}

}  // namespace headrace::sizing
