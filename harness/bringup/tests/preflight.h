// The hosts' facts, compared with those of most of them.
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
  bool tested = false;  // by its measurement; else by its facts
};

/// A host that answered.
struct Answered {
  std::size_t host = 0;
  std::string name;
  agents::HostFacts facts;
  double clock_s = 0, clock_error_s = 0;  // its clock before the collector's, and how far that may be off
  bool accepted = false;                  // in an earlier session: where any is, all are compared with these alone
  bool kept = false;                      // its facts from then; it is not there now
};

/// Clocks further from the middle one are a fault [s].
inline constexpr double kMostClock_s = 0.1;

/// That few hosts: one that differs from the others may be right.
inline constexpr std::size_t kFewestToCompare = 3;

/// A value of more than half of the hosts is usual, or of the accepted ones, where any are. Without one, no host
/// differs. A value that two present hosts share, but not stored answers, has changed, if an accepted host is among them. It is no difference. `all`: the present hosts first.
std::vector<Difference> differences(const std::vector<Answered>& all);

/// Hosts that share an IP address with another present host: connections reach either one by chance.
std::vector<Difference> same_addresses(const std::vector<Answered>& all);

/// Hosts that are one machine (one container) under two names. Each, except the first, has the name of the other.
std::vector<Difference> same_machines(const std::vector<Answered>& all);

}  // namespace headrace::bringup
