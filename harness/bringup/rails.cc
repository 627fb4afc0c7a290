#include "harness/bringup/rails.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "harness/network/host_list.h"

namespace headrace::bringup {
namespace {

constexpr const char* kStep = "pairs by RDMA";

}  // namespace

unsigned tcp_rails(const Record& record) {
  std::size_t most = 1;
  for (const NodeRecord& node : record.nodes) most = std::max(most, node.host.rails.size());
  return static_cast<unsigned>(most);
}

unsigned rdma_rails(const Record& record) { return record.sessions.empty() ? 0 : record.sessions.back().rdma_rails; }

bool has_rail(const Record& record, unsigned node, unsigned rail) {
  if (!is_rdma(record, rail)) return true;
  const NodeRecord& of = record.nodes[node];
  return of.host.rdma != kNoRdma && of.facts && rail - tcp_rails(record) < of.facts->rdma_ports.size();
}

std::string rail_name(const Record& record, unsigned node, unsigned rail) {
  const NodeRecord& of = record.nodes[node];
  const unsigned by_tcp = tcp_rails(record);
  if (rail < by_tcp) {
    if (rail < of.host.rails.size()) return of.host.rails[rail];
    return rdma_rails(record) > 0 ? "TCP" : "";
  }
  if (of.facts && rail - by_tcp < of.facts->rdma_ports.size()) return of.facts->rdma_ports[rail - by_tcp];
  return fmt::format("RDMA port {}", rail - by_tcp);
}

std::string end_name(const Record& record, unsigned node, unsigned rail) {
  const std::string name = rail_name(record, node, rail);
  return record.nodes[node].host.name + (name.empty() ? "" : " " + name);
}

void set_rdma_rails(Record& record, const std::vector<unsigned>& there) {
  if (record.measuring.no_rdma) return record.skipped.push_back({kStep, "--no-rdma"});
  std::map<std::size_t, std::size_t> nodes;  // by how many ports they have
  std::vector<unsigned> may;
  for (const unsigned node : there)
    if (record.nodes[node].facts && record.nodes[node].host.rdma != kNoRdma) {
      may.push_back(node);
      ++nodes[record.nodes[node].facts->rdma_ports.size()];
    }
  const auto most =
      std::find_if(nodes.begin(), nodes.end(), [&](const auto& one) { return 2 * one.second > may.size(); });
  if (most == nodes.end() || most->first == 0) {
    std::string why = may.empty() ? "the hosts file says rdma=none" : record.nodes[may.front()].facts->no_rdma;
    if (!may.empty() && most == nodes.end()) {
      why = "no number of ports is usual:";
      for (const auto& [ports, count] : nodes) why += fmt::format(" {} nodes have {},", count, ports);
      why.pop_back();
    }
    return record.skipped.push_back({kStep, why});
  }
  record.sessions.back().rdma_rails = static_cast<unsigned>(most->first);
  std::vector<std::string> silent;
  for (const unsigned node : may) {
    const agents::HostFacts& facts = *record.nodes[node].facts;
    if (!facts.rdma_ports.empty() && !facts.rdma_counters) silent.push_back(record.nodes[node].host.name);
    if (facts.rdma_ports.size() >= most->first) continue;
    record.nodes[node].differences.push_back(
        {node, "rdma.ports",
         fmt::format("{} RDMA ports; the others: {}{}", facts.rdma_ports.size(), most->first,
                     facts.no_rdma.empty() ? "" : fmt::format(" ({})", facts.no_rdma)),
         "look for the missing ones: lspci, rdma link, dmesg; rdma= of the hosts file tells which to use",
         /*fault=*/true});
  }
  if (!silent.empty())
    record.skipped.push_back(
        {"counters of RDMA ports",
         fmt::format(
             "/sys shows none on {}, as within a container's own network: start the agents on the hosts themselves",
             compressed(silent))});
}

}  // namespace headrace::bringup
