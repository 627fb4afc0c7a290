// IP addresses by which other hosts know this one, and those that two hosts have by mistake.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "harness/base/system/own_addresses.h"

namespace headrace {

using HostAddresses = std::vector<system::InterfaceAddress>;

/// Those of `all` that lead out of the host: cards, bonds and VLANs over them, bridges with a card. Containers without
/// any of these get all of theirs. No loopback, no link-local addresses, no bridges without a card (docker0). No cards
/// at a USB bus, where each host has its own management controller at the same address. No way to a host's own DPU.
HostAddresses host_addresses(const HostAddresses& all, const std::string& sys = "/sys");

/// Two names of one machine, or of one container on it, have the same; two containers do not.
std::string network_identity();

struct SharedAddress {
  std::string address;
  std::vector<std::size_t> hosts;  // two or more
};
/// `of_hosts`: of each host that is a machine of its own. An address next to an own one on most of at least four hosts
/// belongs to a network inside each. So does one of some hosts if it is alone in its subnet, or on interfaces of its name.
/// Both are left out.
std::vector<SharedAddress> shared_addresses(const std::vector<HostAddresses>& of_hosts);

/// Addresses of this host, as bytes for `shared_address_fault`.
std::string packed_addresses();

/// "node3 and node4 have the same IP address 10.78.0.3: give each node an address of its own"; "" = no two have. `packed`: of
/// each process, one after another; `hosts`: the names of their hosts.
std::string shared_address_fault(const std::vector<std::string>& packed, const std::vector<std::string>& hosts);

}  // namespace headrace
