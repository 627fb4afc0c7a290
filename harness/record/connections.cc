#include "harness/record/connections.h"

#include <fmt/format.h>

#include <algorithm>

namespace headrace {
namespace {

using Kind = ConnectionFault::Kind;

constexpr std::size_t kWitnesses = 2;      // hosts whose attempts count, as they work elsewhere
constexpr std::size_t kManyWitnesses = 3;  // where one host does get through, as a firewall lets the head node

/// One host is an end of each pair, so that it may explain all of them.
bool share_a_host(const std::vector<std::pair<unsigned, unsigned>>& pairs) {
  const auto in_all = [&](unsigned host) {
    return std::all_of(pairs.begin(), pairs.end(),
                       [&](const auto& pair) { return pair.first == host || pair.second == host; });
  };
  return pairs.empty() || in_all(pairs.front().first) || in_all(pairs.front().second);
}

}  // namespace

std::string in_words_closed(const std::string& others, const std::string& why) {
  return fmt::format("incoming connections are blocked: it can connect to others, and {} cannot connect to it ({})",
                     others, why);
}
std::string in_words_cannot_call(const std::string& others, const std::string& why) {
  return fmt::format("outgoing connections are blocked: others can connect to it, and it cannot connect to {} ({})",
                     others, why);
}
std::string in_words_one_way(const std::string& from, const std::string& to, const std::string& why) {
  return fmt::format("{} cannot connect to {}, the other way works ({})", from, to, why);
}

void Connections::worked(unsigned from, unsigned to) {
  ways_[{from, to}].works = true;
  ways_worked_.emplace(from, to);
  ends_[from].reached.insert(to);
  ends_[from].not_reached.erase(to);
  ends_[to].reached_by.insert(from);
  ends_[to].not_reached_by.erase(from);
  in_play_.insert({from, to});
}

void Connections::note_failure(unsigned from, unsigned to, const std::string& why, unsigned times) {
  Way& way = ways_[{from, to}];
  way.failures += times;
  way.works = false;
  way.why = why;
  if (ways_worked_.contains({from, to})) return;
  ends_[from].not_reached.insert(to);
  ends_[to].not_reached_by.insert(from);
}

void Connections::failed(unsigned from, unsigned to, const std::string& why) {
  note_failure(from, to, why, 1);
  ++failures_[std::minmax(from, to)];
}

void Connections::failed_both(unsigned a, unsigned b, const std::string& why, unsigned times) {
  note_failure(a, b, why, times);
  note_failure(b, a, why, times);
  ways_[{a, b}].assumed = ways_[{b, a}].assumed = true;
  failures_[std::minmax(a, b)] += times;
}

unsigned Connections::failures(unsigned a, unsigned b) const {
  const auto at = failures_.find(std::minmax(a, b));
  return at == failures_.end() ? 0 : at->second;
}

bool Connections::fails(unsigned from, unsigned to) const {
  const auto at = ways_.find({from, to});
  return at != ways_.end() && !at->second.works;
}

const Connections::Ends& Connections::ends(unsigned host) const {
  static const Ends kNone;
  const auto at = ends_.find(host);
  return at == ends_.end() ? kNone : at->second;
}

std::set<unsigned> Connections::not_met(unsigned host) const {
  std::set<unsigned> partners = ends(host).not_reached;
  partners.insert(ends(host).not_reached_by.begin(), ends(host).not_reached_by.end());
  return partners;
}

std::size_t Connections::partners_failed(unsigned host) const { return not_met(host).size(); }

/// Two hosts or more get through to it. Those that let one host in say nothing of each other.
bool Connections::is_open(unsigned host) const {
  return ends(host).reached_by.size() >= kWitnesses || known_.contains(host);
}

bool Connections::nobody(const std::vector<unsigned>& hosts, unsigned times) const {
  if (any_worked()) return false;
  std::vector<Pair> pairs;
  for (const auto& [pair, count] : failures_)
    if (count >= times) pairs.push_back(pair);
  return !share_a_host(pairs) || (hosts.size() == 2 && !pairs.empty());
}

/// Every host is among `others`, but those that fail with several and work with none.
bool Connections::all_tried(unsigned host, const std::set<unsigned>& others, const std::vector<unsigned>& hosts) const {
  return std::ranges::all_of(hosts, [&](unsigned one) {
    return one == host || others.contains(one) || (!in_play_.contains(one) && not_met(one).size() >= kWitnesses);
  });
}

unsigned Connections::failures_towards(unsigned host) const {
  unsigned sum = 0;
  for (const unsigned from : ends(host).not_reached_by) sum += ways_.at({from, host}).failures;
  return sum;
}

unsigned Connections::failures_of(unsigned host) const {
  unsigned sum = 0;
  for (const unsigned to : ends(host).not_reached) sum += ways_.at({host, to}).failures;
  return sum;
}

bool Connections::is_closed(unsigned host, const std::vector<unsigned>& hosts, unsigned times) const {
  const Ends& own = ends(host);
  if (own.reached.empty()) return false;
  if (own.reached_by.size() == 1 && lets_one_in(host, hosts, times)) return true;
  if (!own.reached_by.empty() || own.not_reached_by.empty() || failures_towards(host) < times) return false;
  return callers_that_fail(host) >= kWitnesses || all_tried(host, own.not_reached_by, hosts);
}

/// One of several that let the same host in, and met few of the others.
bool Connections::is_closed_as(const std::set<unsigned>& closed, unsigned host,
                               const std::vector<unsigned>& hosts) const {
  const Ends& own = ends(host);
  if (own.reached.empty() || own.reached_by.size() != 1) return false;
  std::set<unsigned> callers = own.not_reached_by;
  std::erase_if(callers, [&](unsigned from) { return ends(from).reached.empty() || ways_.at({from, host}).assumed; });
  const auto alike = std::ranges::count_if(
      closed, [&](unsigned one) { return std::ranges::includes(own.reached_by, ends(one).reached_by); });
  if (callers.size() != 1) return callers.size() >= kWitnesses && alike > 0;
  std::set<unsigned> others = closed;
  const unsigned caller = *callers.begin();
  others.insert({*own.reached_by.begin(), caller});
  const bool by_one_of_them = closed.contains(caller) && ends(caller).reached_by == own.reached_by;
  return (alike > 1 || by_one_of_them) && all_tried(host, others, hosts);
}

/// A host that cannot call any other proves nothing of the hosts that it calls.
std::size_t Connections::callers_that_fail(unsigned host) const {
  return static_cast<std::size_t>(std::ranges::count_if(
      ends(host).not_reached_by, [&](unsigned from) { return !ends(from).reached.empty() || known_.contains(from); }));
}

/// It calls a host that cannot call it; or all that fail with it let the same host in.
/// Firewalls of one cluster often do.
bool Connections::lets_one_in(unsigned host, const std::vector<unsigned>& hosts, unsigned times) const {
  const Ends& own = ends(host);
  const std::size_t enough = std::min(kManyWitnesses, hosts.size() - 2);  // without the one that gets through
  const bool one_way =
      std::ranges::any_of(own.not_reached_by, [&](unsigned other) { return own.reached.contains(other); });
  if (one_way && failures_towards(host) >= times && callers_that_fail(host) >= std::max(enough, kWitnesses))
    return true;
  const std::set<unsigned> failed = not_met(host);
  std::set<unsigned> alike = failed;
  std::erase_if(alike, [&](unsigned other) {
    const auto at = ways_.find({other, host});
    const bool assumed = at != ways_.end() && at->second.assumed;
    return assumed || !in_play_.contains(other) || own.reached.contains(other);
  });
  return failures_towards(host) + failures_of(host) >= times && failed.size() >= enough && alike.size() >= kWitnesses &&
         std::ranges::all_of(
             alike, [&](unsigned other) { return std::ranges::includes(own.reached_by, ends(other).reached_by); });
}

bool Connections::cannot_call(unsigned host, const std::vector<unsigned>& hosts, unsigned times) const {
  const Ends& own = ends(host);
  if (!own.reached.empty() || own.reached_by.empty() || failures_of(host) < times) return false;
  std::set<unsigned> witnesses = own.not_reached;
  std::erase_if(witnesses, [&](unsigned to) { return ends(to).reached_by.empty() && !known_.contains(to); });
  return !witnesses.empty() && are_enough(witnesses, host, hosts);
}

/// Two of them are open to others, or there is no other that calls and is called.
bool Connections::are_enough(const std::set<unsigned>& witnesses, unsigned host,
                             const std::vector<unsigned>& hosts) const {
  const auto open = [&](unsigned one) { return is_open(one); };
  const auto works = [&](unsigned one) { return !ends(one).reached.empty() && !ends(one).reached_by.empty(); };
  if (std::ranges::count_if(witnesses, open) >= 2 || all_tried(host, witnesses, hosts)) return true;
  return std::ranges::any_of(witnesses, works) && std::ranges::all_of(hosts, [&](unsigned other) {
           return other == host || witnesses.contains(other) || !works(other);
         });
}

bool Connections::is_cut_off(unsigned host, const std::vector<unsigned>& hosts) const {
  const Ends& own = ends(host);
  if (!own.reached.empty() || !own.reached_by.empty()) return false;
  std::set<unsigned> witnesses = not_met(host);
  std::erase_if(witnesses, [&](unsigned other) { return !in_play_.contains(other); });
  return witnesses.size() >= kWitnesses && are_enough(witnesses, host, hosts);
}

ConnectionFault Connections::of_host(Kind kind, unsigned host) const {
  ConnectionFault fault{kind, host, 0, false, {}, ""};
  const Ends& own = ends(host);
  std::set<unsigned> others;
  if (kind != Kind::cannot_call) others = own.not_reached_by;
  if (kind != Kind::closed || others.empty()) others.insert(own.not_reached.begin(), own.not_reached.end());
  for (const unsigned other : others) {
    if (kind == Kind::cut_off && !in_play_.contains(other)) continue;
    fault.others.push_back(other);
    const auto at = ways_.find(kind == Kind::cannot_call ? Pair{host, other} : Pair{other, host});
    if (at != ways_.end() && !at->second.why.empty()) fault.why = at->second.why;
  }
  return fault;
}

void Connections::add_paths(std::vector<ConnectionFault>& found, unsigned times) const {
  const std::vector<ConnectionFault> hosts = found;
  const auto is = [&](unsigned host, std::initializer_list<Kind> kinds) {
    return std::any_of(hosts.begin(), hosts.end(), [&](const ConnectionFault& one) {
      return one.a == host && std::find(kinds.begin(), kinds.end(), one.kind) != kinds.end();
    });
  };
  const auto unexplained = [&](unsigned from, unsigned to) {
    return fails(from, to) && !is(from, {Kind::cannot_call, Kind::cut_off}) && !is(to, {Kind::closed, Kind::cut_off});
  };
  for (const auto& [pair, count] : failures_) {
    const auto& [a, b] = pair;
    if (count < times || !in_play_.contains(a) || !in_play_.contains(b)) continue;
    const bool there = unexplained(a, b), back = unexplained(b, a);
    if (!there && !back) continue;
    // Where it is not known whose call failed, an explanation of one direction explains the pair.
    if (there != back && fails(a, b) && fails(b, a) && ways_.at(pair).assumed) continue;
    const auto [from, to] = there ? pair : Pair{b, a};
    const auto other = ways_.find({to, from});
    const bool one_way = other != ways_.end() && other->second.works;
    found.push_back({Kind::path, from, to, one_way, {}, ways_.at({from, to}).why});
  }
}

std::size_t Connections::partners_that_work(unsigned host) const {
  std::set<unsigned> partners;
  for (const auto& [way, attempts] : ways_)
    if (attempts.works && (way.first == host || way.second == host))
      partners.insert(way.first == host ? way.second : way.first);
  return partners.size();
}

/// A host that lost at least half of its partners, which lost no other, explains those paths. A switch port that drops
/// large packets lets some pairs through by chance.
void Connections::join_paths(std::vector<ConnectionFault>& found) const {
  std::map<unsigned, std::vector<unsigned>> lost;
  for (const ConnectionFault& one : found)
    if (one.kind == Kind::path && !one.one_way) lost[one.a].push_back(one.b), lost[one.b].push_back(one.a);
  for (const auto& [host, partners] : lost) {
    if (partners.size() < kWitnesses || partners.size() < partners_that_work(host)) continue;
    if (!std::ranges::all_of(partners, [&](unsigned other) { return lost.at(other).size() == 1 && is_open(other); }))
      continue;
    const auto is_its = [host = host](const ConnectionFault& one) {
      return one.kind == Kind::path && !one.one_way && (one.a == host || one.b == host);
    };
    const std::string why = std::ranges::find_if(found, is_its)->why;
    std::erase_if(found, is_its);
    found.insert(found.begin(), {Kind::cut_off, host, 0, false, partners, why});
  }
}

std::vector<ConnectionFault> Connections::faults(const std::vector<unsigned>& hosts, unsigned times) const {
  if (nobody(hosts, times)) {
    ConnectionFault all{Kind::nobody, 0, 0, false, {}, ""};
    for (const auto& [way, attempts] : ways_) all.why = attempts.why;
    return {all};
  }
  std::vector<ConnectionFault> found;
  std::set<unsigned> closed;
  for (const unsigned host : hosts)
    if (is_closed(host, hosts, times)) closed.insert(host);
  for (std::size_t before = 0; before != closed.size();) {  // each may explain others
    before = closed.size();
    for (const unsigned host : hosts)
      if (is_closed_as(closed, host, hosts)) closed.insert(host);
  }
  for (const unsigned host : hosts) {
    if (closed.contains(host)) found.push_back(of_host(Kind::closed, host));
    if (cannot_call(host, hosts, times)) found.push_back(of_host(Kind::cannot_call, host));
    if (is_cut_off(host, hosts)) found.push_back(of_host(Kind::cut_off, host));
  }
  add_paths(found, times);
  join_paths(found);
  return found;
}

}  // namespace headrace
