#include "harness/fleet/fleet.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <sstream>

#include "harness/comparison/row_words.h"
#include "harness/fleet/state.h"
#include "harness/units.h"

namespace headrace::fleet {
namespace {

using statistics::kFewestAlike;
using statistics::kOutlierLimit;
using statistics::Robust;

constexpr int kFail = 10, kInconclusive = 11, kIncomplete = 12;

class Judge {
 public:
  Judge(Collector::State& collected, const Options& options)
      : collected_(collected), options_(options) {}

  Fleet take(std::vector<Unreadable> unreadable) {
    fleet_.delta_rate = options_.delta_rate;
    fleet_.delta_tail = options_.delta_tail;
    fleet_.hosts_file = options_.hosts_file;
    fleet_.unreadable = std::move(unreadable);
    fleet_.metrics = collected_.metrics;
    sort_metrics();
    make_nodes();
    make_groups();
    name_missing();
    for (std::size_t group = 0; group < fleet_.groups.size(); ++group)
      if (fleet_.groups[group].judged) judge_group(group);
    sort_outliers();
    for (PairMatrix& matrix : collected_.pairs)
      fleet_.pairs.push_back(judge_pairs(std::move(matrix)));
    conclude();
    return std::move(fleet_);
  }

 private:
  /// In an order that does not hang on which thread read first.
  void sort_metrics() {
    std::vector<std::size_t> order(fleet_.metrics.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      const MetricKey &x = fleet_.metrics[a], &y = fleet_.metrics[b];
      return std::tie(x.workload, x.point, x.metric, x.params) <
             std::tie(y.workload, y.point, y.metric, y.params);
    });
    std::vector<std::size_t> place(order.size());
    std::vector<MetricKey> sorted;
    for (std::size_t i = 0; i < order.size(); ++i) {
      place[order[i]] = i;
      sorted.push_back(std::move(fleet_.metrics[order[i]]));
    }
    fleet_.metrics = std::move(sorted);
    for (NodeRun& run : collected_.runs)
      for (auto& [metric, value] : run.values) metric = place[metric];
    std::sort(
        collected_.runs.begin(), collected_.runs.end(), [](const NodeRun& a, const NodeRun& b) {
          return std::tie(a.node, a.started_utc, a.path) < std::tie(b.node, b.started_utc, b.path);
        });
  }

  void make_nodes() {
    std::map<std::string, const Host*> hosts;
    for (const Host& host : options_.hosts) hosts[host.name] = &host;
    for (std::size_t i = 0; i < collected_.runs.size();) {
      std::size_t end = i;
      while (end < collected_.runs.size() && collected_.runs[end].node == collected_.runs[i].node)
        ++end;
      const NodeRun& newest = collected_.runs[end - 1];
      Node node;
      node.name = newest.node.empty() ? newest.path : newest.node;
      node.run = newest.run;
      node.path = newest.path;
      node.started_utc = newest.started_utc;
      node.word = newest.word;
      node.runs = static_cast<unsigned>(end - i);
      if (const auto host = hosts.find(node.name); host != hosts.end())
        node.attributes = host->second->attributes;
      node.values.resize(fleet_.metrics.size());
      node.deviation.resize(fleet_.metrics.size());
      for (const auto& [metric, value] : newest.values) node.values[metric] = value;
      fleet_.nodes.push_back(std::move(node));
      first_run_.push_back(i);
      newest_.push_back(end - 1);
      i = end;
    }
    // By where they stand, so that a bad rack shows as a block.
    std::vector<std::size_t> order(fleet_.nodes.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    const auto place = [&](std::size_t i) {
      std::string where;
      for (const auto& [key, value] : fleet_.nodes[i].attributes) where += key + value + "\n";
      return in_order(where);
    };
    std::vector<std::string> places;
    for (std::size_t i = 0; i < order.size(); ++i) places.push_back(place(i));
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return places[a] < places[b]; });
    std::vector<Node> nodes;
    std::vector<std::size_t> first, newest;
    for (const std::size_t i : order) {
      nodes.push_back(std::move(fleet_.nodes[i]));
      first.push_back(first_run_[i]);
      newest.push_back(newest_[i]);
    }
    fleet_.nodes = std::move(nodes);
    first_run_ = std::move(first);
    newest_ = std::move(newest);
  }

