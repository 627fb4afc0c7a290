// headrace bringup --simulate: how surely, and how soon, adaptive pairs find the bad parts of a fleet.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "benches/headrace/verb.h"

namespace headrace::cli {

struct SimulatedArguments {
  unsigned nodes = 0, nodes_per_switch = 32, switches = 0, rails = 1, fleets = 20, most_rounds = 20;
  std::optional<std::uint64_t> seed;
  std::string bad = "2%", loss = "6%", links = "0", noise = "2%", transient = "2%", transient_loss = "15%", heavy = "0";
  std::string prior_bad = "2%", prior_noise = "2%", prior_transient = "2%", format = "text", out;
  bool no_report = false;
};

/// With `out` one fleet, brought up as real hosts are, into that folder.
int bringup_simulated(const SimulatedArguments& given, const Shared& shared);

}  // namespace headrace::cli
