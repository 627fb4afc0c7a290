#include "harness/machine/examine/examine_network.h"

#include <fmt/format.h>
#include <strings.h>

#include <algorithm>
#include <cstdlib>
#include <set>
#include <string_view>

#include "harness/base/diagnostics.h"
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
  if (link.legs > 0)
    text += fmt::format(" over {}{} of {} legs of a bond", link.carrying < link.legs ? "one at a time of " : "",
                        link.legs_up, link.legs);
  if (link.lanes > 0) text += fmt::format(" on {} lane{}", link.lanes, link.lanes == 1 ? "" : "s");
  if (link.mtu > 0) text += fmt::format(", MTU {}", link.mtu);
  if (link.host_link) text += ", " + in_words(*link.host_link);
  if (link.numa_node) text += fmt::format(", NUMA node {}", *link.numa_node);
  if (!link.driver.empty()) text += ", " + link.driver;
  for (const std::string& name : link.interfaces) text += ", " + name;
  return text;
}

/// Data of one lane [B/s]: cards and switches of one generation have the same.
double lane_rate(const NetworkLink& link) { return link.lanes > 0 ? link.rate / link.lanes : 0; }

/// Functions and ports of the card.
std::size_t ports_of_card(const NetworkLink& link, const std::vector<NetworkLink>& all) {
  std::set<std::string> plugs;
  for (const NetworkLink& other : all)
    if (other.rdma == link.rdma && !link.card.empty() && other.card == link.card) plugs.insert(other.plug);
  return plugs.size();
}

/// Is the other port made to be as this one is? Cards of one model with as many ports are; storage and front-end cards are
/// others. Where no model is reported, the same driver and the same slot are all that is known.
bool are_sisters(const NetworkLink& one, const NetworkLink& other, const std::vector<NetworkLink>& all) {
  if (one.kind != other.kind || one.rdma != other.rdma || one.driver != other.driver || one.model != other.model)
    return false;
  if (!one.model.empty()) return ports_of_card(one, all) == ports_of_card(other, all);
  const auto slot = [](const NetworkLink& link) {
    return link.host_link ? std::pair(link.host_link->most_generation, link.host_link->most_lanes) : std::pair(0u, 0u);
  };
  return slot(one) == slot(other) && lane_rate(one) == lane_rate(other);
}

std::vector<const NetworkLink*> sisters_up(const NetworkLink& link, const std::vector<NetworkLink>& all) {
  std::vector<const NetworkLink*> sisters;
  for (const NetworkLink& other : all)
    if (&other != &link && other.up && are_sisters(link, other, all)) sisters.push_back(&other);
  return sisters;
}

/// A port without a cable is no fault where others carry the traffic. It is one if only this port of its model has
/// none.
Level level_of_down(const NetworkLink& link, const std::vector<NetworkLink>& all) {
  const bool others = std::any_of(all.begin(), all.end(), [&](const NetworkLink& other) {
    return other.up && other.rdma == link.rdma && other.physical == link.physical;
  });
  constexpr std::size_t kRails = 3;
  std::set<std::string> cards;
  bool own_up = false;
  for (const NetworkLink* sister : sisters_up(link, all)) {
    cards.insert(sister->card);
    own_up = own_up || sister->card == link.card;
  }
  const bool rail = link.rdma && !link.model.empty() && !link.card.empty() && !own_up && cards.size() >= kRails;
  return others && !rail ? Level::note : Level::warning;
}

/// A virtual function without an address is down, whatever its cable.
bool lacks_guid(const NetworkLink& link, const std::vector<NetworkLink>& all) {
  return link.is_virtual && link.kind == "InfiniBand" && link.state == "DOWN, LinkUp" &&
         std::ranges::any_of(all, [&](const NetworkLink& other) {
           const bool same_card = other.plug == link.plug || (!link.card.empty() && other.card == link.card);
           return other.rdma && other.up && !other.is_virtual && same_card;
         });
}