  /// With numbers filled up by zeros: r2 comes before r10.
  static std::string in_order(const std::string& text) {
    std::string out, digits;
    const auto flush = [&] {
      if (!digits.empty())
        out += std::string(digits.size() < 12 ? 12 - digits.size() : 0, '0') + digits;
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

  static std::map<std::string, std::string> facts(const std::string& hardware) {
    std::map<std::string, std::string> all;
    std::istringstream lines(hardware);
    for (std::string line; std::getline(lines, line);)
      all[line.substr(0, line.find(' '))] = line.substr(line.find(' ') + 1);
    return all;
  }

  /// Largest first; each told by how it differs from the largest.
  void make_groups() {
    std::map<std::string, std::vector<std::size_t>> by_hardware;
    for (std::size_t i = 0; i < fleet_.nodes.size(); ++i)
      by_hardware[collected_.runs[newest_[i]].hardware].push_back(i);
    std::vector<std::pair<std::string, std::vector<std::size_t>>> sorted(by_hardware.begin(),
                                                                         by_hardware.end());
    std::stable_sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) {
      return a.second.size() > b.second.size();
    });
    const auto usual =
        sorted.empty() ? std::map<std::string, std::string>() : facts(sorted[0].first);
    for (const auto& [hardware, members] : sorted) {
      Group group;
      group.id = fmt::format("g{}", fleet_.groups.size() + 1);
      group.nodes = members.size();
      group.judged = members.size() >= kFewestAlike;
      if (!group.judged)
        group.why = fmt::format(
            "{} of the same hardware and firmware, {} tell what is usual: held "
            "against needs only",
            members.size(), kFewestAlike);
      const auto own = facts(hardware);
      std::set<std::string> keys;
      for (const auto* side : {&own, &usual})
        for (const auto& [key, value] : *side) keys.insert(key);
      for (const std::string& key : keys) {
        const auto a = own.find(key), b = usual.find(key);
        const std::string value = a == own.end() ? "" : a->second,
                          other = b == usual.end() ? "" : b->second;
        if (value != other) group.differs.push_back({key, value, other});
      }
      for (const std::size_t i : members) fleet_.nodes[i].group = fleet_.groups.size();
      fleet_.groups.push_back(std::move(group));
    }
  }

  void name_missing() {
    std::set<std::string> reported, unread;
    for (const Node& node : fleet_.nodes) reported.insert(node.name);
    for (const Unreadable& one : fleet_.unreadable) unread.insert(one.node);
    const std::string config = collected_.runs.empty() ? "" : collected_.runs.front().config_file;
    for (const Host& host : options_.hosts) {
      if (reported.contains(host.name)) continue;
      fleet_.missing.push_back(
          {host.name,
           unread.contains(host.name) ? "its run cannot be read" : "expected, and no run was found",
           fmt::format("on {}: headrace run -c {}", host.name,
                       config.empty() ? "CONFIG" : config)});
    }
    fleet_.expected = options_.hosts.empty() ? fleet_.nodes.size() + fleet_.unreadable.size()
                                             : options_.hosts.size();
    // A value that most of the like have is missed where it is not.
    for (std::size_t metric = 0; metric < fleet_.metrics.size(); ++metric) {
      std::vector<std::size_t> with(fleet_.groups.size());
      for (const Node& node : fleet_.nodes) with[node.group] += node.values[metric].has_value();
      for (const Node& node : fleet_.nodes) {
        if (node.values[metric] || !fleet_.groups[node.group].judged ||
            2 * with[node.group] < fleet_.groups[node.group].nodes)
          continue;
        const MetricKey& key = fleet_.metrics[metric];
        fleet_.missing.push_back({node.name,
                                  fmt::format("its run has no {}.{}", key.point, key.metric),
                                  fmt::format("on {}: headrace run -c {} --only '{}'", node.name,
                                              config.empty() ? "CONFIG" : config, key.point)});
      }
    }
  }

