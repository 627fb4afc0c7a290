#include "harness/bringup/rails.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

#include "harness/machine/network/host_list.h"

namespace headrace::bringup {
namespace {

using Places = std::vector<std::string>;

constexpr const char* kStep = "pairs by RDMA";

/// Where every node's ports are at the same places of its PCI tree, a rail is such a place. Else it is the first, the
/// second...
std::string numbered(std::size_t number) { return fmt::format("port {}", number); }
std::optional<std::size_t> number_in(const std::string& place, std::size_t count) {
  for (std::size_t number = 0; number < count; ++number)
    if (place == numbered(number)) return number;
  return std::nullopt;
}

Places places_of(const NodeRecord& node) {
  Places all;
  for (const agents::RdmaPortFacts& port : node.facts->rdma_ports) all.push_back(port.place);
  return all;
}

void add(Places& all, const SessionRecord& session) {
  for (const std::string& place : session.rdma_rails)
    if (std::find(all.begin(), all.end(), place) == all.end()) all.push_back(place);
}

/// The places in all sessions, in the order in which they came up.
Places rdma_places(const Record& record) {
  Places all;
  for (const SessionRecord& session : record.sessions) add(all, session);
  return all;
}

/// The nodes that show the usual number of ports.
std::vector<unsigned> reporting(const Record& record, const std::vector<unsigned>& there) {
  const std::vector<unsigned>& retest = record.sessions.back().retest;
  std::vector<unsigned> some;
  for (unsigned node = 0; node < record.nodes.size(); ++node) {
    const NodeRecord& one = record.nodes[node];
    const bool repaired = std::find(retest.begin(), retest.end(), node) != retest.end();
    const bool counts = retest.empty() ? std::find(there.begin(), there.end(), node) != there.end()
                                       : is_accepted(one.state) && !repaired;
    if (counts && one.facts && one.host.rdma != kNoRdma) some.push_back(node);
  }
  return some;
}

/// The ports that more than half of them have.
template <class What>
std::optional<What> usual(const std::map<What, std::size_t>& counts, std::size_t all) {
  for (const auto& [what, count] : counts)
    if (2 * count > all) return what;
  return std::nullopt;
}

/// Nothing, where no number of ports is usual.
std::optional<Places> usual_places(const Record& record, const std::vector<unsigned>& nodes) {
  std::map<Places, std::size_t> of_places;
  std::map<std::size_t, std::size_t> of_count;
  for (const unsigned node : nodes) {
    ++of_places[places_of(record.nodes[node])];
    ++of_count[record.nodes[node].facts->rdma_ports.size()];
  }
  const auto places = usual(of_places, nodes.size());
  if (places && std::find(places->begin(), places->end(), "") == places->end()) return places;
  const auto count = usual(of_count, nodes.size());
  if (!count) return std::nullopt;
  Places all;
  for (std::size_t number = 0; number < *count; ++number) all.push_back(numbered(number));
  return all;
}

std::string why_none(const Record& record, const std::vector<unsigned>& nodes, bool any_usual) {
  if (nodes.empty()) {
    const bool by_file = std::any_of(record.nodes.begin(), record.nodes.end(),
                                     [](const NodeRecord& one) { return one.facts && one.host.rdma == kNoRdma; });
    return by_file ? "the hosts file says rdma=none" : "no host said which ports it has";
  }
  if (any_usual) {
    for (const unsigned node : nodes)
      if (record.nodes[node].facts->rdma_ports.empty()) return record.nodes[node].facts->no_rdma;
  }
  std::map<std::size_t, std::size_t> counts;
  for (const unsigned node : nodes) ++counts[record.nodes[node].facts->rdma_ports.size()];
  std::string why = "no number of ports is usual:";
  for (const auto& [ports, count] : counts) why += fmt::format(" {} nodes have {},", count, ports);
  why.pop_back();
  return why;
}

/// Counters that cannot be read, or can rise no more.
void report_counters(Record& record, const std::vector<unsigned>& nodes) {
  std::vector<std::string> silent, full;
  std::string which;  // of the first
  for (const unsigned node : nodes) {
    const agents::HostFacts& facts = *record.nodes[node].facts;
    const std::string& name = record.nodes[node].host.name;
    if (!facts.rdma_ports.empty() && !facts.rdma_counters) silent.push_back(name);
    if (facts.rdma_full.empty()) continue;
    if (full.empty()) which = facts.rdma_full;
    full.push_back(name);
  }
  constexpr const char* kCounters = "counters of RDMA ports";
  if (!silent.empty())
    record.skipped.push_back({kCounters, fmt::format("/sys shows none, or not all, on {}, as within a container's own "
                                                     "network: start the agents on the hosts themselves",
                                                     compressed(silent))});
  if (!full.empty())
    record.skipped.push_back(
        {kCounters, fmt::format("at their limit on {} ({}), and rise no more: perfquery -R sets them back",
                                compressed(full), which)});
}

}  // namespace

unsigned tcp_rails(const Record& record) {
  return record.nodes.empty() ? 1
                              : static_cast<unsigned>(std::max<std::size_t>(1, record.nodes.front().host.rails.size()));
}

unsigned rails(const Record& record) { return tcp_rails(record) + static_cast<unsigned>(rdma_places(record).size()); }

unsigned rails_with(const Record& record, const SessionRecord& next) {
  Places all = rdma_places(record);
  add(all, next);
  return tcp_rails(record) + static_cast<unsigned>(all.size());
}

std::string rdma_port(const Record& record, unsigned node, unsigned rail) {
  const NodeRecord& of = record.nodes[node];
  const Places rails = rdma_places(record);
  const std::size_t number = rail - tcp_rails(record);
  if (!of.facts || number >= rails.size()) return "";
  const std::vector<agents::RdmaPortFacts>& ports = of.facts->rdma_ports;
  if (const auto first = number_in(rails[number], rails.size())) return *first < ports.size() ? ports[*first].name : "";
  const auto at = std::find_if(ports.begin(), ports.end(),
                               [&](const agents::RdmaPortFacts& port) { return port.place == rails[number]; });
  if (at != ports.end()) return at->name;
  // Another kind of machine, with as many ports elsewhere.
  const Places& now = record.sessions.back().rdma_rails;
  const auto same = [&](const agents::RdmaPortFacts& port) {
    return std::find(now.begin(), now.end(), port.place) != now.end();
  };
  const auto place = std::find(now.begin(), now.end(), rails[number]);
  if (place == now.end() || ports.size() != now.size() || std::any_of(ports.begin(), ports.end(), same)) return "";
  return ports[static_cast<std::size_t>(place - now.begin())].name;
}

bool has_rail(const Record& record, unsigned node, unsigned rail) {
  if (!is_rdma(record, rail)) return true;
  const Places& now = record.sessions.back().rdma_rails;
  const std::string place = rdma_places(record)[rail - tcp_rails(record)];
  return std::find(now.begin(), now.end(), place) != now.end() && record.nodes[node].host.rdma != kNoRdma &&
         !rdma_port(record, node, rail).empty();
}

std::string rail_name(const Record& record, unsigned node, unsigned rail) {
  const NodeRecord& of = record.nodes[node];
  if (!is_rdma(record, rail)) {
    if (rail < of.host.rails.size()) return of.host.rails[rail];
    return rails(record) > tcp_rails(record) ? "TCP" : "";
  }
  if (const std::string own = rdma_port(record, node, rail); !own.empty()) return own;
  return "RDMA at " + rdma_places(record)[rail - tcp_rails(record)];
}

std::string end_name(const Record& record, unsigned node, unsigned rail) {
  const std::string name = rail_name(record, node, rail);
  return record.nodes[node].host.name + (name.empty() ? "" : " " + name);
}

void set_rdma_rails(Record& record, const std::vector<unsigned>& there) {
  if (record.measuring.no_rdma) return record.skipped.push_back({kStep, "--no-rdma"});
  const std::vector<unsigned> report = reporting(record, there);
  const auto places = usual_places(record, report);
  if (!places || places->empty())
    return record.skipped.push_back({kStep, why_none(record, report, places.has_value())});
  record.sessions.back().rdma_rails = *places;
  std::vector<unsigned> may;
  for (const unsigned node : there) {
    NodeRecord& one = record.nodes[node];
    if (!one.facts || one.host.rdma == kNoRdma) continue;
    may.push_back(node);
    std::vector<std::string> missing;
    for (unsigned rail = tcp_rails(record); rail < rails(record); ++rail)
      if (std::find(places->begin(), places->end(), rdma_places(record)[rail - tcp_rails(record)]) != places->end() &&
          rdma_port(record, node, rail).empty())
        missing.push_back(rdma_places(record)[rail - tcp_rails(record)]);
    if (missing.empty()) continue;
    const agents::HostFacts& facts = *one.facts;
    one.differences.push_back(
        {node, "rdma.ports",
         fmt::format("{} RDMA ports, none at {}; the others: {}{}", facts.rdma_ports.size(), fmt::join(missing, ", "),
                     places->size(), facts.no_rdma.empty() ? "" : fmt::format(" ({})", facts.no_rdma)),
         "look for the missing ones: lspci, rdma link, dmesg; rdma= in the hosts file selects the ports",
         /*fault=*/true});
  }
  report_counters(record, may);
}

}  // namespace headrace::bringup
