#include "harness/bringup/tests/preflight.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <iterator>
#include <map>
#include <set>
#include <string_view>

#include "harness/backends/gpu_faults.h"
#include "harness/base/units.h"
#include "harness/machine/network/host_list.h"
#include "harness/machine/network/hosts_file.h"

namespace headrace::bringup {
namespace {

/// When is a value a fault: never, when there is less, or whenever it differs.
enum class FaultWhen { never, less, unlike };

struct Rule {
  const char* key;
  FaultWhen when;
  const char* fix;
};

constexpr const char* kSameImage = "boot the image that the others have";

constexpr Rule kRules[] = {
    {"memory.total", FaultWhen::less, "a module has failed or is not seated: dmidecode -t memory, ras-mc-ctl --errors"},
    {"cpu.model", FaultWhen::never, "another kind of machine"},
    {"cpu.sockets", FaultWhen::less, "look at the firmware's settings and its log"},
    {"cpu.cores", FaultWhen::less, "look at the firmware's settings, and for isolated or offline processors"},
    {"cpu.threads", FaultWhen::less, "look at the firmware's settings, and for offline processors"},
    {"cpu.usable", FaultWhen::less, "look at the control group and the affinity that the launcher gives"},
    {"cpu.numa_nodes", FaultWhen::never, "look at the firmware's settings"},
    {"cpu.governor", FaultWhen::unlike, "cpupower frequency-set -g performance, as the others have it"},
    {"cpu.max_frequency", FaultWhen::less, "look at the firmware's power settings"},
    {"cpu.microcode", FaultWhen::never, kSameImage},
    {"host.firmware", FaultWhen::never, "bring the firmware to the version of the others"},
    {"kernel.release", FaultWhen::never, kSameImage},
    {"limits.open_files", FaultWhen::less, "raise nofile in /etc/security/limits.d, or LimitNOFILE of the launcher"},
    {"limits.locked_memory", FaultWhen::less,
     "raise memlock in /etc/security/limits.d, or LimitMEMLOCK of the launcher"},
    {"memory.transparent_huge_pages", FaultWhen::never, "set it as the others have it"},
    {"cgroup.memory", FaultWhen::less, "look at the control group that the launcher gives"},
    {"cgroup.cores", FaultWhen::less, "look at the control group that the launcher gives"},
};

// Rules for each GPU, which has a section of its own.
constexpr Rule kGpuRules[] = {
    {"name", FaultWhen::unlike, "another GPU than the others have"},
    {"driver", FaultWhen::never, kSameImage},
    {"memory", FaultWhen::less, "nvidia-smi -q: retired pages, or MIG"},
    {"link_at_most", FaultWhen::unlike, "look at the slot and the firmware's settings: lspci -vv"},
    {"nvlinks", FaultWhen::unlike, "nvidia-smi nvlink -s; the fabric manager's log"},
    {"c2c_links", FaultWhen::unlike, "links to the processor are down: have the module looked at"},
    {"fabric_group", FaultWhen::never, "look at the partitions of the NVLink switches: other cliques are not reached"},
    {"mig", FaultWhen::unlike, "nvidia-smi -mig"},
};

// Names of network ports, which have sections of their own.
constexpr std::string_view kPort = "port ", kNccl = "nccl.";
constexpr Rule kPortRules[] = {
    {"rate", FaultWhen::less, "look at the cable, the switch's port and its settings"},
    {"mtu", FaultWhen::less, "set the interface's MTU as the others have it: ip link set NAME mtu SIZE"},
    {"host_link", FaultWhen::never, "look at the slot, its riser and the firmware's settings"},
    {"driver", FaultWhen::never, kSameImage},
    {"driver_version", FaultWhen::never, kSameImage},
    {"firmware", FaultWhen::never, "bring the card's firmware to the version of the others"},
};

/// A number that a value begins with, in the base of its unit; nothing where there is none.
std::optional<double> number_of(const std::string& value) {
  if (value.starts_with("unlimited")) return HUGE_VAL;
  char* end = nullptr;
  const double number = std::strtod(value.c_str(), &end);
  if (end == value.c_str()) return std::nullopt;
  std::string rest(end);
  rest.erase(0, rest.find_first_not_of(' '));
  const std::string unit = rest.substr(0, rest.find_first_of(" (,"));
  for (const Dimension dimension : {Dimension::bytes, Dimension::bytes_per_second})
    if (const Parsed parsed = parse_quantity(fmt::format("{}{}", number, unit), dimension)) return parsed.value;
  return number;
}

bool alike(const std::string& a, const std::string& b) {
  if (a == b) return true;
  const auto x = number_of(a), y = number_of(b);
  // Sizes of memory differ by the kernel's own part.
  return a.find("iB") != a.npos && x && y && std::isfinite(std::max(*x, *y)) &&
         std::abs(*x - *y) <= 0.01 * std::max(*x, *y);
}

using ReportsAnswer = std::function<std::string(const Answered&)>;
using All = std::vector<std::reference_wrapper<const Answered>>;

/// The hosts that define the usual value: accepted ones where any are, else all.
All references(const All& all) {
  All some;
  std::copy_if(all.begin(), all.end(), std::back_inserter(some), [](const Answered& one) { return one.accepted; });
  return some.empty() ? all : some;
}

/// The value that more than half report; nothing where there is none.
std::optional<std::string> usual(const All& all, const ReportsAnswer& reported) {
  std::map<std::string, std::size_t> values;
  for (const Answered& one : all) ++values[reported(one)];
  for (const auto& [value, unused] : values) {
    std::size_t count = 0;
    for (const auto& [other, so_many] : values) count += alike(value, other) ? so_many : 0;
    if (2 * count > all.size()) return value;
  }
  return std::nullopt;
}

std::string fact(const Answered& one, const std::string& key) {
  const auto at = one.facts.facts.find(key);
  return at == one.facts.facts.end() ? "" : at->second;
}

/// Does another one that is there report the same, and was one of both accepted? Then that is how it is by now.
bool has_changed_since(const All& all, const Answered& one, const ReportsAnswer& reported) {
  return std::any_of(all.begin(), all.end(), [&](const Answered& other) {
    return other.host != one.host && !other.kept && (other.accepted || one.accepted) &&
           alike(reported(other), reported(one));
  });
}

void hold(const All& all, const std::string& what, const ReportsAnswer& reported, FaultWhen when,
          const std::string& fix, std::vector<Difference>& found) {
  const auto most = usual(references(all), reported);
  if (!most) return;
  const bool kept = std::any_of(all.begin(), all.end(), [](const Answered& one) { return one.kept; });
  for (const Answered& one : all) {
    const std::string value = reported(one);
    if (one.kept || alike(value, *most) || (kept && has_changed_since(all, one, reported))) continue;
    const auto own = number_of(value), others = number_of(*most);
    const bool less = value.empty() || (own && others && *own < *others);
    const auto shown = [](const std::string& text) { return text.empty() ? std::string("not there") : text; };
    found.push_back({one.host, what, fmt::format("{}: {}; the others: {}", what, shown(value), shown(*most)), fix,
                     when == FaultWhen::unlike || (when == FaultWhen::less && less)});
  }
}

/// A fact that kept answers may lack, if an older headrace made them.
void hold_fact(const All& all, const std::string& key, const Rule& rule, std::vector<Difference>& found) {
  All reporting = all;
  std::erase_if(reporting, [&](const Answered& one) { return one.kept && fact(one, key).empty(); });
  hold(
      reporting, key, [&](const Answered& one) { return fact(one, key); }, rule.when, rule.fix, found);
}

/// Sections of facts whose names begin so.
std::set<std::string> sections(const All& all, std::string_view prefix) {
  std::set<std::string> names;
  for (const Answered& one : all)
    for (auto at = one.facts.facts.lower_bound(std::string(prefix)); at != one.facts.facts.end(); ++at) {
      if (!at->first.starts_with(prefix)) break;
      names.insert(at->first.substr(0, at->first.rfind('.')));
    }
  return names;
}

/// Ports of the same name, where that is up; which ports are missed, pairs report.
void hold_ports(const All& all, std::vector<Difference>& found) {
  for (const std::string& port : sections(all, kPort)) {
    All having = all;
    std::erase_if(having, [&](const Answered& one) { return !one.facts.facts.contains(port + ".kind"); });
    if (having.size() < kFewestToCompare) continue;
    for (const Rule& rule : kPortRules) hold_fact(having, fmt::format("{}.{}", port, rule.key), rule, found);
  }
}

void hold_nccl(const All& all, std::vector<Difference>& found) {
  std::set<std::string> keys;
  for (const Answered& one : all)
    for (const auto& [key, value] : one.facts.facts)
      if (key.starts_with(kNccl)) keys.insert(key);
  for (const std::string& key : keys)
    hold(
        all, key.substr(kNccl.size()), [&](const Answered& one) { return fact(one, key); }, FaultWhen::never,
        "give all nodes the same settings of NCCL", found);
}

std::string gpus(const Answered& one) {
  unsigned count = 0;
  while (one.facts.facts.contains(fmt::format("gpu{}.name", count))) ++count;
  return std::to_string(count);
}

const agents::PathFacts* path_of(const Answered& one, const std::string& path) {
  const auto at = std::find_if(one.facts.paths.begin(), one.facts.paths.end(),
                               [&](const agents::PathFacts& known) { return known.path == path; });
  return at == one.facts.paths.end() ? nullptr : &*at;
}

void hold_paths(const All& all, std::vector<Difference>& found) {
  for (const agents::PathFacts& wanted : all.front().get().facts.paths) {
    const std::string what = "path " + wanted.path;
    All having;
    for (const Answered& one : all) {
      const agents::PathFacts* const path = path_of(one, wanted.path);
      if (path == nullptr) continue;
      if (path->there)
        having.push_back(one);
      else if (!one.kept)
        found.push_back({one.host, what, what + ": not there", "mount it as on the others: findmnt, /etc/fstab", true});
    }
    const auto mount = [&](const Answered& one) {
      const agents::PathFacts& path = *path_of(one, wanted.path);
      return path.type + " " + path.source;
    };
    if (!having.empty())
      hold(having, what, mount, FaultWhen::unlike, "mount it as on the others: what lies there now is something else",
           found);
  }
}

/// Clocks are of this moment: kept answers show nothing of them. With few accepted ones, the clocks of the collector
/// and the host decide, too. None of the few is judged.
void hold_clocks(const All& all, std::vector<Difference>& found) {
  All there = all;
  std::erase_if(there, [](const Answered& one) { return one.kept; });
  const All right = references(there);
  const bool few = right.size() < kFewestToCompare;
  for (const Answered& one : there) {
    if (few && one.accepted) continue;
    std::vector<double> clocks;
    for (const Answered& other : right) clocks.push_back(other.clock_s);
    if (few) clocks.insert(clocks.end(), {0.0, one.clock_s});
    const auto middle = clocks.begin() + static_cast<std::ptrdiff_t>(clocks.size() / 2);
    std::nth_element(clocks.begin(), middle, clocks.end());
    const double off = one.clock_s - *middle;
    if (std::abs(off) - one.clock_error_s <= kMostClock_s) continue;
    found.push_back({one.host, "clock",
                     fmt::format("clock: {} {} the others'", format_quantity(std::abs(off), Dimension::seconds),
                                 off < 0 ? "behind" : "before"),
                     "let chrony or ntpd set it: chronyc tracking", true});
  }
}

/// By its whole name, or its first label alone.
bool is_called(const std::string& in_file, const std::string& own) {
  return host_named(std::vector{in_file}, own).has_value();
}

/// The hosts' own names. The hosts file alone separates equal ones, and MPI's ranks do not. Another name than that of
/// the file may be another host than was meant.
void hold_names(const All& all, std::vector<Difference>& found) {
  std::map<std::string, std::size_t> count;
  for (const Answered& one : all) ++count[one.facts.host];
  for (const Answered& one : all) {
    const std::string& own = one.facts.host;
    if (one.kept || (count[own] == 1 && is_called(one.name, own))) continue;
    if (count[own] > 1)
      found.push_back({one.host, "name", fmt::format("name: calls itself {}, as {} others do", own, count[own] - 1),
                       "give each host a name of its own: hostnamectl set-hostname"});
    else if (std::any_of(all.begin(), all.end(),
                         [&](const Answered& other) { return other.host != one.host && is_called(other.name, own); }))
      found.push_back({one.host, "name",
                       fmt::format("name: calls itself {}, which the hosts file has for another", own),
                       "hosts file, name service and host disagree: getent hosts"});
  }
}

/// A host's report on its broken parts is judged absolutely, regardless of the others. A limit on its GPUs' clocks is
/// only reported, and their measurements decide.
void judge_health(const All& all, std::vector<Difference>& found) {
  for (const Answered& one : all) {
    if (one.kept) continue;
    for (const auto& [key, text] : one.facts.facts) {
      const std::string part = key.substr(0, key.find('.')), name = key.substr(std::min(key.size(), part.size() + 1));
      const FaultCount* const count =
          name.starts_with(kFaultKey) ? find_fault_count(name.substr(kFaultKey.size())) : nullptr;
      if (count != nullptr && count->always)
        found.push_back({one.host, part, fmt::format("{}: {}", part, text), std::string(count->fix), true});
      else if (name == "recovery")
        found.push_back({one.host, part, fmt::format("{}: the driver wants {}", part, text),
                         "drain the node, and do what the driver wants; nvidia-smi -q shows it", true});
      else if (name == "past_errors")
        found.push_back({one.host, part, fmt::format("{}: logged since the kernel started: {}", part, text),
                         "drain the node unless this was mended since; dmesg has the rest", false});
      else if (name == "held_back" && !slowed_by_hardware(text).empty())
        found.push_back({one.host, part, fmt::format("{}: held back: {}", part, text),
                         "look at cooling and power of this GPU", false});
      else if (name == "fabric" && (text == GpuFacts::kFabricNotStarted || text == GpuFacts::kFabricInProgress))
        found.push_back({one.host, part, fmt::format("{}: the switches between GPUs are not set up: {}", part, text),
                         "look at nvidia-fabricmanager, on NVL72 at nvidia-imex and the switch trays", false});
    }
  }
}

}  // namespace

std::vector<Difference> differences(const std::vector<Answered>& hosts) {
  const All all(hosts.begin(), hosts.end());
  std::vector<Difference> found;
  hold_names(all, found);
  judge_health(all, found);
  const bool known = std::any_of(all.begin(), all.end(), [](const Answered& one) { return one.accepted; });
  if (!known && all.size() < kFewestToCompare) return found;  // two that differ: who is right?
  for (const Rule& rule : kRules) hold_fact(all, rule.key, rule, found);
  hold(all, "GPUs", gpus, FaultWhen::less, "look for it with lspci and nvidia-smi; the kernel log names the Xid",
       found);
  for (const std::string& count = usual(references(all), gpus).value_or("0"); const Rule& rule : kGpuRules)
    for (int gpu = 0; gpu < std::atoi(count.c_str()); ++gpu) {
      All having = all;
      std::erase_if(having,
                    [&](const Answered& one) { return !one.facts.facts.contains(fmt::format("gpu{}.name", gpu)); });
      hold_fact(having, fmt::format("gpu{}.{}", gpu, rule.key), rule, found);
    }
  hold_ports(all, found);
  hold_nccl(all, found);
  hold_paths(all, found);
  hold_clocks(all, found);
  return found;
}

std::vector<Difference> same_addresses(const std::vector<Answered>& all) {
  std::vector<const Answered*> there;
  std::vector<HostAddresses> addresses;
  for (const Answered& one : all) {
    if (one.kept) continue;
    there.push_back(&one);
    addresses.push_back(one.facts.addresses);
  }
  std::vector<Difference> found;
  for (const SharedAddress& shared : shared_addresses(addresses))
    for (const std::size_t host : shared.hosts) {
      std::vector<std::string> others;
      for (const std::size_t other : shared.hosts)
        if (other != host) others.push_back(there[other]->name);
      found.push_back({there[host]->host, "address",
                       fmt::format("IP address {} is also an address of {}", shared.address, compressed(others)),
                       "give each host an address of its own: look at its network configuration and at DHCP leases",
                       true});
    }
  return found;
}

std::vector<Difference> same_machines(const std::vector<Answered>& all) {
  std::vector<Difference> found;
  std::map<std::string, const Answered*> first;
  for (const Answered& one : all)
    if (const auto [at, fresh] = first.emplace(one.facts.machine, &one); !fresh)
      found.push_back(
          {one.host, "machine",
           fmt::format("is the same machine as {}: both call themselves {}", at->second->name, one.facts.host),
           fmt::format("remove {} or {} from the hosts file, and start again with another --out; or correct the name "
                       "service, and use --resume",
                       at->second->name, one.name),
           true});
  return found;
}

}  // namespace headrace::bringup