void port(PortSection& section, const NetworkLink& link, const std::vector<NetworkLink>& all) {
  const std::string text = in_words(link);
  if (link.kind == kManagesSwitches)
    return section.add(Level::note, link.name, fmt::format("{}: manages NVSwitches, and is no rail", text));
  if (lacks_guid(link, all))
    return section.add(Level::note, link.name,
                       fmt::format("{}: {}, a virtual function without a GUID", text, link.state),
                       "where it is to be used: ip link set PF vf N node_guid GUID, then port_guid GUID");
  if (!link.up) {
    const bool half_up = link.state.find("LinkUp") != std::string::npos;
    const std::string interface = link.interfaces.empty() ? "NAME" : link.interfaces.front();
    section.add(half_up ? Level::warning : level_of_down(link, all), link.name,
                fmt::format("{}: {}", text, link.state.empty() ? "not up" : link.state),
                half_up                        ? "the cable is good, but no subnet manager has set the port up"
                : !link.rdma || !link.physical ? ""
                : link.state.ends_with("Disabled")
                    ? fmt::format("the port is switched off: ip link set {} up, or the switch's setting", interface)
                    : "look at the cable, and at the switch's port");
    return;
  }
  if (link.legs_up < link.legs)
    return section.add(Level::warning, link.name, text,
                       "a leg of the bond is down: look at its cable and switch's port");
  unsigned lanes = link.lanes;
  double fastest = link.rate;
  for (const NetworkLink* sister : sisters_up(link, all)) {
    if (lane_rate(*sister) == lane_rate(link)) lanes = std::max(lanes, sister->lanes);
    fastest = std::max(fastest, sister->rate);
  }
  // Ethernet loses no lanes: 10 and 25 Gbit/s have one.
  const bool infiniband = link.kind == "InfiniBand";
  if (infiniband && link.lanes > 0 && (link.lanes < kSplitLanes || link.lanes < lanes))
    return section.add(Level::warning, link.name, text, "lanes are lost: clean or change the cable");
  if (link.rate > 0 && link.rate < fastest)
    return section.add(Level::warning, link.name, text,
                       fmt::format("slower than its sisters, which run at {}: look at the cable, the switch's "
                                   "port and its settings",
                                   rate_in_words(fastest)));
  const double host = host_rate(link, all);
  if (host > 0 && host < link.rate)
    return section.add(Level::warning, link.name, text,
                       fmt::format("PCI Express carries {} of its {}: the card is in a slot, or on a riser, that gives "
                                   "less than it can take",
                                   rate_in_words(host), rate_in_words(link.rate)));
  if (link.host_link && link.host_link->degraded()) {
    const auto sisters = sisters_up(link, all);
    const bool alike = link.rate > 0 && std::none_of(sisters.begin(), sisters.end(), [&](const NetworkLink* sister) {
                         return sister->host_link && (sister->host_link->generation > link.host_link->generation ||
                                                      sister->host_link->lanes > link.host_link->lanes);
                       });
    return section.add(alike ? Level::note : Level::warning, link.name, text,
                       alike ? "the slot gives less than the card can take, and enough for this port's rate"
                             : "the card is in a slot, or on a riser, that gives less than it can take");
  }
  constexpr double kFast = 100e9 / 8;
  if (link.rdma && link.strict_order && link.rate >= kFast)
    return section.add(Level::warning, link.name, text + ", relaxed ordering off",
                       "some hosts (EPYC) then carry three quarters of a fast port: turn PCIe relaxed ordering on in "
                       "the firmware's settings, and by mlxconfig -d DEVICE set PCI_WR_ORDERING=1");
  if (infiniband && link.lanes == kSplitLanes)
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
  const auto interfaces_of = [&all](const NetworkLink& port) {
    std::vector<const NetworkLink*> own;
    for (const NetworkLink& one : all)
      if (one.mtu > 0 && std::ranges::find(port.interfaces, one.name) != port.interfaces.end()) own.push_back(&one);
    return own;
  };
  std::uint64_t sisters = 0;  // the largest MTU of theirs
  for (const NetworkLink* sister : sisters_up(link, all))
    for (const NetworkLink* one : interfaces_of(*sister)) sisters = std::max(sisters, one->mtu);
  for (const NetworkLink* one : interfaces_of(link)) {
    if (one->mtu >= kJumbo) continue;
    const bool alone = sisters >= kJumbo;
    section.add(alone ? Level::warning : Level::note, link.name,
                fmt::format("{} has MTU {}{}: RoCE sends packets of 1024 bytes at most", one->name, one->mtu,
                            alone ? fmt::format(", and a sister port's has {}", sisters) : ""),
                fmt::format("ip link set {} mtu {}, where the switches take it", one->name, alone ? sisters : 9000));
  }
}

