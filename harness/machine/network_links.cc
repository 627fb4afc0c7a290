// Reading /sys/class/net and /sys/class/infiniband.
#include "harness/machine/network_links.h"

#include <fmt/format.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <set>
#include <span>
#include <string>

#include "harness/base/system/kernel_files.h"
#include "harness/base/system/own_addresses.h"
#include "harness/base/system/unique_fd.h"
#include "harness/machine/pci_path.h"
#include "harness/machine/rdma_counters.h"

namespace headrace::system {
namespace {

// Which driver of the kernel an interface has.

/// "veth", "bridge", "dummy", "mlx5_core", of this network namespace whatever /sys shows; "" where the kernel gives none.
std::string interface_driver(const std::string& name) {
  const UniqueFd any(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  ifreq request{};
  if (!any || name.size() >= sizeof request.ifr_name) return "";
  std::copy(name.begin(), name.end(), request.ifr_name);
  ethtool_drvinfo info{};
  info.cmd = ETHTOOL_GDRVINFO;
  request.ifr_data = reinterpret_cast<char*>(&info);
  if (::ioctl(any.get(), SIOCETHTOOL, &request) != 0) return "";
  return {info.driver, ::strnlen(info.driver, sizeof info.driver)};
}

namespace fs = std::filesystem;

// Ethernet. Dropped packets are not among them: a busy host drops some that no program waits for.
constexpr std::array<std::string_view, 5> kEthernetErrors{"rx_errors", "tx_errors", "rx_crc_errors", "rx_frame_errors",
                                                          "tx_carrier_errors"};

std::string line(const std::string& path) { return read_line(path).value_or(""); }

double leading_number(std::string_view text) {
  double value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

/// The text behind the number of "4: ACTIVE".
std::string behind_colon(const std::string& text) {
  const std::size_t colon = text.find(':');
  return std::string(trim(colon == text.npos ? std::string_view(text) : std::string_view(text).substr(colon + 1)));
}

/// "2.5 GT/s PCIe", "16.0 GT/s PCIe"; 0 for "Unknown".
unsigned generation_of(const std::string& speed) { return pcie_generation_at(leading_number(speed)); }

void read_counters(const std::string& folder, std::span<const std::string_view> names, NetworkLink& link) {
  for (const std::string_view name : names)
    if (const auto count = read_number(fmt::format("{}/{}", folder, name))) link.errors[std::string(name)] = *count;
}

/// Virtual functions lead to the one that they are of; a function with several plugs numbers them.
std::string plug_of(const std::string& device, const std::string& number) {
  std::error_code ignored;
  const std::string physical = device + "/physfn";
  return fs::canonical(fs::exists(physical, ignored) ? physical : device, ignored).string() + "#" + number;
}

/// "0000:29:00.1" at the end of a device's place, before a plug's number; "" = it is on no PCI bus.
std::string pci_function_in(const std::string& plug) {
  const std::string place = plug.substr(0, plug.rfind('#'));
  const std::string last = place.substr(place.rfind('/') + 1);
  constexpr std::size_t kDot = 10;
  return last.size() == kDot + 2 && last[4] == ':' && last[7] == ':' && last[kDot] == '.' ? last : "";
}

/// What cards of one make have in common.
std::string model_of(const std::string& device) {
  std::string model;
  for (const char* file : {"vendor", "device", "subsystem_vendor", "subsystem_device"})
    if (const std::string word = line(device + "/" + file); !word.empty()) model += (model.empty() ? "" : ":") + word;
  return model;
}

void read_device(const std::string& device, const std::string& number, NetworkLink& link) {
  std::error_code ignored;
  link.physical = fs::exists(device, ignored);
  if (!link.physical) return;
  link.is_virtual = fs::exists(device + "/physfn", ignored);
  link.plug = plug_of(device, number);
  link.card = pci_function_in(link.plug);
  link.card.erase(std::min(link.card.rfind('.'), link.card.size()));
  link.model = model_of(device);
  const fs::path driver = fs::read_symlink(device + "/driver", ignored);
  link.driver = driver.filename().string();
  const std::string node = line(device + "/numa_node");
  if (!node.empty() && node[0] != '-') link.numa_node = static_cast<int>(leading_number(node));
  link.host_link = host_link_of(device);
  link.strict_order = keeps_strict_order(device);
}

/// Interfaces below this one: slaves of a bond, ports of a bridge, what a VLAN is of.
std::vector<std::string> lower_interfaces(const std::string& folder) {
  constexpr std::string_view kLower = "lower_";
  std::vector<std::string> names;
  for (const std::string& entry : entries(folder))
    if (entry.starts_with(kLower)) names.push_back(entry.substr(kLower.size()));
  return names;
}

/// "bond", "vlan", "bridge"...; "" where the kernel gives none, as of teams and veths.
std::string kind_of(const std::string& folder) {
  constexpr std::string_view kKey = "DEVTYPE=";
  std::error_code ignored;
  for (const char* kind : {"bridge", "bonding"})
    if (fs::exists(folder + "/" + kind, ignored)) return kind;
  const std::string text = read_text(folder + "/uevent").value_or("");
  const std::size_t at = text.find(kKey);
  if (at == text.npos) return "";
  return text.substr(at + kKey.size(), text.find('\n', at) - at - kKey.size());
}

/// Stacks are a few levels high: a VLAN of a bond of cards.
Carrier carrier_in(const std::string& net, const std::string& name, unsigned levels) {
  const std::string folder = net + "/" + name;
  std::error_code ignored;
  if (fs::exists(folder + "/device", ignored)) return Carrier::card;
  const std::vector<std::string> lower = lower_interfaces(folder);
  const bool over = levels > 0 && std::any_of(lower.begin(), lower.end(), [&](const std::string& one) {
                      const Carrier below = carrier_in(net, one, levels - 1);
                      return below == Carrier::card || below == Carrier::over_card || below == Carrier::bridge;
                    });
  const std::string kind = kind_of(folder);
  if (kind == "bridge") return over ? Carrier::bridge : Carrier::stays_inside;
  constexpr std::array<std::string_view, 6> kStacks{"bonding", "bond", "vlan", "macvlan", "ipvlan", "macsec"};
  if (kind.empty()) return over ? Carrier::over_card : Carrier::other;
  if (std::find(kStacks.begin(), kStacks.end(), kind) == kStacks.end()) return Carrier::other;
  // A container sees its macvlan, and not the host's card below it.
  const bool hidden = lower.empty() && kind != "bonding" && kind != "bond";
  return over || hidden ? Carrier::over_card : Carrier::other;
}

/// A VRF groups interfaces that keep their addresses.
bool is_member(const std::string& folder) {
  std::error_code ignored;
  return fs::exists(folder + "/master", ignored) && kind_of(folder + "/master") != "vrf";
}

/// "unknown" is what drivers that never set a state leave, and counts as up (Documentation/networking/operstates.rst).
bool carries(const std::string& operstate) { return operstate == "up" || operstate == "unknown"; }

NetworkLink interface(const std::string& folder, const std::string& name) {
  NetworkLink link;
  link.name = name;
  link.kind = "Ethernet";
  link.state = line(folder + "/operstate");
  link.rate = leading_number(line(folder + "/speed")) * 1e6 / 8;  // Mbit/s; -1 when down
  if (link.rate < 0) link.rate = 0;
  link.mtu = read_number(folder + "/mtu").value_or(0);
  read_device(folder + "/device", line(folder + "/dev_port"), link);
  link.up = link.physical ? carries(link.state) : link.state == "up";
  link.member = is_member(folder);
  read_counters(folder + "/statistics", kEthernetErrors, link);
  if (const auto downs = read_number(folder + "/carrier_down_count")) link.errors["carrier_down_count"] = *downs;
  return link;
}

/// Do a bond's legs carry data at the same time? In active-backup one does, and in broadcast all carry the same.
bool shares_out(const std::string& bond) {
  const std::string mode = line(bond + "/bonding/mode");  // "802.3ad 4"
  return !mode.starts_with("active-backup") && !mode.starts_with("broadcast");
}

/// An RDMA device over a bond reports the rate of one leg.
void read_legs(const std::string& net, NetworkLink& link) {
  for (const std::string& own : link.interfaces) {
    if (kind_of(net + "/" + own) != "bonding") continue;
    const bool all = shares_out(net + "/" + own);
    for (const std::string& leg : lower_interfaces(net + "/" + own)) {
      if (++link.legs > 1 && all) link.carrying = link.legs;
      link.legs_up += carries(line(net + "/" + leg + "/operstate"));
    }
  }
  link.rate *= link.carrying;
}

/// Their drivers give all cards of a host one GUID.
bool has_guid_of_host(const std::string& driver) {
  constexpr std::array<std::string_view, 3> kOmniPath{"hfi1", "ib_qib", "ib_ipath"};
  return std::ranges::find(kOmniPath, driver) != kOmniPath.end();
}

/// A card with several attachments to the host shows each plug as several devices, whose functions have one number.
void read_card(const std::string& device, const std::string& port, NetworkLink& link) {
  if (const std::string board = line(device + "/board_id"); !board.empty() && !link.model.empty())
    link.model += ", " + board;
  link.firmware = line(device + "/fw_ver");
  const std::string guid = line(device + "/sys_image_guid");
  if (!link.physical || has_guid_of_host(link.driver) || guid.find_first_not_of("0:") == guid.npos) return;
  const std::string function = pci_function_in(link.plug);
  link.plug = fmt::format("{}#{}#{}", guid, function.substr(std::min(function.rfind('.'), function.size())), port);
}

/// "p1": a port's number at its card, by its interface's name or its driver. "" = neither.
std::string port_of_card(const std::string& sys, const NetworkLink& link) {
  const auto number_behind = [](const std::string& name, std::string_view before) {
    const std::size_t digits = name.find_last_not_of("0123456789") + 1;
    const bool fits = digits < name.size() && digits >= before.size() &&
                      name.compare(digits - before.size(), before.size(), before) == 0;
    return fits ? "p" + name.substr(digits) : "";
  };
  for (const std::string& own : link.interfaces) {
    const std::string reported = line(sys + "/class/net/" + own + "/phys_port_name");
    if (!reported.empty() && reported == number_behind(reported, "p")) return reported;
    if (const std::string name = number_behind(own, "np"); !name.empty()) return name;
  }
  return "";
}

/// In a virtual machine each port of a card has an address of its own, with function 0.
void part_ports_of_card(const std::string& sys, std::vector<NetworkLink>& links) {
  std::vector<std::string> ports;
  for (const NetworkLink& link : links) ports.push_back(link.rdma && !link.is_virtual ? port_of_card(sys, link) : "");
  std::set<std::size_t> parted;
  for (std::size_t a = 0; a < links.size(); ++a)
    for (std::size_t b = 0; b < links.size(); ++b)
      if (!ports[a].empty() && !ports[b].empty() && ports[a] != ports[b] && links[a].plug == links[b].plug &&
          links[a].card != links[b].card)
        parted.insert(a);
  for (const std::size_t i : parted) links[i].plug += "#" + ports[i];
}

/// The card's product data have a mark, which root alone can read. Cards are slow to give them: those with few lanes alone
/// are asked.
bool manages_switches(const std::string& device, const NetworkLink& link) {
  constexpr unsigned kFewLanes = 4;
  return link.host_link && link.host_link->most_lanes <= kFewLanes &&
         read_text(device + "/device/vpd").value_or("").find("SW_MNG") != std::string::npos;
}

/// "4: RNIC" is iWARP's.
std::string kind_of_rdma(const std::string& device, const std::string& layer) {
  if (layer != "Ethernet") return layer.empty() ? "RDMA" : layer;
  return line(device + "/node_type").starts_with("4") ? "iWARP" : "RoCE";
}

/// Devices that programs can open, by the names of their folders in /sys/class/infiniband; empty where /sys lists none.
std::set<std::string> opened_by_programs(const std::string& sys) {
  std::set<std::string> names;
  for (const std::string& one : entries(sys + "/class/infiniband_verbs"))
    if (const std::string name = line(sys + "/class/infiniband_verbs/" + one + "/ibdev"); !name.empty())
      names.insert(name);
  return names;
}

NetworkLink rdma_port(const std::string& sys, const std::string& name, const std::string& port) {
  const std::string device = sys + "/class/infiniband/" + name;
  const std::string folder = device + "/ports/" + port;
  NetworkLink link;
  link.name = name + "/" + port;
  link.rdma = true;
  link.kind = kind_of_rdma(device, line(folder + "/link_layer"));
  const std::string logical = behind_colon(line(folder + "/state"));
  const std::string physical = behind_colon(line(folder + "/phys_state"));
  link.state = logical + (physical.empty() ? "" : ", " + physical);
  link.up = logical == "ACTIVE";
  const std::string rate = line(folder + "/rate");  // "400 Gb/sec (4X NDR)"
  link.rate = leading_number(rate) * 1e9 / 8;
  if (const std::size_t open = rate.find('('); open != rate.npos)
    link.lanes = static_cast<unsigned>(leading_number(std::string_view(rate).substr(open + 1)));
  read_device(device + "/device", port, link);
  if (manages_switches(device, link)) link.kind = kManagesSwitches;
  for (const std::string& own : entries(folder + "/gid_attrs/ndevs")) {
    const std::string with = line(folder + "/gid_attrs/ndevs/" + own);
    if (!with.empty() && std::find(link.interfaces.begin(), link.interfaces.end(), with) == link.interfaces.end())
      link.interfaces.push_back(with);
  }
  read_legs(sys + "/class/net", link);
  read_counters(folder + "/counters", kWireErrors, link);
  read_counters(folder + "/hw_counters", kTransportErrors, link);
  return link;
}

}  // namespace

std::optional<HostLink> host_link_of(const std::string& device_path) {
  HostLink link;
  link.generation = generation_of(line(device_path + "/current_link_speed"));
  link.most_generation = generation_of(line(device_path + "/max_link_speed"));
  const auto lanes = [&](const char* file) {
    return static_cast<unsigned>(read_number(device_path + "/" + file).value_or(0));
  };
  link.lanes = lanes("current_link_width");
  link.most_lanes = lanes("max_link_width");
  if (link.generation == 0 || link.lanes == 0 || link.lanes > 32) return std::nullopt;
  return link;
}

double rate_of(const HostLink& link) {
  const auto generation = pcie_generation(link.generation);
  return generation ? generation->gigatransfers_per_s * 1e9 / 8 * generation->encoding * link.lanes : 0;
}

std::string in_words(const HostLink& link) {
  std::string now = fmt::format("PCIe gen {} x{}", link.generation, link.lanes);
  if (!link.degraded()) return now;
  return fmt::format("{} of gen {} x{}", now, link.most_generation, link.most_lanes);
}

Carrier carrier_of(const std::string& name, const std::string& sys) {
  constexpr unsigned kLevels = 4;
  const Carrier carrier = carrier_in(sys + "/class/net", name, kLevels);
  if (carrier != Carrier::other || sys != "/sys") return carrier;
  // /sys may be of another network namespace.
  const std::string driver = interface_driver(name);
  return driver == "bridge" || driver == "dummy" ? Carrier::stays_inside : carrier;
}

std::vector<IpInterface> ip_interfaces(const std::string& sys) {
  std::vector<IpInterface> all;
  const std::vector<InterfaceAddress> addresses = interface_addresses(true);
  const auto has_address = [&](const std::string& name) {
    // Nothing is known of those that /sys shows of another machine or network namespace.
    return sys != "/sys" || ::if_nametoindex(name.c_str()) == 0 ||
           std::ranges::any_of(addresses, [&](const InterfaceAddress& one) { return one.interface == name; });
  };
  for (const std::string& name : entries(sys + "/class/net")) {
    const std::string state = line(sys + "/class/net/" + name + "/operstate");
    const bool up = carries(state);
    if (!state.empty()) all.push_back({name, up, !up || has_address(name)});
  }
  return all;
}

std::vector<NetworkLink> network_links(const std::string& sys) {
  std::vector<NetworkLink> links;
  for (const std::string& name : entries(sys + "/class/net")) {
    const std::string folder = sys + "/class/net/" + name;
    constexpr std::uint64_t kEthernet = 1;  // ARPHRD_ETHER
    if (read_number(folder + "/type") != kEthernet) continue;
    links.push_back(interface(folder, name));
    links.back().carrier = carrier_of(name, sys);
  }
  const std::set<std::string> usable = opened_by_programs(sys);
  for (const std::string& name : entries(sys + "/class/infiniband")) {
    // The planes of a card (ConnectX-8) are a device of their own, for the subnet manager alone.
    if (!usable.empty() && !usable.contains(name)) continue;
    for (const std::string& port : entries(sys + "/class/infiniband/" + name + "/ports")) {
      NetworkLink link = rdma_port(sys, name, port);
      for (const NetworkLink& other : links) {
        const auto& own = link.interfaces;
        if (other.physical && std::find(own.begin(), own.end(), other.name) != own.end()) link.plug = other.plug;
      }
      read_card(sys + "/class/infiniband/" + name, port, link);
      links.push_back(std::move(link));
    }
  }
  part_ports_of_card(sys, links);
  return links;
}

double host_rate(const NetworkLink& link, const std::vector<NetworkLink>& all) {
  double rate = 0;
  for (const NetworkLink& other : all) {
    if (other.rdma != link.rdma || other.plug != link.plug || (other.card == link.card && &other != &link)) continue;
    if (!other.host_link) return 0;
    rate += rate_of(*other.host_link);
  }
  return rate;
}

std::map<std::string, std::string> risen_errors(const std::vector<NetworkLink>& before,
                                                const std::vector<NetworkLink>& after) {
  std::map<std::string, std::string> risen;
  for (const NetworkLink& now : after) {
    const auto then =
        std::find_if(before.begin(), before.end(), [&](const NetworkLink& l) { return l.name == now.name; });
    if (then == before.end()) continue;
    std::string text;
    for (const auto& [counter, count] : now.errors) {
      const auto old = then->errors.find(counter);
      if (old != then->errors.end() && count > old->second)
        text += fmt::format("{}{} +{}", text.empty() ? "" : ", ", counter, count - old->second);
    }
    if (!text.empty()) risen[now.name] = text;
  }
  return risen;
}

}  // namespace headrace::system