  void judge_group(std::size_t group) {
    std::vector<std::size_t> members;
    for (std::size_t i = 0; i < fleet_.nodes.size(); ++i)
      if (fleet_.nodes[i].group == group) members.push_back(i);
    for (std::size_t metric = 0; metric < fleet_.metrics.size(); ++metric) {
      std::vector<double> values;
      std::vector<std::size_t> having;
      for (const std::size_t i : members) {
        if (!fleet_.nodes[i].values[metric]) continue;
        values.push_back(*fleet_.nodes[i].values[metric]);
        having.push_back(i);
      }
      if (values.size() < kFewestAlike) continue;
      judge_metric(group, metric, having, values);
    }
  }

  void judge_metric(std::size_t group, std::size_t metric, const std::vector<std::size_t>& having,
                    const std::vector<double>& values) {
    const MetricKey& key = fleet_.metrics[metric];
    Robust usual = statistics::robust(values);
    // The shift of a rack is its own finding, and no fault of each of its nodes.
    std::map<std::size_t, double> shift;
    for (const auto& [name, effect] : group_effects(fleet_, metric, having)) {
      for (const std::size_t i : effect.nodes) shift[i] = effect.shift;
      fleet_.effects.push_back(effect);
    }
    std::vector<double> levelled;
    for (std::size_t n = 0; n < having.size(); ++n) {
      const auto found = shift.find(having[n]);
      levelled.push_back(found == shift.end() ? values[n] : values[n] / (1 + found->second));
    }
    if (!shift.empty()) usual = statistics::robust(levelled);
    Limit limit;
    limit.group = group;
    limit.metric = metric;
    limit.nodes = values.size();
    limit.usual = usual;
    const double away = kOutlierLimit * usual.spread;
    if (key.better == Better::higher)
      limit.low = std::min(usual.median - away, usual.median / (1 + key.delta));
    else
      limit.high = std::max(usual.median + away, usual.median * (1 + key.delta));
    fleet_.limits.push_back(limit);
    for (std::size_t n = 0; n < having.size(); ++n) {
      Node& node = fleet_.nodes[having[n]];
      node.deviation[metric] = usual.median != 0 ? levelled[n] / usual.median - 1 : 0;
      const bool out = limit.low ? levelled[n] < *limit.low : levelled[n] > *limit.high;
      if (out)
        add_outlier(having[n], metric, levelled[n], values[n], usual, limit,
                    shift.contains(having[n]) ? shift[having[n]] : 0);
    }
  }

  void add_outlier(std::size_t node, std::size_t metric, double levelled, double value,
                   const Robust& usual, const Limit& limit, double shift) {
    const MetricKey& key = fleet_.metrics[metric];
    Outlier one;
    one.node = node;
    one.metric = metric;
    one.value = value;
    one.median = usual.median;
    one.deviation = levelled / usual.median - 1;
    one.z = usual.z(levelled);
    // Any other run of the node says whether it is so again; the one before is the nearest.
    for (std::size_t r = newest_[node]; r-- > first_run_[node];) {
      const NodeRun& other = collected_.runs[r];
      if (other.hardware != collected_.runs[newest_[node]].hardware) continue;
      const auto found = std::find_if(other.values.begin(), other.values.end(),
                                      [&](const auto& v) { return v.first == metric; });
      if (found == other.values.end()) continue;
      const double again = found->second / (1 + shift);
      one.again = found->second;
      one.again_run = other.run;
      const bool out = limit.low ? again < *limit.low : again > *limit.high;
      one.status = out ? Status::confirmed : Status::passing;
      break;
    }
    const Node& n = fleet_.nodes[node];
    const std::string what =
        fmt::format("{} of {}: {}, usual {} ({}, {:.1f} robust deviations)", key.metric, key.point,
                    format_in_unit(value, key.unit), format_in_unit(usual.median, key.unit),
                    comparison::change_text(1 + one.deviation), one.z);
    switch (one.status) {
      case Status::confirmed:
        one.explanation =
            fmt::format("{}; {} in another run.", what, format_in_unit(*one.again, key.unit));
        one.next_step = fmt::format("Take {} out and look at it: headrace doctor", n.name);
        break;
      case Status::passing:
        one.explanation =
            fmt::format("{}; usual in another run, {}: passing, not held against the node.", what,
                        format_in_unit(*one.again, key.unit));
        break;
      case Status::suspected:
        one.explanation = what + "; nobody measured it again.";
        one.next_step = fmt::format("on {}: headrace run -c {} --only '{}'", n.name,
                                    config_of(node), key.point);
        break;
    }
    fleet_.outliers.push_back(std::move(one));
  }

