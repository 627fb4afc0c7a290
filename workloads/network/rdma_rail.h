// One of the ports that a rank drives at once: its memory, its queue pairs, and a link to each partner by them.
#pragma once

#include <algorithm>
#include <exception>
#include <memory>
#include <vector>

#include "harness/backends/rdma.h"
#include "workloads/network/rdma_area.h"
#include "workloads/network/rdma_link.h"

namespace headrace::network {

struct RdmaRail {
  std::size_t way = 0;  // of RdmaEnd's
  unsigned slot = 0;    // among the rank's ports, with those that are down: the same at a partner is its other end
  unsigned gpu = 0;
  std::unique_ptr<RdmaEndpoint> endpoint;
  std::unique_ptr<RdmaArea> area;  // goes before the endpoint
  std::vector<RdmaLink> links;     // one per partner; go before both
  std::exception_ptr trouble;      // what went wrong in a turn; stays, unless only one link is left out for it

  RdmaLink* link(unsigned partner) {
    const auto at = std::find_if(links.begin(), links.end(), [&](const RdmaLink& l) { return l.partner() == partner; });
    return at == links.end() ? nullptr : &*at;
  }
};

}  // namespace headrace::network
