// How much more the client hosts could have taken, had storage given it.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "harness/engine/run_result.h"

namespace headrace {

/// The most that the client hosts of a point could have taken (A29), and their actual rate [B/s].
struct ClientHeadroom {
  std::string limit{};  // "processors" | "ports"
  double rate = 0, could_take = 0;
  double busy = 0, processors = 0;  // of all hosts
};

/// The headroom at a point whose data have a cache state, from the processor time of its counting repetitions
/// (medians). `cores`: of a host. `ports`: the rate of all ports of a host [B/s]; 0: the data came from its own disks.
std::optional<ClientHeadroom> client_headroom(const PointResult& point, double cores, double ports);

/// Adds it to the facts of each point.
void report_client_headrooms(std::span<PointResult> points, double cores, double ports);

}  // namespace headrace
