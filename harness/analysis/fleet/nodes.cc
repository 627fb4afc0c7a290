// From runs to nodes: which run counts for which need, and the nodes' reports on themselves.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "harness/analysis/fleet/state.h"

namespace headrace::fleet {
namespace {

bool decided(Outcome outcome) {
  return outcome == Outcome::pass || outcome == Outcome::fail || outcome == Outcome::inconclusive;
}

/// The outcome of a need, from the newest run to the oldest.
struct NeedWord {
  Outcome outcome;
  bool settled;  // PASS or FAIL was seen: older runs change nothing

  explicit NeedWord(Outcome newest) : outcome(newest), settled(settles(newest)) {}
  /// An undecided outcome in an older run takes no FAIL back, and gives no PASS.
  void add(Outcome older) {
    if (settled) return;
    settled = settles(older);
    if (older == Outcome::fail || !decided(outcome)) outcome = older;
  }
  static bool settles(Outcome outcome) { return outcome == Outcome::pass || outcome == Outcome::fail; }
};

/// The outcome of its runs (newest first) together: the worst. For each need the newest run that decided it counts, so
/// that a run without the need hides nothing. A failed run counts until the same configuration ended well.
Outcome own_word(const std::vector<const NodeRun*>& runs) {
  std::set<std::string> configs;
  std::map<std::string, NeedWord> needs;
  Outcome word = Outcome::measured;
  for (const NodeRun* run : runs) {
    for (const auto& [need, outcome] : run->needs) {
      const auto [known, is_new] = needs.try_emplace(need, outcome);
      if (!is_new) known->second.add(outcome);
    }
    const bool is_current = configs.insert(run->config_file).second;
    if (is_current && (run->needs.empty() || run->word == Outcome::error || run->word == Outcome::interrupted))
      word = worst(word, run->word);
  }
  for (const auto& [need, known] : needs) word = worst(word, known.outcome);
  return word;
}

/// With numbers filled up by zeros: r2 comes before r10.
std::string in_order(const std::string& text) {
  std::string out, digits;
  const auto flush = [&] {
    if (!digits.empty()) out += std::string(digits.size() < 12 ? 12 - digits.size() : 0, '0') + digits;
    digits.clear();
  };
  for (const char c : text) {
    if (c >= '0' && c <= '9') {
      digits += c;
      continue;
    }
    flush();
    out += c;
  }
  flush();
  return out;
}

/// By their place, so that a bad rack shows as a block; else by name.
std::string place_of(const Node& node) {
  std::string where;
  for (const auto& [key, value] : node.attributes) where += key + value + "\n";
  return in_order(where);
}

/// In an order that does not hang on which thread read first.
void sort_metrics(Work& work) {
  std::vector<ComparedMetric>& metrics = work.collected.metrics;
  std::vector<std::size_t> order(metrics.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    const ComparedMetric &x = metrics[a], &y = metrics[b];
    return std::tie(x.workload, x.point, x.metric, x.unit, x.params) <
           std::tie(y.workload, y.point, y.metric, y.unit, y.params);
  });
  std::vector<std::size_t> place(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    place[order[i]] = i;
    work.fleet.metrics.push_back(metrics[order[i]]);
  }
  for (NodeRun& run : work.collected.runs)
    for (RunValue& value : run.values) value.metric = place[value.metric];
}

/// For each metric the value of each session: the newest run of a session that counts.
std::vector<std::vector<Sample>> samples_of(const std::vector<const NodeRun*>& runs, std::size_t metrics) {
  std::vector<std::vector<Sample>> samples(metrics);
  for (const NodeRun* run : runs) {
    for (const RunValue& value : run->values) {
      std::vector<Sample>& known = samples[value.metric];
      if (!value.left_out_for.empty() ||
          std::any_of(known.begin(), known.end(), [&](const Sample& s) { return same_session(*s.run, *run); }))
        continue;
      known.push_back({value.value, run});
    }
  }
  return samples;
}

}  // namespace