/// Something that NCCL may be asked to use.
struct Usable {
  std::string shown, name;  // "mlx5_0/1", "mlx5_0"
  int port = -1;
  bool up = false;
};

/// A list of names, expanded by NCCL's own rules.
void list_setting(PortSection& section, const NcclSetting& s, const std::vector<Usable>& all, const char* what) {
  const NcclList list(s.value);
  std::vector<std::string> selected, down, nothing, more;
  for (const Usable& one : all)
    if (list.selects(one.name, one.port)) (one.up ? selected : down).push_back(one.shown);
  for (const NcclList::Entry& entry : list.entries) {
    bool any = false, itself = false;
    std::vector<std::string> others;
    for (const Usable& one : all) {
      if (!list.names(entry, one.name, one.port)) continue;
      any = true;
      itself = itself || one.name == entry.name;
      if (one.name != entry.name && std::find(others.begin(), others.end(), one.name) == others.end())
        others.push_back(one.name);
    }
    if (!any) nothing.push_back(entry.port == -1 ? entry.name : fmt::format("{}:{}", entry.name, entry.port));
    if (itself && !others.empty()) more.push_back(fmt::format("{} takes {}, too", entry.name, join(others)));
  }
  const std::string text = s.in_words() + ": " + (selected.empty() ? "selects nothing that is up" : join(selected));
  // Lists of a whole cluster name interfaces that some hosts lack; a rail's card that is not there is missed.
  const bool missed = !list.all_but && (selected.empty() || s.name == "NCCL_IB_HCA");
  if (!nothing.empty())
    return section.add(missed ? Level::warning : Level::note, "NCCL",
                       fmt::format("{}; no {} here is named {}", text, what, join(nothing)),
                       missed ? "mend the list or unset it" : "");
  if (selected.empty())
    return section.add(Level::warning, "NCCL", down.empty() ? text : fmt::format("{}; not up: {}", text, join(down)),
                       fmt::format("NCCL will find no {}: mend or unset it", what));
  if (!more.empty())
    return section.add(Level::note, "NCCL", fmt::format("{}; {}", text, join(more, "; ")),
                       fmt::format("a name takes all that begin with it; for whole names write {}={}={}", s.name,
                                   list.all_but ? "^" : "", s.value.substr(list.all_but ? 1 : 0)));
  if (!down.empty() && !list.all_but)
    return section.add(Level::note, "NCCL", fmt::format("{}; not up: {}", text, join(down)), "");
  section.add(Level::good, "NCCL", text);
}

/// NCCL takes interfaces with an IP address alone, and loopback like any other.
void interface_setting(PortSection& section, const NcclSetting& s, const std::vector<IpInterface>& interfaces) {
  const NcclList list(s.value);  // of no entry: not set
  std::vector<std::string> selected, bare;
  std::vector<Usable> all;
  for (const IpInterface& one : interfaces) {
    all.push_back(
        {one.has_address ? one.name : one.name + " (no IP address)", one.name, -1, one.up && one.has_address});
    if (one.up && !list.entries.empty() && list.selects(one.name))
      (one.has_address ? selected : bare).push_back(one.name);
  }
  if (std::ranges::find(selected, "lo") != selected.end())
    return section.add(Level::warning, "NCCL",
                       fmt::format("{}: {}; lo reaches this host alone", s.in_words(), join(selected)),
                       list.all_but ? fmt::format("write {}={},lo", s.name, s.value)
                                    : "for several hosts, name an interface that the others reach");
  if (selected.empty() && !bare.empty())
    return section.add(Level::warning, "NCCL", fmt::format("{}: no IP address on {}", s.in_words(), join(bare)),
                       "NCCL will find no network interface: give it an address, or name the bond or bridge above it");
  list_setting(section, s, all, "network interface");
}

