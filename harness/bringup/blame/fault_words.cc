#include "harness/bringup/blame/fault_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <set>

#include "harness/base/median.h"
#include "harness/base/units.h"
#include "harness/bringup/rails.h"
#include "harness/record/pair_matrix.h"

namespace headrace::bringup {
namespace {

std::string rate(double value) { return format_quantity(value, Dimension::bytes_per_second); }
std::string seconds(double value) { return format_quantity(value, Dimension::seconds); }
std::string share(double value) { return fmt::format("{:.3g} %", 100 * value); }

template <class Value>
std::vector<double> map(const std::vector<const PairMeasured*>& pairs, Value value) {
  std::vector<double> all;
  for (const PairMeasured* one : pairs) all.push_back(std::invoke(value, *one));
  return all;
}

double way(unsigned node, const std::vector<const PairMeasured*>& of, bool sends) {
  std::vector<double> all;
  for (const PairMeasured* one : of) all.push_back(one->rate[(one->a == node) == sends ? 0 : 1]);
  return statistics::median(all);
}

}  // namespace

FaultWords::FaultWords(const Record& record, const Judged& judged) : record_(record), judged_(judged) {
  const Replay replay(record);
  for (std::size_t s = 0; s < record.sessions.size(); ++s)
    for (const RoundRecord& round : record.sessions[s].rounds)
      for (const PairMeasured& one : round.pairs)
        if (replay.counts(s, one)) pairs_.push_back(&one);
  accused_.resize(record.nodes.size(), false);
  for (const Fault& fault : judged.evidence.faults())
    if (fault.scope == Finding::Scope::node || fault.scope == Finding::Scope::nic) accused_[fault.a] = true;
}

bool FaultWords::enough() const {
  std::set<unsigned> nodes;
  for (const PairMeasured* one : pairs_) nodes.insert({one->a, one->b});
  return nodes.size() >= kFewestNodes;
}

NamedFault FaultWords::describe(const Fault& fault) const {
  NamedFault out;
  out.fault = fault;
  name(out);
  for (const Quality quality : fault.in) {
    // What loses by several rails is reported about by the one where it loses most.
    OnRail worst;
    for (unsigned rail = 0; rail < rails(record_); ++rail)
      if (OnRail one = on_rail(fault, quality, rail); !one.of.empty() && (worst.of.empty() || one.times > worst.times))
        worst = std::move(one);
    if (worst.of.empty()) continue;
    out.text += (out.text.empty() ? "" : "; ") + sentence(fault, quality, worst);
    if (quality == Quality::rate) out.loss = worst.usual > 0 ? std::max(0.0, 1 - worst.own / worst.usual) : 0;
  }
  return out;
}

NamedFault FaultWords::describe(const Broken& broken) const {
  NamedFault out;
  out.fault = broken.fault;
  name(out);
  out.text = broken.why;
  out.brief = broken.brief;
  if (out.fault.scope == Finding::Scope::shared) {
    out.subject = rail_name(record_, 0, out.fault.rail);
    out.scope = out.subject.empty() ? "network" : "rail";
    if (out.subject.empty()) out.subject = "TCP";
  }
  if (out.fault.scope == Finding::Scope::link) out.fix = fmt::format("both get through elsewhere: {}", kLookAtWay);
  if (!broken.fix.empty()) out.fix = broken.fix;
  return out;
}

NamedFault FaultWords::describe(unsigned node) const {
  NamedFault out;
  out.fault = {Finding::Scope::node, node, 0, 0, 0, {}};
  out.scope = "node";
  out.subject = record_.nodes[node].host.name;
  for (const Difference& one : record_.nodes[node].differences) {
    if (!one.fault) continue;
    out.text += (out.text.empty() ? "" : "; ") + one.reported;
    if (out.fix.find(one.fix) == out.fix.npos) out.fix += (out.fix.empty() ? "" : "; ") + one.fix;
  }
  return out;
}

void FaultWords::name(NamedFault& out) const {
  const Fault& fault = out.fault;
  switch (fault.scope) {
    case Finding::Scope::node:
      out.scope = "node";
      out.subject = node(fault.a);
      out.fix = fmt::format("drain it; {}; then --retest {}", kLookAtNode, out.subject);
      return;
    case Finding::Scope::nic:
      out.scope = "NIC";
      out.subject = end_name(record_, fault.a, fault.rail);
      out.fix = fmt::format("look at its cable, its port and its counters ({}); then --retest {}",
                            is_rdma(record_, fault.rail) ? "rdma statistic, perfquery" : "ethtool -S", node(fault.a));
      return;
    case Finding::Scope::link:
      out.scope = "link";
      out.subject = end_name(record_, fault.a, fault.rail) + " to " + end_name(record_, fault.b, fault.rail);
      out.fix = fmt::format("both are as fast as others with others: {}", kLookAtWay);
      return;
    case Finding::Scope::switch_fabric:
      out.scope = record_.switches[fault.a].substr(0, record_.switches[fault.a].find(' '));
      out.subject = record_.switches[fault.a].substr(out.scope.size() + 1);
      out.fix = "look at its uplinks and their counters, and at what its nodes share";
      return;
    case Finding::Scope::shared:  // the part that finds it names it
      return;
  }
}

bool FaultWords::concerns(const Fault& fault, const PairMeasured& one) const {
  const auto has = [&](unsigned wanted) { return one.a == wanted || one.b == wanted; };
  const auto other = [&](unsigned than) { return one.a == than ? one.b : one.a; };
  const auto of_switch = [&](unsigned wanted) {
    const auto& leaf = [&](unsigned n) -> const std::string& {
      return record_.nodes[n].host.leaf_switch.empty() ? record_.nodes[n].host.rack : record_.nodes[n].host.leaf_switch;
    };
    const std::string name = record_.switches[wanted].substr(record_.switches[wanted].find(' ') + 1);
    return (leaf(one.a) == name) != (leaf(one.b) == name);
  };
  switch (fault.scope) {
    case Finding::Scope::node:
      return has(fault.a) && !accused_[other(fault.a)];
    case Finding::Scope::nic:
      return one.rail == fault.rail && has(fault.a) && !accused_[other(fault.a)];
    case Finding::Scope::link:
      return one.rail == fault.rail && has(fault.a) && has(fault.b);
    case Finding::Scope::switch_fabric:
      return of_switch(fault.a);
    case Finding::Scope::shared:
      break;
  }
  return false;
}

FaultWords::OnRail FaultWords::on_rail(const Fault& fault, Quality quality, unsigned rail) const {
  OnRail on;
  on.rail = rail;
  std::vector<const PairMeasured*> others;
  for (const PairMeasured* one : pairs_) {
    if (one->rail != rail) continue;
    if (concerns(fault, *one))
      on.of.push_back(one);
    else if (!accused_[one->a] && !accused_[one->b])
      others.push_back(one);
  }
  const auto value = quality == Quality::rate      ? &PairMeasured::slower
                     : quality == Quality::latency ? &PairMeasured::least
                                                   : &PairMeasured::more_resent;
  on.own = statistics::median(map(on.of, value));
  on.usual = quality == Quality::rate ? judged_.evidence.usual_rate(rail) : statistics::median(map(others, value));
  const double above = std::max(quality == Quality::rate ? on.own : on.usual, 1e-12);
  on.times = (quality == Quality::rate ? on.usual : on.own) / above;
  return on;
}

std::string FaultWords::sentence(const Fault& fault, Quality quality, const OnRail& on) const {
  const bool several = fault.scope == Finding::Scope::node || fault.scope == Finding::Scope::switch_fabric;
  const std::string name = several ? rail_name(record_, on.of.front()->a, on.rail) : "";
  const std::string pairs =
      fmt::format("in {} pair{}{}", on.of.size(), on.of.size() == 1 ? "" : "s", name.empty() ? "" : " by " + name);
  switch (quality) {
    case Quality::rate: {
      std::string text = fmt::format("{} {}, {:.0f} % below the usual {}", rate(on.own), pairs,
                                     on.usual > 0 ? 100 * (1 - on.own / on.usual) : 0, rate(on.usual));
      if (fault.scope == Finding::Scope::node || fault.scope == Finding::Scope::nic)
        text += fmt::format(" (in the slower direction of each pair; it sends {}, receives {})",
                            rate(way(fault.a, on.of, true)), rate(way(fault.a, on.of, false)));
      return text;
    }
    case Quality::latency:
      return fmt::format("latency {} at the least {}, usually {}", seconds(on.own), pairs, seconds(on.usual));
    case Quality::resent:
      return fmt::format("{} of the {} sent again {}, usually {}", share(on.own),
                         is_rdma(record_, on.rail) ? "packets" : "segments", pairs, share(on.usual));
  }
  return "";
}

}  // namespace headrace::bringup
