// What hosts report on themselves, compared with what most of them report.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/bringup/agents/facts.h"

namespace headrace::bringup {

/// Something in which one host is unlike the others.
struct Difference {
  std::size_t host = 0;
  std::string what;      // "memory.total", "clock", "path /data"
  std::string reported;  // "memory.total is 7.45 GiB, of the others 15.5 GiB"
  std::string fix;
  bool fault = false;   // it costs the job something; else it is reported, and decides nothing
  bool tested = false;  // by what it measured; else by what it reports on itself
};

/// A host that answered.
struct Answered {
  std::size_t host = 0;
  std::string name;
  agents::HostFacts facts;
  double clock_s = 0, clock_error_s = 0;  // its clock before the collector's, and how far that may be off
  bool accepted = false;                  // in an earlier session: where any is, all are compared with these alone
  bool kept = false;                      // what it reported then; it is not there now
};

/// Clocks further from the middle one are a fault [s].
inline constexpr double kMostClock_s = 0.1;

/// That few hosts: whoever differs from the others may be right.
inline constexpr std::size_t kFewestToCompare = 3;

/// Whatever more than half of the hosts report is usual, or of accepted ones, where any are; where nothing is, nobody differs.
/// What two that are there share against what is kept, an accepted one among them, has changed since then, and is no
/// difference. `all`: those that are there first.
std::vector<Difference> differences(const std::vector<Answered>& all);

/// Hosts with an IP address that another one that is there has, too: connections reach the one or the other, by chance.
std::vector<Difference> same_addresses(const std::vector<Answered>& all);

/// Hosts that are one machine (one container) under two names: of each, but for the first, which other one it is.
std::vector<Difference> same_machines(const std::vector<Answered>& all);

}  // namespace headrace::bringup
