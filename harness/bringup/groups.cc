#include "harness/bringup/groups.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "harness/analysis/sizing/sizing.h"
#include "harness/base/deadline.h"
#include "harness/base/diagnostics.h"
#include "harness/base/files/folder.h"
#include "harness/bringup/agents/own_run.h"
#include "harness/bringup/blame/slower_groups.h"
#include "harness/bringup/job_points.h"
#include "harness/job/job.h"
#include "harness/machine/network/host_list.h"
#include "harness/results/metric_filter.h"
#include "harness/results/run_file.h"

namespace headrace::bringup {
namespace {

using results::StoredRun;

constexpr std::size_t kMostInGroup = 16;
constexpr double kPlace_s = 30, kMostOfGroup_s = 180, kMostOfLoad_s = 600, kGroupPatience_s = 30;
constexpr const char* kLoadFolder = "headrace-load";
constexpr const char *kCollectives = "collectives", *kLoad = "storage load";

void skip(Record& record, const char* step, const std::string& why) { record.skipped.push_back({step, why}); }

/// The node is at fault: judge_groups() names it.
void leave_out(Record& record, const char* step, unsigned node, const std::string& why) {
  GroupRun run;
  run.what = step;
  run.nodes = {node};
  run.why = why;
  record.sessions.back().groups.push_back(std::move(run));
}

/// Files on all hosts for as long as this lives.
class PlacedThere {
 public:
  PlacedThere(Asking& ask, std::vector<unsigned> nodes, const std::string& config, const std::string& job)
      : ask_(ask), nodes_(std::move(nodes)), folder_("/tmp/" + files::random_name("headrace-bringup")) {
    for (const auto& [node, answer] : ask_(all({{"do", "place"}, {"config", config}, {"job", job}}), kPlace_s))
      if (!answer.why.empty()) failed_[node] = answer.why;
  }
  ~PlacedThere() { ask_(all({{"do", "take away"}}), kPlace_s); }
  PlacedThere(const PlacedThere&) = delete;

  const std::string& folder() const { return folder_; }
  const std::map<unsigned, std::string>& failed() const { return failed_; }

 private:
  std::map<unsigned, nlohmann::json> all(nlohmann::json request) const {
    request["folder"] = folder_;
    std::map<unsigned, nlohmann::json> requests;
    for (const unsigned node : nodes_)
      if (ask_.crowd().there(ask_.member(node))) requests[node] = request;
    return requests;
  }

