// Choosing the needs that a run judges.
#include "harness/engine/plan/asked_needs.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "harness/base/config/value_reader.h"
#include "harness/base/glob.h"
#include "harness/base/units.h"
#include "harness/job/need_kinds.h"
#include "harness/workload/registry.h"

namespace headrace {
namespace {

using config::Value;
/// A name or glob of needs, and where it is.
using Pattern = std::pair<std::string, Location>;

void declare_need(const Value& item, Plan& plan, Diagnostics& problems) {
  config::ValueReader read(problems, "needs");
  read.known_keys(item, {"id", "metric", "at_least", "at_most", "source", "optional"});
  DeclaredNeed need;
  need.where = item.where;
  need.id = read.text(item.find("id"), "id");
  need.metric = read.text(item.find("metric"), "metric");
  need.source = read.text(item.find("source"), "source");
  need.optional = read.flag(item.find("optional"), "optional");
  const Value* least = item.find("at_least");
  const Value* most = item.find("at_most");
  if (need.id.empty() || need.metric.empty() || (least == nullptr) == (most == nullptr)) {
    problems.error(item.where, "needs: each needs id, metric (workload.metric) and one of at_least or at_most");
    return;
  }
  const std::size_t dot = need.metric.find('.');
  const WorkloadInfo* info = Registry::instance().find(need.metric.substr(0, dot));
  const Metric* metric = nullptr;
  std::vector<std::string> known;
  if (info != nullptr && dot != std::string::npos) {
    for (const auto& list : {info->metrics, standard_metrics()}) {
      for (const Metric& m : list) {
        known.push_back(fmt::format("{}.{}", info->name, m.name));
        if (m.name == std::string_view(need.metric).substr(dot + 1)) metric = &m;
      }
    }
  } else {
    for (const std::string& name : Registry::instance().names()) known.push_back(name + ".METRIC");
  }
  if (metric == nullptr) {
    problems.error(item.find("metric")->where, fmt::format("needs: no metric '{}'{} (known: {})", need.metric,
                                                           did_you_mean(need.metric, known), join(known)));
    return;
  }
  need.at_least = least != nullptr;
  need.unit = metric->unit;
  const Value* value = least != nullptr ? least : most;
  const bool in_ns = need.unit == "ns";
  const Dimension dimension = in_ns || need.unit == "s" ? Dimension::seconds
                              : need.unit == "B/s"      ? Dimension::bytes_per_second
                              : need.unit == "1/s"      ? Dimension::per_second
                              : need.unit == "B"        ? Dimension::bytes
                                                        : Dimension::ratio;
  const auto v = read.quantity(value, least ? "at_least" : "at_most", dimension, 0);
  if (v && least != nullptr && *v == 0)
    read.refuse(*value, "at_least", value->text + " is met by whatever is measured: give a value above 0");
  if (v) {
    need.value = in_ns ? *v * 1e9 : *v;
  }
  plan.declared_needs.push_back(std::move(need));
}

/// Asks for the judged needs of the job that `patterns` select.
void ask_job_needs(const std::vector<Pattern>& patterns, Plan& plan, Diagnostics& problems) {
  const auto locked = job::locked_needs(*plan.job);
  std::vector<std::string> ids;
  for (const auto& need : job::derive_needs(*plan.job))
    if (std::find(ids.begin(), ids.end(), need.id) == ids.end()) ids.push_back(need.id);
  for (const auto& [pattern, where] : patterns) {
    if (pattern.find_first_of("*?") != std::string::npos) continue;
    if (std::find(ids.begin(), ids.end(), pattern) != ids.end()) continue;
    if (const auto other =
            std::find_if(locked.begin(), locked.end(), [&, id = pattern](const auto& l) { return l.id == id; });
        other != locked.end()) {
      plan.remarks.push_back(
          fmt::format("{} is left out: this job has no such need; it would with {}", pattern, join(other->missing)));
    } else {
      problems.error(where, fmt::format("needs: this job has no need '{}'{} (it has: {})", pattern,
                                        did_you_mean(pattern, ids), join(ids)));
    }
  }
  for (const auto& need : job::judged_needs(*plan.job)) {
    const bool wanted =
        std::any_of(patterns.begin(), patterns.end(), [&](const auto& p) { return glob_match(p.first, need.id); });
    if (wanted) {
      plan.needs.push_back(need);
    } else if (std::find(plan.not_asked.begin(), plan.not_asked.end(), need.id) == plan.not_asked.end()) {
      plan.not_asked.push_back(need.id);
    }
  }
}

/// What this run lacks for a need, and the command that would measure it.
std::string why_unmeasured(const job::Need& need) {
  const std::string group = need.id.substr(0, need.id.find('.'));
  if (group == "gpu") return "no GPU here; on a node that has them: headrace qualify JOB";
  if (group == "network") return "one process has no partner: mpirun -n N --hostfile HOSTS headrace qualify JOB";
  if (need.id == "ingest.steady_read_bandwidth")
    return "a settled page cache needs a data set as large as the job's: headrace run -c configs/sizing.yaml --job "
           "JOB, "
           "and headrace size JOB --runs FOLDER";
  if (group == "checkpoint") return "its files do not fit what may be written: headrace qualify JOB --max-write SIZE";
  return "no point that is left measures it";
}

}  // namespace

JobNeeds::JobNeeds(const job::Job& job) {
  for (job::Need& need : job::derive_needs(job)) {
    if (need.informative) continue;
    if (need.scope == job::Scope::node) {
      for (const std::string& metric : need.measured_by) {
        double& most = of_node[metric];
        most = std::max(most, need.need);
      }
    }
    if (need.collective) collectives.push_back(std::move(need));
  }
}

void leave_unmeasured(Plan& plan) {
  const auto is_measured = [&](const job::Need& need) {
    return std::any_of(need.measured_by.begin(), need.measured_by.end(), [&](const std::string& metric) {
      return std::any_of(plan.points.begin(), plan.points.end(),
                         [&](const Point& p) { return metric.substr(0, metric.find('.')) == p.info->name; });
    });
  };
  std::map<std::string, std::vector<std::string>> by_reason;
  std::erase_if(plan.needs, [&](const job::Need& need) {
    if (is_measured(need)) return false;
    std::vector<std::string>& ids = by_reason[why_unmeasured(need)];
    if (std::find(ids.begin(), ids.end(), need.id) == ids.end()) {
      ids.push_back(need.id);
      plan.not_asked.push_back(need.id);
    }
    return true;
  });
  for (const auto& [why, ids] : by_reason) plan.remarks.push_back(fmt::format("not measured: {}: {}", join(ids), why));
}

void ask_needs(const Value* needs, Plan& plan, Diagnostics& problems) {
  std::vector<Pattern> patterns;
  if (needs != nullptr && !needs->is_list()) {
    problems.error(needs->where, "needs: must be a list of names such as ingest.*, or of {id, metric, at_least}");
  } else if (needs != nullptr) {
    for (const Value& item : needs->items) {
      if (item.is_scalar()) {
        patterns.emplace_back(item.text, item.where);
      } else {
        declare_need(item, plan, problems);
      }
    }
  } else {
    patterns.emplace_back("*", Location{});
  }
  if (plan.job) ask_job_needs(patterns, plan, problems);
}

}  // namespace headrace