void setting(PortSection& section, const NcclSetting& s, const std::vector<NetworkLink>& links,
             const std::vector<IpInterface>& interfaces) {
  char* end = nullptr;
  const bool on = std::strtoll(s.value.c_str(), &end, 0) != 0;  // as NCCL reads it
  const bool is_switch = s.name == "NCCL_IB_DISABLE" || s.name == "NCCL_P2P_DISABLE" || s.name == "NCCL_SHM_DISABLE";
  if (is_switch && !s.value.empty() && end == s.value.c_str())
    return section.add(Level::note, "NCCL", s.in_words() + ": NCCL takes numbers only; this is read as 0");
  const bool has_rdma = std::any_of(links.begin(), links.end(), [](const NetworkLink& l) { return l.rdma && l.up; });
  const bool tcp = s.name == "NCCL_NET" && ::strcasecmp(s.value.c_str(), "Socket") == 0;  // as NCCL compares
  if (((s.name == "NCCL_IB_DISABLE" && on) || tcp) && has_rdma)
    return section.add(Level::warning, "NCCL", s.in_words() + ": NCCL will use TCP although RDMA ports are up",
                       "unset it");
  if ((s.name == "NCCL_P2P_DISABLE" || s.name == "NCCL_SHM_DISABLE") && on)
    return section.add(Level::warning, "NCCL", s.in_words() + ": GPUs of this node will not talk directly",
                       "unset it, unless it works around a known fault");
  std::vector<Usable> all;
  if (s.name == "NCCL_IB_HCA") {
    for (const NetworkLink& link : links) {
      if (!link.rdma) continue;
      const std::size_t slash = link.name.rfind('/');
      all.push_back({link.name, link.name.substr(0, slash), std::atoi(link.name.c_str() + slash + 1), link.up});
    }
    return list_setting(section, s, all, "RDMA port");
  }
  if (s.name == "NCCL_SOCKET_IFNAME") return interface_setting(section, s, interfaces);
  section.add(Level::note, "NCCL", s.in_words());
}

}  // namespace

std::vector<Finding> examine_network(const std::vector<NetworkLink>& links, const std::vector<NcclSetting>& settings,
                                     const std::vector<IpInterface>& interfaces) {
  PortSection section;
  for (const NetworkLink& link : links) {
    if (!link.rdma && !link.physical) continue;  // bridges, tunnels: as good as the links below them
    // The RDMA device reports a port that is in both lists.
    const bool twice = !link.rdma && std::any_of(links.begin(), links.end(), [&](const NetworkLink& other) {
      return other.rdma &&
             std::find(other.interfaces.begin(), other.interfaces.end(), link.name) != other.interfaces.end();
    });
    if (twice) {
      section.add(link.up ? Level::good : Level::note, link.name,
                  in_words(link) + (link.up ? "" : ": " + (link.state.empty() ? "not up" : link.state)));
      errors(section, link);
      continue;
    }
    port(section, link, links);
    errors(section, link);
    packet_size(section, link, links);
  }
  if (std::none_of(links.begin(), links.end(), [](const NetworkLink& l) { return l.rdma; }))
    section.add(Level::missing, "RDMA", "no RDMA device: /sys/class/infiniband has none");
  for (const NcclSetting& s : settings) setting(section, s, links, interfaces);
  return section.take();
}

}  // namespace headrace::system
