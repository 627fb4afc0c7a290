#include "harness/machine/examine/examine_network.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <string_view>

#include "harness/base/units.h"

namespace headrace::system {
namespace {

using Level = Finding::Level;

constexpr const char* kFalls = "carrier_down_count";  // every start of a machine counts one
constexpr unsigned kSplitLanes = 2;                   // of each port of a cable that is split in two (HDR100, NDR200)

class PortSection {
 public:
  void add(Level level, std::string subject, std::string text, std::string advice = "") {
    findings_.push_back({level, "network", std::move(subject), std::move(text), std::move(advice)});
  }
  std::vector<Finding> take() { return std::move(findings_); }

 private:
  std::vector<Finding> findings_;
};

std::string rate_in_words(double bytes_per_s) { return fmt::format("{:g} Gbit/s", bytes_per_s * 8 * 1e-9); }

std::string in_words(const NetworkLink& link) {
  std::string text = link.kind;
  if (link.rate > 0) text += ", " + rate_in_words(link.rate);
  if (link.lanes > 0) text += fmt::format(" on {} lane{}", link.lanes, link.lanes == 1 ? "" : "s");
  if (link.mtu > 0) text += fmt::format(", MTU {}", link.mtu);
  if (link.host_link) text += ", " + in_words(*link.host_link);
  if (link.numa_node) text += fmt::format(", NUMA node {}", *link.numa_node);
  if (!link.driver.empty()) text += ", " + link.driver;
  for (const std::string& name : link.interfaces) text += ", " + name;
  return text;
}

/// The fastest port of the same kind and driver: what this one should be, too.
double fastest_sister(const NetworkLink& link, const std::vector<NetworkLink>& all) {
  double most = link.rate;
  for (const NetworkLink& other : all)
    if (other.up && other.kind == link.kind && other.driver == link.driver) most = std::max(most, other.rate);
  return most;
}

/// The most lanes of any port of the same kind and driver.
unsigned most_lanes(const NetworkLink& link, const std::vector<NetworkLink>& all) {
  unsigned most = link.lanes;
  for (const NetworkLink& other : all)
    if (other.up && other.kind == link.kind && other.driver == link.driver) most = std::max(most, other.lanes);
  return most;
}

void port(PortSection& section, const NetworkLink& link, const std::vector<NetworkLink>& all) {
  const std::string text = in_words(link);
  if (!link.up) {
    // A port without a cable is no fault where others carry the traffic.
    const bool alone = std::none_of(all.begin(), all.end(), [&](const NetworkLink& other) {
      return other.up && other.rdma == link.rdma && other.physical == link.physical;
    });
    const bool half_up = link.state.find("LinkUp") != std::string::npos;
    section.add(alone || half_up ? Level::warning : Level::note, link.name,
                fmt::format("{}: {}", text, link.state.empty() ? "not up" : link.state),
                half_up                      ? "the cable is good, but no subnet manager has set the port up"
                : link.rdma && link.physical ? "look at the cable, and at the switch's port"
                                             : "");
    return;
  }
  if (link.lanes > 0 && (link.lanes < kSplitLanes || link.lanes < most_lanes(link, all)))
    return section.add(Level::warning, link.name, text, "lanes are lost: clean or change the cable");
  const double sisters = fastest_sister(link, all);
  if (link.rate > 0 && link.rate < sisters)
    return section.add(Level::warning, link.name, text,
                       fmt::format("slower than its sisters, which run at {}: look at the cable, the switch's "
                                   "port and its settings",
                                   rate_in_words(sisters)));
  if (link.host_link && link.host_link->degraded())
    return section.add(Level::warning, link.name, text,
                       "the card is in a slot, or on a riser, that gives less than it can take");
  if (link.lanes == kSplitLanes)
    return section.add(Level::note, link.name, text,
                       "two lanes are right for a port at a split cable (HDR100, NDR200); else two are lost");
  section.add(Level::good, link.name, text);
}

void errors(PortSection& section, const NetworkLink& link) {
  std::string text;
  for (const auto& [counter, count] : link.errors)
    if (count > 0 && counter != kFalls) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", counter, count);
  if (!text.empty())
    section.add(Level::note, link.name, "errors since the port came up: " + text,
                "those that grow while the network is busy mean a bad cable or port");
}

/// An IP packet of an RDMA port's interface should hold a whole RoCE packet.
void packet_size(PortSection& section, const NetworkLink& link, const std::vector<NetworkLink>& all) {
  if (link.kind != "RoCE" || !link.up) return;
  constexpr std::uint64_t kJumbo = 4200;  // path MTU 4096 and its headers
  for (const NetworkLink& other : all) {
    const bool carries = std::find(link.interfaces.begin(), link.interfaces.end(), other.name) != link.interfaces.end();
    if (carries && other.mtu > 0 && other.mtu < kJumbo)
      section.add(Level::note, link.name,
                  fmt::format("{} has MTU {}: RoCE sends packets of 1024 bytes at most", other.name, other.mtu),
                  fmt::format("ip link set {} mtu 9000, where the switches take it", other.name));
  }
}

void setting(PortSection& section, const Setting& s, const std::vector<NetworkLink>& links) {
  const std::string text = s.name + "=" + s.value;
  const bool on = !s.value.empty() && s.value != "0";
  const bool has_rdma = std::any_of(links.begin(), links.end(), [](const NetworkLink& l) { return l.rdma && l.up; });
  const auto there = [&](std::string_view name) {
    return std::any_of(links.begin(), links.end(),
                       [&](const NetworkLink& l) { return std::string_view(l.name).starts_with(name); });
  };
  if (s.name == "NCCL_IB_DISABLE" && on && has_rdma)
    return section.add(Level::warning, "NCCL", text + ": NCCL will use TCP although RDMA ports are up", "unset it");
  if ((s.name == "NCCL_P2P_DISABLE" || s.name == "NCCL_SHM_DISABLE") && on)
    return section.add(Level::warning, "NCCL", text + ": GPUs of this node will not talk directly",
                       "unset it, unless it works around a known fault");
  if (s.name == "NCCL_SOCKET_IFNAME" || s.name == "NCCL_IB_HCA") {
    // "^name" leaves out, "=name" is exact, "dev:port" names a port; a list is parted by commas.
    std::string_view rest = s.value;
    if (rest.starts_with('^')) return section.add(Level::good, "NCCL", text);
    if (rest.starts_with('=')) rest.remove_prefix(1);
    bool any = false;
    while (!rest.empty()) {
      const std::size_t comma = std::min(rest.find(','), rest.size());
      const std::string_view one = rest.substr(0, comma);
      any = any || there(one.substr(0, one.find(':')));
      rest.remove_prefix(std::min(comma + 1, rest.size()));
    }
    return any ? section.add(Level::good, "NCCL", text)
               : section.add(Level::warning, "NCCL", text + ": nothing here has such a name",
                             "NCCL will find no interface: mend or unset it");
  }
  section.add(Level::note, "NCCL", text);
}

}  // namespace

std::vector<Setting> nccl_settings() {
  std::vector<Setting> settings;
  for (char** e = environ; *e != nullptr; ++e) {
    const std::string_view one(*e);
    const std::size_t equals = one.find('=');
    if (one.starts_with("NCCL_") && equals != one.npos)
      settings.push_back({std::string(one.substr(0, equals)), std::string(one.substr(equals + 1))});
  }
  std::sort(settings.begin(), settings.end(), [](const Setting& a, const Setting& b) { return a.name < b.name; });
  return settings;
}

std::vector<Finding> examine_network(const std::vector<NetworkLink>& links, const std::vector<Setting>& settings) {
  PortSection section;
  for (const NetworkLink& link : links) {
    if (!link.rdma && !link.physical) continue;  // bridges, tunnels: as good as what is below them
    port(section, link, links);
    errors(section, link);
    packet_size(section, link, links);
  }
  if (std::none_of(links.begin(), links.end(), [](const NetworkLink& l) { return l.rdma; }))
    section.add(Level::missing, "RDMA", "no RDMA device: /sys/class/infiniband has none");
  for (const Setting& s : settings) setting(section, s, links);
  return section.take();
}

}  // namespace headrace::system