  std::string config_of(std::size_t node) const {
    const std::string& file = collected_.runs[newest_[node]].config_file;
    return file.empty() ? "CONFIG" : file;
  }

  void sort_outliers() {
    std::stable_sort(
        fleet_.outliers.begin(), fleet_.outliers.end(), [](const Outlier& a, const Outlier& b) {
          return a.status != b.status ? a.status < b.status : std::abs(a.z) > std::abs(b.z);
        });
  }

  void conclude() {
    Fleet& f = fleet_;
    f.reported = f.nodes.size();
    std::vector<const NodeRun*> runs;
    for (const std::size_t run : newest_) runs.push_back(&collected_.runs[run]);
    f.noise = noise_of(runs);
    for (std::size_t i = 0; i < f.nodes.size(); ++i) {
      f.needs_failed += collected_.runs[newest_[i]].needs_failed;
      f.judged += f.groups[f.nodes[i].group].judged || f.nodes[i].word == "PASS" ||
                  f.nodes[i].word == "FAIL";
    }
    const std::size_t confirmed = f.count(Status::confirmed),
                      suspected = f.count(Status::suspected);
    std::size_t blamed = 0, links = 0;
    for (const JudgedPairs& pairs : f.pairs) {
      blamed += pairs.blamed.size();
      links += pairs.links.size();
    }
    if (confirmed > 0 || !f.effects.empty() || f.needs_failed > 0 || blamed > 0) {
      f.word = "FAIL";
      f.exit_code = kFail;
    } else if (suspected > 0 || links > 0) {
      f.word = "INCONCLUSIVE";
      f.exit_code = kInconclusive;
    } else if (!f.missing.empty() || !f.unreadable.empty() || f.judged < f.reported ||
               f.reported == 0) {
      f.word = "INCOMPLETE";
      f.exit_code = kIncomplete;
    } else {
      f.word = "PASS";
    }
    f.sentence = fmt::format("{} judged of {}", f.judged, f.expected);
    const auto say = [&](std::size_t n, const char* one, const char* many) {
      if (n > 0) f.sentence += fmt::format("; {} {}", n, n == 1 ? one : many);
    };
    say(nodes_of(Status::confirmed), "node is an outlier, confirmed",
        "nodes are outliers, confirmed");
    say(nodes_of(Status::suspected), "node is suspected", "nodes are suspected");
    say(f.effects.size(), "group effect", "group effects");
    say(f.needs_failed, "node misses needs of its own", "nodes miss needs of their own");
    say(blamed, "node is slow with its partners", "nodes are slow with their partners");
    say(links, "slow link", "slow links");
    say(absent(), "node is missing", "nodes are missing");
    if (f.word == "PASS") f.sentence += "; nothing stands out";
    f.sentence += ".";
  }

  std::size_t nodes_of(Status status) const {
    std::set<std::size_t> nodes;
    for (const Outlier& one : fleet_.outliers)
      if (one.status == status) nodes.insert(one.node);
    return nodes.size();
  }

  std::size_t absent() const {
    return fleet_.expected > fleet_.reported ? fleet_.expected - fleet_.reported : 0;
  }

  Collector::State& collected_;
  const Options& options_;
  Fleet fleet_;
  std::vector<std::size_t> first_run_, newest_;  // of each node, in the sorted runs
};

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

std::size_t Fleet::count(Status status) const {
  return static_cast<std::size_t>(std::count_if(
      outliers.begin(), outliers.end(), [&](const Outlier& o) { return o.status == status; }));
}

Fleet judge(Collector& collected, std::vector<Unreadable> unreadable, const Options& options) {
  return Judge(collected.state(), options).take(std::move(unreadable));
}

}  // namespace headrace::fleet
