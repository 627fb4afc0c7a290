#include "harness/analysis/fleet/fleet.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "harness/analysis/fleet/state.h"

namespace headrace::fleet {
namespace {

void sort_findings(Fleet& fleet) {
  std::stable_sort(fleet.outliers.begin(), fleet.outliers.end(), [](const Outlier& a, const Outlier& b) {
    const double x = a.z ? std::abs(*a.z) : HUGE_VAL, y = b.z ? std::abs(*b.z) : HUGE_VAL;
    return a.status != b.status ? a.status < b.status : x > y;
  });
  std::stable_sort(fleet.effects.begin(), fleet.effects.end(),
                   [](const GroupEffect& a, const GroupEffect& b) { return a.status < b.status; });
}

/// Compared with its like by anything, or compared with needs of its own.
bool is_judged(const Node& node, const Fleet& fleet) {
  if (node.word == Outcome::pass || node.word == Outcome::fail) return true;
  return std::any_of(fleet.limits.begin(), fleet.limits.end(),
                     [&](const Limit& limit) { return limit.group == node.group && node.values[limit.metric]; }) ||
         std::any_of(fleet.pairs.begin(), fleet.pairs.end(), [&](const JudgedPairs& pairs) {
           const std::vector<std::string> nodes = nodes_of(pairs.matrix);
           return std::find(nodes.begin(), nodes.end(), node.name) != nodes.end();
         });
}

std::size_t nodes_with(const Fleet& fleet, Status status) {
  std::set<std::size_t> nodes;
  for (const Outlier& one : fleet.outliers)
    if (one.status == status) nodes.insert(one.node);
  return nodes.size();
}

std::string sentence_of(const Fleet& f) {
  std::string text = fmt::format("{} judged of {}", f.judged, f.expected);
  const std::size_t before = text.size();
  const auto say = [&](std::size_t n, const char* one, const char* many) {
    if (n > 0) text += fmt::format("; {} {}", n, n == 1 ? one : many);
  };
  say(nodes_with(f, Status::confirmed), "node is an outlier, confirmed", "nodes are outliers, confirmed");
  say(nodes_with(f, Status::suspected), "node is suspected", "nodes are suspected");
  say(f.effects_that_are(Status::confirmed), "shift that nodes share, confirmed", "shifts that nodes share, confirmed");
  say(f.effects_that_are(Status::suspected), "shift that nodes share, suspected", "shifts that nodes share, suspected");
  say(f.pairs_that_are(Status::confirmed), "slow node, rail or link, confirmed",
      "slow nodes, rails or links, confirmed");
  say(f.pairs_that_are(Status::suspected), "slow node, rail or link, suspected",
      "slow nodes, rails or links, suspected");
  say(static_cast<std::size_t>(
          std::count_if(f.groups.begin(), f.groups.end(), [](const Group& g) { return !g.shifts.empty(); })),
      "group of other hardware or settings lies elsewhere than the largest",
      "groups of other hardware or settings lie elsewhere than the largest");
  say(f.saying(Outcome::fail), "node misses needs of its own", "nodes miss needs of their own");
  say(f.saying(Outcome::error), "node ended with an error", "nodes ended with an error");
  say(f.saying(Outcome::inconclusive), "node is undecided", "nodes are undecided");
  say(f.saying(Outcome::interrupted), "node was interrupted", "nodes were interrupted");
  say(f.saying(Outcome::incomplete) + f.saying(Outcome::skipped), "node did not measure all of it",
      "nodes did not measure all of it");
  say(f.absent, "node is missing", "nodes are missing");
  std::set<std::string> without;
  for (const Missing& one : f.missing)
    if (std::any_of(f.nodes.begin(), f.nodes.end(), [&](const Node& node) { return node.name == one.node; }))
      without.insert(one.node);
  say(without.size(), "node lacks a value", "nodes lack values");
  if (text.size() == before && f.judged == f.reported && f.reported > 0) text += "; no node differs";
  if (f.reported > 0 && f.saying(Outcome::measured) == f.reported)
    text += "; no node had needs to judge";
  else
    say(f.saying(Outcome::measured), "node had no needs to judge", "nodes had no needs to judge");
  return text + ".";
}

void conclude(Fleet& f) {
  const auto any = [&](Status status) {
    return f.count(status) + f.effects_that_are(status) + f.pairs_that_are(status) > 0;
  };
  const std::size_t unasked = f.saying(Outcome::measured);
  const bool asked = unasked < f.reported;
  const bool incomplete = !f.missing.empty() || !f.unreadable.empty() || f.judged < f.reported || f.reported == 0 ||
                          f.saying(Outcome::pass) + unasked < f.reported || (asked && unasked > 0);
  f.word = worst({.fail = any(Status::confirmed) || f.saying(Outcome::fail) > 0,
                  .error = f.saying(Outcome::error) > 0,
                  .inconclusive = any(Status::suspected) || f.saying(Outcome::inconclusive) > 0,
                  .incomplete = incomplete},
                 asked ? Outcome::pass : Outcome::measured);
  f.exit_code = exit_code(f.word);
  f.sentence = sentence_of(f);
}

template <class List>
std::size_t that_are(const List& list, Status status) {
  return static_cast<std::size_t>(
      std::count_if(list.begin(), list.end(), [&](const auto& one) { return one.status == status; }));
}

}  // namespace

std::string_view to_string(Status status) {
  switch (status) {
    case Status::confirmed:
      return "confirmed";
    case Status::suspected:
      return "suspected";
    case Status::passing:
      return "passing";
  }
  return "";
}

std::size_t Fleet::count(Status status) const { return that_are(outliers, status); }

std::size_t Fleet::effects_that_are(Status status) const { return that_are(effects, status); }

std::size_t Fleet::pairs_that_are(Status status) const {
  std::size_t all = 0;
  for (const JudgedPairs& one : pairs) all += that_are(one.findings, status);
  return all;
}

std::size_t Fleet::saying(Outcome of_itself) const {
  const auto found = words.find(of_itself);
  return found == words.end() ? 0 : found->second;
}

Fleet judge(Collector& collected, std::vector<Unreadable> unreadable, const Options& options) {
  Work work{collected.state(), options, {}, {}, {}};
  Fleet& fleet = work.fleet;
  fleet.delta_rate = options.delta_rate;
  fleet.delta_tail = options.delta_tail;
  fleet.hosts_file = options.hosts_file;
  fleet.unreadable = std::move(unreadable);
  make_nodes(work);
  make_groups(work);
  fleet.pairs = judge_pairs(work.collected.pairs);
  name_missing(work);
  judge_values(work);
  sort_findings(fleet);
  fleet.reported = fleet.nodes.size();
  fleet.judged = static_cast<std::size_t>(
      std::count_if(fleet.nodes.begin(), fleet.nodes.end(), [&](const Node& node) { return is_judged(node, fleet); }));
  std::vector<const NodeRun*> newest;
  for (std::size_t i = 0; i < fleet.nodes.size(); ++i) newest.push_back(&work.newest(i));
  fleet.noise = noise_of(newest);
  conclude(fleet);
  return std::move(fleet);
}

}  // namespace headrace::fleet
