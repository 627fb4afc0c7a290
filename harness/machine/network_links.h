// Network ports in /sys: Ethernet interfaces and RDMA ports, their state and their path to the host. Also the counters
// that rise when a cable, a plug or a switch is bad.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace headrace::system {

/// The PCI Express link of a device, now and at most: generation 1..7 and lanes; 0 = not reported.
struct HostLink {
  unsigned generation = 0, most_generation = 0;
  unsigned lanes = 0, most_lanes = 0;
  bool degraded() const { return generation < most_generation || lanes < most_lanes; }
};
/// The host link of a device's folder in /sys; nothing where the device is on no PCI Express bus.
std::optional<HostLink> host_link_of(const std::string& device_path);
/// That it carries one way [B/s]; 0 = of an unknown generation.
double rate_of(const HostLink& link);
/// "PCIe gen 4 x16", "PCIe gen 3 x8 of gen 4 x16".
std::string in_words(const HostLink& link);

/// What carries an interface's packets out of the host.
enum class Carrier {
  card,         // a device of its own
  over_card,    // a bond, team, VLAN, macvlan or ipvlan over a card
  bridge,       // a bridge that a card is a port of
  other,        // a veth, a tunnel, or what /sys does not show
  stays_inside  // a bridge without a card (docker0, virbr0), a dummy
};

/// A function of a card that manages a node's NVSwitches (B200): no traffic goes by it.
inline constexpr const char* kManagesSwitches = "NVSwitch management";

struct NetworkLink {
  std::string name;  // "eth0", "mlx5_0/1" (RDMA device and port)
  std::string kind;  // "Ethernet", "InfiniBand", "RoCE", "iWARP", "RDMA" (EFA), kManagesSwitches
  bool rdma = false;
  bool physical = false;    // there is a device behind it
  bool is_virtual = false;  // a virtual function, whose physical one is here, too
  Carrier carrier = Carrier::other;
  bool member = false;  // of a bond, team or bridge, which has the address
  bool up = false;
  std::string state;      // as the kernel names it: "up", "ACTIVE, LinkUp"
  double rate = 0;        // [B/s], one way, of all legs that carry data; 0 = not reported
  unsigned lanes = 0;     // RDMA: 4 of "4X NDR"; 0 = not reported
  std::uint64_t mtu = 0;  // [B]; 0 = not reported
  std::string driver;
  std::optional<int> numa_node;
  std::optional<HostLink> host_link;
  bool strict_order = false;  // PCI Express' relaxed ordering is off
  /// The same for all parts of one plug. These are a card's function, its virtual ones, those of the card's switch, and
  /// the RDMA port of an interface. "" = no device.
  std::string plug;
  std::string card;   // "0000:29:00", the card's PCI address without its function; "" = not reported
  std::string model;  // of the card, by its PCI identity and board: "0x15b3:0x1021, MT_0000000838"; "" = not reported
  std::string firmware;                         // RDMA; "" = not reported
  unsigned legs = 0, legs_up = 0;               // RDMA: cards' interfaces of the bond that it is over; 0 = no bond
  unsigned carrying = 1;                        // of them, at the same time: one where the others are for its failure
  std::vector<std::string> interfaces;          // RDMA: the network interfaces of the same port
  std::map<std::string, std::uint64_t> errors;  // counters that should stay as they are
};

/// The carrier of one interface, whatever its type.
Carrier carrier_of(const std::string& interface, const std::string& sys = "/sys");

/// An interface that IP packets can go by, whatever its type: IPoIB and loopback, too.
struct IpInterface {
  std::string name;
  bool up = false;
  bool has_address = true;
};
/// By name. Never throws.
std::vector<IpInterface> ip_interfaces(const std::string& sys = "/sys");

/// Ethernet interfaces by name, RDMA ports last. `sys` is where /sys is. Never throws.
std::vector<NetworkLink> network_links(const std::string& sys = "/sys");

/// What PCI Express carries of a port's plug, over all the attachments that its card has to the host [B/s]. 0 = not
/// reported.
double host_rate(const NetworkLink& link, const std::vector<NetworkLink>& all);

/// "port_rcv_errors +3" of every error counter that rose between two looks, by link name; those
/// that went back were reset.
std::map<std::string, std::string> risen_errors(const std::vector<NetworkLink>& before,
                                                const std::vector<NetworkLink>& after);

}  // namespace headrace::system