  Asking& ask_;
  const std::vector<unsigned> nodes_;
  const std::string folder_;
  std::map<unsigned, std::string> failed_;
};

/// The nodes that passed so far and are there.
std::vector<unsigned> passed(const Record& record, const Asking& ask) {
  std::vector<unsigned> nodes;
  for (const unsigned node : ask.part())
    if (const NodeRecord& one = record.nodes[node];
        (one.state == NodeState::accepted || one.state == NodeState::retested) && !one.missing &&
        ask.crowd().there(ask.member(node)))
      nodes.push_back(node);
  std::sort(nodes.begin(), nodes.end());
  return nodes;
}

/// Neighbours in the hosts file together; groups differ by one node at most, and none has less than two.
std::vector<std::vector<unsigned>> groups_of(const std::vector<unsigned>& nodes) {
  const std::size_t count = (nodes.size() + kMostInGroup - 1) / kMostInGroup;
  std::vector<std::vector<unsigned>> groups(count);
  for (std::size_t i = 0; i < nodes.size(); ++i) groups[i * count / nodes.size()].push_back(nodes[i]);
  return groups;
}

/// The nodes that can take part in a run on several hosts. A node that cannot, where most others can, is named with its
/// reason. Where most cannot, none is at fault, the step is skipped, and no node is left.
std::vector<unsigned> with_mpi(Record& record, std::vector<unsigned> nodes, const char* step) {
  const auto why = [&](unsigned node) { return record.nodes[node].facts ? record.nodes[node].facts->no_mpi : ""; };
  const auto first_without =
      std::stable_partition(nodes.begin(), nodes.end(), [&](unsigned n) { return why(n).empty(); });
  const std::vector<unsigned> without(first_without, nodes.end());
  if (without.empty()) return nodes;
  if (2 * without.size() >= nodes.size()) {
    skip(record, step, fmt::format("{}: {}", compressed(record.names_of(without)), why(without.front())));
    return {};
  }
  for (const unsigned node : without) leave_out(record, step, node, why(node));
  nodes.erase(first_without, nodes.end());
  return nodes;
}

/// Those that could not take the files of a run.
void leave_out_unplaced(Record& record, const char* step, const PlacedThere& placed, std::vector<unsigned>& nodes) {
  for (const auto& [node, why] : placed.failed()) leave_out(record, step, node, why);
  std::erase_if(nodes, [&](unsigned node) { return placed.failed().contains(node); });
}

/// All groups at once, each requested from its first node. Returns the output of each run.
std::vector<std::optional<StoredRun>> run_groups(std::vector<GroupRun>& groups, const agents::RunWanted& wanted,
                                                 const Record& record, Asking& ask) {
  std::map<unsigned, nlohmann::json> requests;
  for (const GroupRun& group : groups) {
    agents::RunWanted own = wanted;
    own.hosts = record.names_of(group.nodes);
    requests[group.nodes.front()] = agents::run_json(own);
    requests[group.nodes.front()]["do"] = "run";
  }
  const std::uint64_t begin_ns = now_ns();
  auto answers = ask(requests, wanted.most_s + kGroupPatience_s);
  std::vector<std::optional<StoredRun>> runs(groups.size());
  for (std::size_t g = 0; g < groups.size(); ++g) {
    Answer& answer = answers[groups[g].nodes.front()];
    groups[g].took_s = seconds_since(begin_ns);
    groups[g].why = answer.why;
    if (answer.why.empty()) try {
        runs[g] = results::parse_run(answer.json->at("run").get<std::string>(), "its run");
      } catch (const std::exception& e) {
        groups[g].why = e.what();
      }
  }
  return runs;
}

/// The first metric of each point; of points that failed, why. Returns points that were skipped, and why.
std::vector<std::string> take_values(const StoredRun& run, GroupRun& group) {
  StoredRun unasked = run;
  unasked.judgements.clear();
  for (const results::StoredPoint& point : run.points) {
    if (point.status == "error") group.why += (group.why.empty() ? "" : "; ") + point.id + ": " + point.reason;
    for (const results::StoredMetric& metric : point.metrics)
      if (!metric.values.empty() && results::MetricFilter().selects(unasked, point, metric.name))
        group.values.push_back({point.id, metric.name, metric.unit, metric.shown(), metric.better,
                                metric.better == Better::lower
                                    ? *std::min_element(metric.values.begin(), metric.values.end())
                                    : *std::max_element(metric.values.begin(), metric.values.end())});
  }
  std::vector<std::string> skipped;
  for (const results::StoredPoint& point : run.points)
    if (point.status == "skipped") skipped.push_back(point.id + ": " + point.reason);
  return skipped;
}

/// The rate that the job's nodes get by the measurement, or why that is not known.
void take_load(Record& record, const StoredRun& run, const std::string& job_file, GroupRun& load) {
  for (const std::string& point : take_values(run, load)) skip(record, kLoad, point);
  load.values.clear();
  try {
    const std::vector<StoredRun> measured{run};
    const sizing::Sizing sizing = sizing::size(job::load_job(job_file), job_file, measured);
    for (const sizing::Phase& one : sizing.phases)
      load.phases.push_back({one.phase, one.title, one.unit, std::string(to_string(one.outcome)), one.explanation,
                             one.next_step, one.supply.clients, one.supply.per_client, one.supply.value.mean,
                             one.need_here()});
  } catch (const UsageError& e) {
    if (load.why.empty()) load.why = e.what();
  }
}

/// Collectives of all groups at once, kept with the session.
bool measure_collectives(Record& record, std::vector<GroupRun>& groups, const agents::RunWanted& wanted, Asking& ask) {
  const auto runs = run_groups(groups, wanted, record, ask);
  if (ask.crowd().stopped()) return false;
  std::set<std::string> skipped;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    if (!runs[g]) continue;
    for (const std::string& point : take_values(*runs[g], groups[g])) skipped.insert(point);
  }
  for (const std::string& point : skipped) skip(record, kCollectives, point);
  for (const GroupRun& one : groups)
    if (!one.values.empty() || !one.why.empty()) record.sessions.back().groups.push_back(one);
  return true;
}

}  // namespace

