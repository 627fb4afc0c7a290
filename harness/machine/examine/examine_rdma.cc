#include "harness/machine/examine/examine_rdma.h"

#include <fmt/format.h>

#include <map>

#include "harness/base/diagnostics.h"
#include "harness/base/error.h"
#include "harness/base/units.h"
#include "harness/machine/network/host_list.h"
#include "harness/machine/network/rdma_place.h"
#include "harness/machine/network/rdma_rails.h"

namespace headrace::system {
namespace {

using Level = Finding::Level;

Finding address_of(const RdmaBackend& backend, const RdmaPort& port) {
  try {
    const RdmaPlace place = choose_rdma_place(backend.ports(), {.device = port.device, .port = port.number});
    if (!place.notes.empty()) return {Level::warning, "RDMA", port.name(), place.words, place.notes.front()};
    if (port.mtu < port.most_mtu)
      return {Level::note, "RDMA", port.name(), fmt::format("{}; MTU could be {}", place.words, port.most_mtu),
              port.ethernet ? "ip link set NAME mtu 9000, where the switches take it" : "the subnet manager sets it"};
    return {Level::good, "RDMA", port.name(), place.words, ""};
  } catch (const RunError& e) {
    return {Level::warning, "RDMA", port.name(), e.what(), ""};
  }
}

/// Which of several ports ranks go by, in their turn.
Finding rails_of(const RdmaBackend& backend) {
  try {
    const RdmaRails rails = rdma_rails(backend.ports(), "", 0);  // as NCCL_IB_HCA selects, too
    std::vector<std::string> names;
    for (const RdmaPort* port : rails.ports)
      names.push_back(port->active ? port->name() : fmt::format("{} ({})", port->name(), port->state));
    const std::string why = rails.chosen.empty() ? "" : fmt::format("; {}", rails.chosen);
    return {rails.left_out.empty() ? Level::good : Level::note, "RDMA", "rails", join(names) + why, rails.left_out};
  } catch (const Unsupported&) {
    return {Level::note, "RDMA", "rails", "none: no port can be used", ""};  // why, each port's own line reports
  } catch (const RunError& e) {
    return {Level::warning, "RDMA", "rails", e.what(), ""};
  }
}

}  // namespace

std::vector<Finding> examine_rdma(const RdmaBackend& backend, const Limit& locked, bool unlimited) {
  std::vector<Finding> findings;
  std::map<std::string, std::vector<std::string>> unusable;  // by the reason
  for (const RdmaPort& port : backend.ports()) {
    if (!port.active) continue;
    if (port.unusable.empty())
      findings.push_back(address_of(backend, port));
    else
      unusable[port.unusable].push_back(port.name());
  }
  for (const auto& [why, names] : unusable)
    findings.push_back({Level::note, "RDMA", compressed(names), fmt::format("{} ports: {}", names.size(), why),
                        "rdma points are skipped; NCCL uses such ports by a plug-in (aws-ofi-nccl)"});
  if (backend.ports().size() > 1) findings.push_back(rails_of(backend));
  // A gibibyte holds the buffers of every point of configs/rdma.yaml, and NCCL's of eight GPUs.
  constexpr std::uint64_t kEnough = 1u << 30;
  const bool enough = unlimited || locked.soft >= kEnough;
  findings.push_back({enough ? Level::good : Level::warning, "RDMA", "locked memory",
                      unlimited ? "no limit: CAP_IPC_LOCK" : limit_in_words(locked, true),
                      enough
                          ? ""
                          : "registered memory is locked: ulimit -l unlimited, limits.conf, or LimitMEMLOCK=infinity "
                            "of the service that starts jobs"});
  return findings;
}

}  // namespace headrace::system
