// A host's facts, reported before it measures anything.
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "harness/machine/network/host_addresses.h"

namespace headrace::agents {

/// One fact of a host: "memory.total" is "251.4 GiB".
using Facts = std::map<std::string, std::string>;

/// A path as a host has it.
struct PathFacts {
  std::string path;
  bool there = false;
  std::string type, source;  // of the mount that it is on
};

inline constexpr std::size_t kMostRdmaPorts = 64;  // of a host

struct RdmaPortFacts {
  std::string name;   // "mlx5_0/1"
  std::string place;  // of a host of the same build the same: "0000:17:00.0/1"; "" = on no PCI bus
};

struct HostFacts {
  std::string host, machine;  // its own name; its identity among machines and containers
  Facts facts;                // of the fingerprint, by section and key
  std::vector<PathFacts> paths;
  HostAddresses addresses{};                // by which others know it
  std::vector<RdmaPortFacts> rdma_ports{};  // its rails by RDMA, in order
  std::string no_rdma{};                    // why there are none
  bool rdma_counters = false;               // all of them report their counts
  std::string no_mpi{};                     // why it can take part in no run on several hosts; "" = it can
  std::string rdma_full{};                  // whose counters are at their limit: "mlx5_0/1 symbol_error"
};

/// The facts of this host, in the form of the protocol. Takes up to a second or two: libraries of GPUs are asked.
/// `rdma`: devices, as a hosts file names them.
nlohmann::json facts_json(const std::vector<std::string>& paths, const std::string& rdma);
/// Throws std::exception where it is none.
HostFacts facts_from(const nlohmann::json& json);
/// The same, kept in a file.
nlohmann::ordered_json facts_kept(const HostFacts& facts);

}  // namespace headrace::agents
