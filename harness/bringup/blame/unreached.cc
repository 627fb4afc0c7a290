#include "harness/bringup/blame/unreached.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <set>

#include "harness/base/error.h"
#include "harness/bringup/network/tcp_pair.h"
#include "harness/bringup/rails.h"
#include "harness/machine/network/host_list.h"

namespace headrace::bringup {
namespace {

using Kind = ConnectionFault::Kind;

constexpr std::size_t kPartners = 3;  // that each node tries before a rail is given up
constexpr const char* kOpenFirewalls =
    "let the hosts accept TCP connections from one another at all ports: firewalls (nft list ruleset, iptables -S, "
    "firewall-cmd --list-all), security groups; then look at routes and the rail's switch";
constexpr const char* kLookAtRdma =
    "look at what all nodes share: limits on locked memory, UDP port 4791, the subnet manager; where RDMA is not to be "
    "used, --no-rdma";

constexpr const char* kCompareMtu =
    "give all hosts an MTU that every switch port passes (ip link set INTERFACE mtu 1500), or raise the MTU of the "
    "switch ports";
constexpr const char* kLookAtAddress = "correct its address, netmask and routes: ip addr, ip route";
constexpr const char* kLookAtHosts =
    "correct the hosts file, or the hosts: rail=, port=, and the interfaces of ip link";
constexpr const char* kRaiseLimit =
    "raise the limit for what the launcher starts: /etc/security/limits.d, TasksMax= or LimitNOFILE= of its service, "
    "pids.max of its control group";

/// Of a host that fails by itself.
const char* mended_by(const std::string& why) { return why.find("ulimit") != why.npos ? kRaiseLimit : kLookAtHosts; }

}  // namespace

Unreached::Unreached(const Record& record)
    : record_(record), rails_(rails(record)), met_(rails_.size()), lossy_(rails_.size()) {}

void Unreached::measured(const PairMeasured& one, bool one_way) {
  met_[one.rail].insert(std::minmax({one.a, one.b}));
  for (const auto& [from, to] : {std::pair(one.a, one.b), std::pair(one.b, one.a)})
    if (!one_way || one.caller == from) rails_[one.rail].worked(from, to);
}

void Unreached::measured_before(const PairMeasured& one) {
  for (const unsigned node : {one.a, one.b}) rails_[one.rail].known(node);
}

void Unreached::failed(const FailedPair& one) {
  met_[one.rail].insert(std::minmax({one.a, one.b}));
  if (one.why.find(kFullPacketsLost) != one.why.npos) lossy_[one.rail].insert(std::minmax({one.a, one.b}));
  for (const unsigned node : {one.a, one.b})
    if (std::find(one.own.begin(), one.own.end(), node) == one.own.end()) opened_.emplace(node, one.rail);
  for (const unsigned node : one.own) {
    OwnFailures& own = own_[{node, one.rail}];
    ++own.count;
    own.why = one.why;
  }
  if (!one.own.empty()) return;
  Connections& rail = rails_[one.rail];
  if (one.caller)
    rail.failed(*one.caller, *one.caller == one.a ? one.b : one.a, one.why);
  else
    rail.failed_both(one.a, one.b, one.why, one.damaged ? kTwice : 1);
}

unsigned Unreached::failures(const FailedPair& one) const {
  unsigned most = rails_[one.rail].failures(one.a, one.b);
  for (const unsigned node : one.own) most = std::max(most, own_.at({node, one.rail}).count);
  return most;
}

unsigned Unreached::caller(unsigned a, unsigned b, unsigned rail) const {
  const Connections& of = rails_[rail];
  if (of.fails(a, b) && of.fails(b, a)) return of.failures(a, b) % 2 == 0 ? a : b;
  if (of.fails(a, b)) return b;
  return (a + b) % 2 == 0 || of.fails(b, a) ? a : b;  // each node calls some and is called by others
}

std::vector<unsigned> Unreached::with_rail(const std::vector<unsigned>& there, unsigned rail) const {
  std::vector<unsigned> all;
  for (const unsigned node : there)
    if (has_rail(record_, node, rail)) all.push_back(node);
  return all;
}

/// A failure of every node that tried is no fault of one of them.
bool Unreached::all_fail_by_themselves(unsigned rail) const {
  std::size_t failing = 0;
  for (const auto& [end, own] : own_) failing += end.second == rail && own.count >= kTwice;
  return failing >= kTwice && !rails_[rail].any_worked() &&
         std::none_of(opened_.begin(), opened_.end(), [&](const auto& end) { return end.second == rail; });
}

/// Most pairs do, and no host is in all of them. Then it is the network, even if a pair gets through once.
bool Unreached::loses_full_packets(unsigned rail) const {
  const auto& lossy = lossy_[rail];
  const auto in_all = [&](unsigned node) {
    return std::ranges::all_of(lossy, [&](const auto& pair) { return pair.first == node || pair.second == node; });
  };
  return 2 * lossy.size() > met_[rail].size() && !in_all(lossy.begin()->first) && !in_all(lossy.begin()->second);
}

bool Unreached::is_dead(unsigned rail, const std::vector<unsigned>& there) const {
  if (all_fail_by_themselves(rail) || loses_full_packets(rail)) return true;
  const auto found = rails_[rail].faults(with_rail(there, rail), kTwice);
  return !found.empty() && found.front().kind == Kind::nobody;
}

bool Unreached::all_tried(unsigned rail, const std::vector<unsigned>& there) const {
  const std::vector<unsigned> nodes = with_rail(there, rail);
  return std::all_of(nodes.begin(), nodes.end(), [&](unsigned node) {
    return own_.contains({node, rail}) || rails_[rail].partners_failed(node) >= std::min(kPartners, nodes.size() - 1);
  });
}

std::string Unreached::names(const std::vector<unsigned>& nodes) const { return compressed(record_.names_of(nodes)); }

const char* Unreached::network(unsigned rail) const { return is_rdma(record_, rail) ? "RDMA" : "TCP"; }

Broken Unreached::of_host(const ConnectionFault& fault, unsigned rail) const {
  Broken one{{Finding::Scope::nic, fault.a, 0, rail, 0, {}}, ""};
  const std::string others = names(fault.others), name = record_.nodes[fault.a].host.name;
  if (fault.kind == Kind::closed) {
    one.why = in_words_closed(others, fault.why);
    one.fix = fmt::format("{}; then --retest {}", kOpenFirewall, name);
    one.brief = "incoming connections are blocked";
  } else if (fault.kind == Kind::cannot_call) {
    one.why = in_words_cannot_call(others, fault.why);
    one.fix = fmt::format("{}; then --retest {}", kLetOut, name);
    one.brief = "outgoing connections are blocked";
  } else {
    one.why = fmt::format("{} fails with {} ({})", network(rail), others, fault.why);
  }
  if (fault.why.find(errno_text(ENETUNREACH)) != fault.why.npos)
    one.fix = fmt::format("{}; then --retest {}", kLookAtAddress, name);
  return one;
}

Broken Unreached::of_path(const ConnectionFault& fault, unsigned rail) const {
  const auto name = [&](unsigned node) { return record_.nodes[node].host.name; };
  const std::string why = fault.one_way ? in_words_one_way(name(fault.a), name(fault.b), fault.why) : fault.why;
  return {{Finding::Scope::link, std::min(fault.a, fault.b), std::max(fault.a, fault.b), rail, 0, {}}, why};
}

Broken Unreached::dead(unsigned rail, const std::vector<unsigned>& there) const {
  Broken one{{Finding::Scope::shared, 0, 0, rail, 0, {}}, ""};
  const auto found = rails_[rail].faults(with_rail(there, rail), kTwice);
  std::string why = found.empty() ? "" : found.front().why;
  for (const auto& [end, own] : own_)
    if (end.second == rail) why = own.why;
  const bool alone = all_fail_by_themselves(rail), lossy = !alone && loses_full_packets(rail);
  one.why = lossy   ? fmt::format("{} between most hosts", kFullPacketsLost)
            : alone ? fmt::format("every host fails by itself: {}", why)
                    : fmt::format("no host can connect to any other: {}", why);
  one.fix = lossy ? kCompareMtu : is_rdma(record_, rail) ? kLookAtRdma : alone ? mended_by(why) : kOpenFirewalls;
  return one;
}

std::vector<Unreached::End> Unreached::ends_of(unsigned rail, const std::vector<unsigned>& there) const {
  std::vector<End> all;
  if (is_dead(rail, there)) return all;
  for (const unsigned node : there) {
    const auto own = own_.find({node, rail});
    if (own == own_.end() || own->second.count < kTwice) continue;
    Broken one{{Finding::Scope::nic, node, 0, rail, 0, {}}, "it fails by itself: " + own->second.why};
    one.brief = kFailsByItself;
    one.fix = fmt::format("{}; then --retest {}", mended_by(own->second.why), record_.nodes[node].host.name);
    all.push_back({node, rail, std::move(one)});
  }
  for (const ConnectionFault& fault : rails_[rail].faults(with_rail(there, rail), kTwice))
    if (fault.kind != Kind::path) all.push_back({fault.a, rail, of_host(fault, rail), fault.kind != Kind::cut_off});
  return all;
}

std::vector<std::pair<unsigned, unsigned>> Unreached::given_up(const std::vector<unsigned>& there) const {
  std::vector<std::pair<unsigned, unsigned>> all;
  for (unsigned rail = 0; rail < rails_.size(); ++rail) {
    if (is_dead(rail, there) && all_tried(rail, there))
      for (unsigned node = 0; node < record_.nodes.size(); ++node) all.emplace_back(node, rail);
    for (const End& end : ends_of(rail, there)) all.emplace_back(end.node, rail);
  }
  return all;
}

std::vector<Broken> Unreached::broken(const std::vector<unsigned>& there) const {
  std::vector<Broken> all, links, shared;
  std::map<unsigned, std::vector<End>> of_node;
  std::set<unsigned> dead_rails;
  for (unsigned rail = 0; rail < rails_.size(); ++rail) {
    if (is_dead(rail, there)) {
      dead_rails.insert(rail);
      shared.push_back(dead(rail, there));
      continue;
    }
    for (End& end : ends_of(rail, there)) of_node[end.node].push_back(std::move(end));
    for (const ConnectionFault& fault : rails_[rail].faults(with_rail(there, rail), kTwice))
      if (fault.kind == Kind::path) links.push_back(of_path(fault, rail));
  }
  for (auto& [node, ends] : of_node) {
    std::size_t tried = 0, by_tcp = 0, host_by_tcp = 0;
    for (unsigned rail = 0; rail < rails_.size(); ++rail) {
      const bool counts = has_rail(record_, node, rail) && !dead_rails.contains(rail);
      tried += counts;
      by_tcp += counts && !is_rdma(record_, rail);
    }
    std::set<unsigned> failing;
    for (const End& end : ends) {
      failing.insert(end.rail);
      host_by_tcp += end.of_node && !is_rdma(record_, end.rail);
    }
    const bool whole = failing.size() == tried || (by_tcp > 0 && host_by_tcp == by_tcp);
    for (End& end : ends) {
      if (whole) end.broken.fault.scope = Finding::Scope::node, end.broken.fault.rail = 0;
      all.push_back(std::move(end.broken));
      if (whole) break;
    }
  }
  for (std::vector<Broken>* more : {&links, &shared}) all.insert(all.end(), more->begin(), more->end());
  return all;
}

}  // namespace headrace::bringup
