#include "harness/machine/examine_rdma.h"

#include <fmt/format.h>

#include "harness/base/error.h"
#include "harness/base/units.h"
#include "harness/network/rdma_place.h"

namespace headrace::system {
namespace {

using Level = Finding::Level;

Finding address_of(const RdmaBackend& backend, const RdmaPort& port) {
  try {
    const RdmaPlace place = choose_rdma_place(backend.ports(), {.device = port.device, .port = port.number});
    if (!place.warning.empty()) return {Level::warning, "RDMA", port.name(), place.words, place.warning};
    if (port.mtu < port.most_mtu)
      return {Level::note, "RDMA", port.name(), fmt::format("{}; could be {}", place.words, port.most_mtu),
              port.ethernet ? "ip link set NAME mtu 9000, where the switches take it" : "the subnet manager sets it"};
    return {Level::good, "RDMA", port.name(), place.words, ""};
  } catch (const RunError& e) {
    return {Level::warning, "RDMA", port.name(), e.what(), ""};
  }
}

}  // namespace

std::vector<Finding> examine_rdma(const RdmaBackend& backend, const Limit& locked, bool root) {
  std::vector<Finding> findings;
  for (const RdmaPort& port : backend.ports())
    if (port.active) findings.push_back(address_of(backend, port));
  // A gibibyte holds the buffers of every point of configs/rdma.yaml, and NCCL's of eight GPUs.
  constexpr std::uint64_t kEnough = 1u << 30;
  const bool enough = root || locked.soft >= kEnough;
  findings.push_back({enough ? Level::good : Level::warning, "RDMA", "locked memory",
                      root ? "no limit for root" : limit_in_words(locked, true),
                      enough
                          ? ""
                          : "registered memory is locked: ulimit -l unlimited, limits.conf, or LimitMEMLOCK=infinity "
                            "of the service that starts jobs"});
  return findings;
}

}  // namespace headrace::system