void measure_groups(Record& record, Asking& ask, Audience& audience) {
  if (record.measuring.pairs_only) return skip(record, kCollectives, "--pairs-only");
  std::vector<unsigned> nodes = passed(record, ask);
  if (nodes.size() < 2) return skip(record, kCollectives, "fewer than two nodes passed");
  nodes = with_mpi(record, std::move(nodes), kCollectives);
  if (nodes.empty()) return;
  audience.step(kCollectives, nodes.size());
  const PlacedThere placed(ask, nodes, record.measuring.groups, "");
  if (ask.crowd().stopped()) return;
  leave_out_unplaced(record, kCollectives, placed, nodes);
  if (nodes.size() < 2) return skip(record, kCollectives, "fewer than two nodes could take part");
  std::vector<GroupRun> groups;
  for (std::vector<unsigned>& some : groups_of(nodes)) {
    groups.emplace_back().what = kCollectives;
    groups.back().nodes = std::move(some);
  }
  agents::RunWanted wanted;
  wanted.config = record.measuring.groups;
  wanted.placed = placed.folder();
  wanted.most_s = kMostOfGroup_s;
  std::vector<GroupRun> again = groups;
  if (!measure_collectives(record, groups, wanted, ask)) return;
  if (!comparable(groups))
    skip(record, "groups compared with each other",
         fmt::format("fewer than {} groups of one size gave results", kFewestGroups));
  if (slower_groups(groups).empty()) return;
  // Slow once may be chance: so it is with nodes, too.
  audience.step("collectives again", nodes.size());
  for (GroupRun& one : again) one.again = true;
  measure_collectives(record, again, wanted, ask);
}

void measure_load(Record& record, const std::string& job_file, Asking& ask, Audience& audience) {
  const Measuring& measuring = record.measuring;
  if (measuring.pairs_only) return skip(record, kLoad, "--pairs-only");
  if (measuring.job.empty() || measuring.at.empty())
    return skip(record, kLoad, "no job, or no folder on its storage: --job JOB --at DIR");
  std::vector<unsigned> nodes = passed(record, ask);
  std::erase_if(nodes, [&](unsigned node) { return !has_storage(record, node); });
  if (nodes.size() < 2) return skip(record, kLoad, "fewer than two nodes passed that have the storage");
  nodes = with_mpi(record, std::move(nodes), kLoad);
  if (nodes.empty()) return;
  audience.step(kLoad, nodes.size());
  const PlacedThere placed(ask, nodes, "", measuring.job);
  if (ask.crowd().stopped()) return;
  leave_out_unplaced(record, kLoad, placed, nodes);
  if (nodes.size() < 2) return skip(record, kLoad, "fewer than two nodes could take part");
  std::vector<GroupRun> all(1);
  GroupRun& load = all.front();
  load.what = kLoad;
  load.nodes = nodes;
  agents::RunWanted wanted;
  wanted.job = measuring.job;
  wanted.at = measuring.at;
  wanted.folder = kLoadFolder;
  wanted.placed = placed.folder();
  wanted.only = kJobPoints;
  wanted.looks = "5";
  wanted.budget = "3min";
  wanted.most_s = kMostOfLoad_s;
  const auto runs = run_groups(all, wanted, record, ask);
  std::map<unsigned, nlohmann::json> clean;
  for (const unsigned node : nodes) clean[node] = {{"do", "clean"}, {"at", wanted.at}, {"folder", wanted.folder}};
  ask(clean, kMostOfGroup_s);
  if (ask.crowd().stopped()) return;
  if (runs.front()) take_load(record, *runs.front(), job_file, load);
  record.sessions.back().groups.push_back(std::move(load));
}

}  // namespace headrace::bringup
