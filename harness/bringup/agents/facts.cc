#include "harness/bringup/agents/facts.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "harness/backends/loader.h"
#include "harness/base/error.h"
#include "harness/bringup/agents/own_run.h"
#include "harness/machine/examine/fingerprint.h"
#include "harness/machine/mount.h"
#include "harness/machine/network/hosts_file.h"
#include "harness/machine/network/rdma_rails.h"
#include "harness/machine/node.h"
#include "harness/machine/rdma_counters.h"

namespace headrace::agents {
namespace {

using Json = nlohmann::json;

Json path_json(const std::string& path) {
  struct stat status {};
  Json json{{"path", path}, {"there", ::stat(path.c_str(), &status) == 0}};
  if (const auto mount = system::mount_of(path)) {
    json["type"] = mount->type;
    json["source"] = mount->source;
  }
  return json;
}

/// Throws with the reason where there are none.
std::vector<RdmaPortFacts> rdma_ports(Node& node, const std::string& devices) {
  if (devices == kNoRdma) throw RunError("the hosts file says rdma=none");
  if (std::string why = node.backends().why_not(Gives::rdma); !why.empty()) throw RunError(why);
  std::vector<RdmaPortFacts> ports;
  for (const RdmaPort* port : rdma_rails(node.backends().rdma().ports(), devices, 0).ports)
    ports.push_back(
        {port->name(), port->pci_address.empty() ? "" : fmt::format("{}/{}", port->pci_address, port->number)});
  return ports;
}

template <class AnyJson>
AnyJson addresses_json(const HostAddresses& addresses) {
  AnyJson json = AnyJson::array();
  for (const system::InterfaceAddress& one : addresses)
    json.push_back({{"interface", one.interface}, {"address", one.address}});
  return json;
}

template <class AnyJson>
AnyJson ports_json(const std::vector<RdmaPortFacts>& ports) {
  AnyJson json = AnyJson::array();
  for (const RdmaPortFacts& one : ports) json.push_back({{"name", one.name}, {"place", one.place}});
  return json;
}

}  // namespace

Json facts_json(const std::vector<std::string>& paths, const std::string& rdma) {
  Node node("");  // no folder: nothing is written
  Json json{{"machine", network_identity()}, {"facts", Json::object()}, {"paths", Json::array()}};
  char name[256] = {};
  ::gethostname(name, sizeof name - 1);
  json["host"] = name;
  for (const auto& [section, facts] : system::fingerprint(paths.empty() ? "/" : paths.front(), node))
    for (const auto& [key, value] : facts) json["facts"][section + "." + key] = value;
  for (const std::string& path : paths) json["paths"].push_back(path_json(path));
  json["addresses"] = addresses_json<Json>(host_addresses(system::interface_addresses()));
  if (const std::string why = why_not_together(node.backends()); !why.empty()) json["no_mpi"] = why;
  try {
    const std::vector<RdmaPortFacts> ports = rdma_ports(node, rdma);
    json["rdma_ports"] = ports_json<Json>(ports);
    bool reported = true;
    std::string full;
    for (const RdmaPortFacts& port : ports) {
      const system::RdmaCounters counters = system::rdma_counters(port.name);
      reported = reported && counters.reports_errors && counters.reports_again;
      for (const std::string& counter : counters.full)
        full += fmt::format("{}{} {}", full.empty() ? "" : ", ", port.name, counter);
    }
    json["rdma_counters"] = reported;
    json["rdma_full"] = full;
  } catch (const std::exception& e) {
    json["no_rdma"] = e.what();
  }
  return json;
}

HostFacts facts_from(const Json& json) {
  HostFacts all;
  all.host = json.at("host").get<std::string>();
  all.machine = json.at("machine").get<std::string>();
  all.facts = json.at("facts").get<Facts>();
  for (const Json& one : json.at("paths"))
    all.paths.push_back({one.at("path").get<std::string>(), one.at("there").get<bool>(), one.value("type", ""),
                         one.value("source", "")});
  for (const Json& one : json.value("addresses", Json::array()))
    all.addresses.push_back({one.at("interface").get<std::string>(), one.at("address").get<std::string>()});
  for (const Json& one : json.value("rdma_ports", Json::array()))
    all.rdma_ports.push_back({one.at("name").get<std::string>(), one.at("place").get<std::string>()});
  if (all.rdma_ports.size() > kMostRdmaPorts) throw RunError("it reports more RDMA ports than are possible");
  all.no_rdma = json.value("no_rdma", "");
  all.no_mpi = json.value("no_mpi", "");
  all.rdma_counters = json.value("rdma_counters", false);
  all.rdma_full = json.value("rdma_full", "");
  return all;
}

nlohmann::ordered_json facts_kept(const HostFacts& all) {
  nlohmann::ordered_json json{{"host", all.host}, {"machine", all.machine}, {"facts", all.facts}};
  json["paths"] = nlohmann::ordered_json::array();
  for (const PathFacts& one : all.paths)
    json["paths"].push_back({{"path", one.path}, {"there", one.there}, {"type", one.type}, {"source", one.source}});
  if (!all.addresses.empty()) json["addresses"] = addresses_json<nlohmann::ordered_json>(all.addresses);
  if (!all.rdma_ports.empty()) {
    json["rdma_ports"] = ports_json<nlohmann::ordered_json>(all.rdma_ports);
    json["rdma_counters"] = all.rdma_counters;
    if (!all.rdma_full.empty()) json["rdma_full"] = all.rdma_full;
  }
  if (!all.no_rdma.empty()) json["no_rdma"] = all.no_rdma;
  if (!all.no_mpi.empty()) json["no_mpi"] = all.no_mpi;
  return json;
}

}  // namespace headrace::agents