void make_nodes(Work& work) {
  sort_metrics(work);
  std::vector<std::string> hosts;
  for (const Host& host : work.options.hosts) hosts.push_back(host.name);
  std::vector<const NodeRun*> all;
  for (const NodeRun& run : work.collected.runs) all.push_back(&run);
  std::sort(all.begin(), all.end(), [](const NodeRun* a, const NodeRun* b) {
    return std::tie(a->node, b->started_utc, a->path) < std::tie(b->node, a->started_utc, b->path);
  });
  struct Made {
    Node node;
    std::vector<const NodeRun*> runs;
    std::string place;
  };
  std::vector<Made> made;
  for (std::size_t i = 0; i < all.size();) {
    Made one;
    std::set<std::pair<std::string, std::string>> seen;
    const std::string& name = all[i]->node;
    for (; i < all.size() && all[i]->node == name; ++i)
      if (seen.emplace(all[i]->run, all[i]->started_utc).second) one.runs.push_back(all[i]);
    const NodeRun& newest = *one.runs.front();
    one.node.name = name.empty() ? newest.path : name;
    one.node.run = newest.run;
    one.node.path = newest.path;
    one.node.started_utc = newest.started_utc;
    one.node.word = own_word(one.runs);
    one.node.runs = static_cast<unsigned>(one.runs.size());
    if (const auto host = host_named(hosts, one.node.name))
      one.node.attributes = work.options.hosts[*host].attributes();
    one.place = place_of(one.node);
    made.push_back(std::move(one));
  }
  std::stable_sort(made.begin(), made.end(), [](const Made& a, const Made& b) { return a.place < b.place; });
  const std::size_t metrics = work.fleet.metrics.size();
  for (Made& one : made) {
    work.samples.push_back(samples_of(one.runs, metrics));
    one.node.values.resize(metrics);
    one.node.deviation.resize(metrics);
    for (std::size_t m = 0; m < metrics; ++m)
      if (!work.samples.back()[m].empty()) one.node.values[m] = work.samples.back()[m].front().value;
    work.fleet.words[one.node.word] += 1;
    work.fleet.nodes.push_back(std::move(one.node));
    work.runs.push_back(std::move(one.runs));
  }
}

void name_missing(Work& work) {
  Fleet& fleet = work.fleet;
  std::vector<std::string> hosts;
  for (const Host& host : work.options.hosts) hosts.push_back(host.name);
  std::set<std::string> reported, unread;
  const auto report = [&](const std::string& name) {
    const auto host = host_named(hosts, name);
    reported.insert(host ? hosts[*host] : name);
  };
  for (const Node& node : fleet.nodes) report(node.name);
  for (const JudgedPairs& pairs : fleet.pairs)  // a node that took part in another's run was there
    for (const std::string& name : nodes_of(pairs.matrix)) report(name);
  for (const Unreadable& one : fleet.unreadable) unread.insert(one.node);
  const std::string usual = work.runs.empty() ? "headrace run -c CONFIG" : work.newest(0).measuring_command;
  for (const Host& host : work.options.hosts) {
    if (reported.contains(host.name)) continue;
    ++fleet.absent;
    fleet.missing.push_back({host.name,
                             unread.contains(host.name) ? "its run cannot be read" : "expected, and no run was found",
                             fmt::format("on {}: {}", host.name, usual)});
  }
  fleet.expected =
      work.options.hosts.empty() ? fleet.nodes.size() + fleet.unreadable.size() : work.options.hosts.size();
  if (work.options.hosts.empty()) fleet.absent = fleet.unreadable.size();
  // A value that most of the like have is missed where it is not; one that was left out always.
  for (std::size_t metric = 0; metric < fleet.metrics.size(); ++metric) {
    const ComparedMetric& key = fleet.metrics[metric];
    std::vector<std::size_t> with(fleet.groups.size());
    for (const Node& node : fleet.nodes) with[node.group] += node.values[metric].has_value();
    for (std::size_t i = 0; i < fleet.nodes.size(); ++i) {
      const Node& node = fleet.nodes[i];
      if (node.values[metric]) continue;
      std::string why;
      std::string command = work.newest(i).measuring_command;
      for (const NodeRun* run : work.runs[i])
        for (const RunValue& value : run->values)
          if (value.metric == metric && why.empty()) {
            why = fmt::format("{}.{} of its run is {}", key.point, key.metric, value.left_out_for);
            command = run->measuring_command;
          }
      if (why.empty()) {
        const Group& group = fleet.groups[node.group];
        if (!group.judged || 2 * with[node.group] < group.nodes) continue;
        why = fmt::format("its run has no {}.{}", key.point, key.metric);
      }
      fleet.missing.push_back({node.name, why, fmt::format("on {}: {} --only '{}'", node.name, command, key.point)});
    }
  }
}

}  // namespace headrace::fleet
