// Launchers bind processes to processors: Open MPI each of two ranks to one core.
#pragma once

#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "harness/machine/numa.h"

namespace headrace::network {

/// A note where this process may use fewer processors than it has threads that poll; "" = it has enough.
inline std::string bound_too_tightly(unsigned polling) {
  cpu_set_t allowed;
  if (::sched_getaffinity(::getpid(), sizeof allowed, &allowed) != 0) return "";
  const int processors = CPU_COUNT(&allowed);
  const long all = ::sysconf(_SC_NPROCESSORS_ONLN);
  if (processors >= static_cast<int>(polling) || processors >= all) return "";
  return fmt::format(
      "bound to {} of {} processors, which {} threads share that poll: start with mpirun --bind-to none, or "
      "srun --cpu-bind=none",
      processors, all, polling);
}

/// A note where this process may use no processor of the NUMA node of one of its devices. "" = it may, or the kernel
/// does not report the node. `devices`: the node of each, by name.
inline std::string bound_far(const std::map<std::string, int>& devices, const std::vector<NumaNode>& nodes) {
  cpu_set_t allowed;
  if (::sched_getaffinity(::getpid(), sizeof allowed, &allowed) != 0) return "";
  std::string far;
  for (const auto& [device, at] : devices) {
    const auto own = std::find_if(nodes.begin(), nodes.end(), [id = at](const NumaNode& n) { return n.id == id; });
    const auto usable = [&](int cpu) { return cpu < CPU_SETSIZE && CPU_ISSET(cpu, &allowed); };
    if (own != nodes.end() && std::none_of(own->cpus.begin(), own->cpus.end(), usable))
      far += fmt::format("{}{} at NUMA node {}", far.empty() ? "" : ", ", device, at);
  }
  if (far.empty()) return "";
  return fmt::format("bound to processors far from {}: start with mpirun --bind-to none, or srun --cpu-bind=none", far);
}

}  // namespace headrace::network
