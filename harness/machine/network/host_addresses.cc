#include "harness/machine/network/host_addresses.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "harness/base/system/kernel_files.h"
#include "harness/machine/network_links.h"
#include "harness/record/ranks/wire.h"

namespace headrace {
namespace {

using system::Carrier;
using system::InterfaceAddress;

constexpr std::size_t kManyHosts = 4;

bool is_ipv6(const std::string& address) { return address.find(':') != address.npos; }

bool is_link_local(const std::string& address) {
  return address.starts_with("169.254.") || address.starts_with("fe80:");
}

bool is_at_usb(const std::string& interface, const std::string& sys) {
  std::error_code ignored;
  const auto bus = std::filesystem::read_symlink(sys + "/class/net/" + interface + "/device/subsystem", ignored);
  return bus.filename() == "usb";
}

/// Of a BlueField card: the way to its own system, at the same address in each host.
bool is_to_own_card(const std::string& interface) { return interface.starts_with("tmfifo_net"); }

/// "10.0.0." of "10.0.0.7"; of an IPv6 address its first 64 bits, as far as they are written.
std::string subnet_of(const std::string& address) {
  if (const std::size_t dot = address.rfind('.'); dot != address.npos) return address.substr(0, dot + 1);
  std::size_t end = 0;
  for (int group = 0; group < 4 && end < address.size(); ++group) {
    end = std::min(address.find(':', end), address.size() - 1) + 1;
    if (end < address.size() && address[end] == ':') break;
  }
  return address.substr(0, end);
}

using HostsOf = std::map<std::string, std::vector<std::size_t>>;

HostsOf hosts_of_addresses(const std::vector<HostAddresses>& of_hosts) {
  HostsOf hosts;
  for (std::size_t host = 0; host < of_hosts.size(); ++host)
    for (const InterfaceAddress& one : of_hosts[host]) {
      std::vector<std::size_t>& with = hosts[one.address];
      if (with.empty() || with.back() != host) with.push_back(host);
    }
  return hosts;
}

}  // namespace

HostAddresses host_addresses(const HostAddresses& all, const std::string& sys) {
  HostAddresses leading_out, others;
  for (const InterfaceAddress& one : all) {
    if (one.loopback || is_link_local(one.address) || is_at_usb(one.interface, sys) || is_to_own_card(one.interface))
      continue;
    const Carrier carrier = system::carrier_of(one.interface, sys);
    if (carrier == Carrier::stays_inside) continue;
    (carrier == Carrier::other ? others : leading_out).push_back(one);
  }
  return leading_out.empty() ? others : leading_out;
}

std::string network_identity() {
  struct stat network {};
  ::stat("/proc/self/ns/net", &network);
  return fmt::format("{} {}", system::read_line("/proc/sys/kernel/random/boot_id").value_or(""), network.st_ino);
}

std::vector<SharedAddress> shared_addresses(const std::vector<HostAddresses>& of_hosts) {
  const HostsOf hosts = hosts_of_addresses(of_hosts);
  const auto has_own = [&](std::size_t host) {
    return std::any_of(of_hosts[host].begin(), of_hosts[host].end(),
                       [&](const InterfaceAddress& one) { return hosts.at(one.address).size() == 1; });
  };
  // Others are at other addresses of that network, so hosts reach one another there.
  const auto joins_hosts = [&](const std::string& address, std::size_t host) {
    const auto own = std::ranges::find(of_hosts[host], address, &InterfaceAddress::address);
    return std::ranges::any_of(of_hosts, [&](const HostAddresses& other) {
      return std::ranges::any_of(other, [&](const InterfaceAddress& one) {
        return one.address != address &&
               (subnet_of(one.address) == subnet_of(address) ||
                (one.interface == own->interface && is_ipv6(one.address) == is_ipv6(address)));
      });
    });
  };
  std::vector<SharedAddress> shared;
  for (const auto& [address, with] : hosts) {
    if (with.size() < 2) continue;
    const bool of_few = with.size() < of_hosts.size() &&
                        std::ranges::none_of(with, [&](std::size_t host) { return joins_hosts(address, host); });
    if (of_few && std::all_of(with.begin(), with.end(), has_own)) continue;
    const bool of_most = with.size() >= kManyHosts && 2 * with.size() > of_hosts.size();
    if (!of_most || !std::all_of(with.begin(), with.end(), has_own)) shared.push_back({address, with});
  }
  return shared;
}

std::string packed_addresses() {
  std::vector<std::string> own{network_identity()};
  for (const InterfaceAddress& one : host_addresses(system::interface_addresses())) own.push_back(one.address);
  return wire::Writer().put(own).bytes();
}

std::string shared_address_fault(const std::vector<std::string>& packed, const std::vector<std::string>& hosts) {
  std::set<std::string> identities;  // several processes of one host have its addresses
  std::vector<HostAddresses> addresses;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < packed.size(); ++i) {
    std::vector<std::string> own;
    wire::Reader in(packed[i]);
    in.get(own);
    if (own.empty() || !identities.insert(own.front()).second) continue;
    names.push_back(hosts[i]);
    HostAddresses& of = addresses.emplace_back();
    for (std::size_t a = 1; a < own.size(); ++a) of.push_back({"", own[a]});
  }
  const std::vector<SharedAddress> shared = shared_addresses(addresses);
  if (shared.empty()) return "";
  return fmt::format("{} and {} have the same IP address {}: give each node an address of its own",
                     names[shared.front().hosts[0]], names[shared.front().hosts[1]], shared.front().address);
}

}  // namespace headrace
