#include "harness/network/rdma_place.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

#include "harness/base/diagnostics.h"
#include "harness/base/error.h"

namespace headrace {
namespace {

const char* kind_word(RdmaGid::Kind kind) {
  switch (kind) {
    case RdmaGid::Kind::roce_v1:
      return "RoCE v1";
    case RdmaGid::Kind::roce_v2:
      return "RoCE v2";
    case RdmaGid::Kind::infiniband:
      break;
  }
  return "InfiniBand";
}

bool is_ipv4(const RdmaGid& gid) {
  static constexpr std::array<std::uint8_t, 12> kMapped{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  return std::equal(kMapped.begin(), kMapped.end(), gid.bytes.begin());
}
bool is_link_local(const RdmaGid& gid) { return gid.bytes[0] == 0xfe && (gid.bytes[1] & 0xc0) == 0x80; }

/// An IPv4 address in IPv6's clothes is the same address; a scope ("%eth0") is none of it.
std::string bare(std::string address) {
  address = address.substr(0, address.find('%'));
  return address.starts_with("::ffff:") ? address.substr(7) : address;
}

bool has_address(const RdmaPort& port, const std::string& address) {
  return !address.empty() &&
         std::any_of(port.gids.begin(), port.gids.end(), [&](const RdmaGid& g) { return gid_text(g) == address; });
}

std::string in_words(const RdmaGid& gid) {
  return fmt::format("{} ({}, {}{})", gid.index, kind_word(gid.kind), gid_text(gid),
                     gid.interface.empty() ? "" : ", " + gid.interface);
}

std::string all_in_words(std::span<const RdmaPort> ports) {
  std::vector<std::string> words;
  for (const RdmaPort& p : ports) words.push_back(fmt::format("{} is {}", p.name(), p.state));
  return join(words);
}

std::string to_bring_up(const RdmaPort& port) {
  return port.ethernet ? "set its network interface up and look at the cable (rdma link)"
                       : "look at the cable; INIT means that no subnet manager (opensm) has set it up";
}

const RdmaPort& choose_port(std::span<const RdmaPort> ports, const RdmaWish& wish, const std::string& address) {
  std::vector<std::string> devices;
  const RdmaPort* found = nullptr;
  for (const RdmaPort& p : ports) {
    if (std::find(devices.begin(), devices.end(), p.device) == devices.end()) devices.push_back(p.device);
    if (!wish.device.empty() && p.device != wish.device) continue;
    if (wish.port != 0 && p.number != wish.port) continue;
    const auto better = [&](const RdmaPort& a, const RdmaPort& b) {
      if (a.active != b.active) return a.active;
      return has_address(a, address) && !has_address(b, address);
    };
    if (!found || better(p, *found)) found = &p;
  }
  const bool asked = !wish.device.empty() || wish.port != 0;
  if (!found && !wish.device.empty() && std::find(devices.begin(), devices.end(), wish.device) == devices.end())
    throw RunError(fmt::format("there is no RDMA device '{}'{} (devices: {})", wish.device,
                               did_you_mean(wish.device, devices), join(devices)));
  if (!found) throw RunError(fmt::format("there is no RDMA port {}: {}", wish.port, all_in_words(ports)));
  if (found->active) return *found;
  if (asked) throw RunError(fmt::format("RDMA port {} is {}: {}", found->name(), found->state, to_bring_up(*found)));
  throw Unsupported(fmt::format("no RDMA port is active ({}): {}", all_in_words(ports), to_bring_up(*found)));
}

/// The more, the better.
int worth(const RdmaGid& gid, const std::string& address) {
  const int version = gid.kind == RdmaGid::Kind::roce_v2 ? 8 : 0;
  if (!address.empty() && gid_text(gid) == address) return version + 4;
  return version + (is_ipv4(gid) ? 3 : is_link_local(gid) ? 1 : 2);
}

const RdmaGid& choose_gid(const RdmaPort& port, const RdmaWish& wish, const std::string& address) {
  if (port.gids.empty())
    throw RunError(fmt::format("{}: has no address: its network interface needs an IP address", port.name()));
  if (wish.gid_index) {
    std::vector<std::string> words;
    for (const RdmaGid& g : port.gids) {
      if (g.index == *wish.gid_index) return g;
      words.push_back(in_words(g));
    }
    throw RunError(fmt::format("{}: there is no GID {}; there are: {}", port.name(), *wish.gid_index, join(words)));
  }
  if (!port.ethernet) return port.gids.front();
  return *std::max_element(port.gids.begin(), port.gids.end(),
                           [&](const RdmaGid& a, const RdmaGid& b) { return worth(a, address) < worth(b, address); });
}

}  // namespace

std::string gid_text(const RdmaGid& gid) {
  char text[INET6_ADDRSTRLEN] = "";
  if (is_ipv4(gid)) {
    ::inet_ntop(AF_INET, gid.bytes.data() + 12, text, sizeof text);
  } else {
    ::inet_ntop(AF_INET6, gid.bytes.data(), text, sizeof text);
  }
  return text;
}

RdmaPlace choose_rdma_place(std::span<const RdmaPort> ports, const RdmaWish& wish) {
  if (ports.empty()) throw Unsupported("no RDMA device");
  const std::string address = bare(wish.local_address);
  const RdmaPort& port = choose_port(ports, wish, address);
  const RdmaGid& gid = choose_gid(port, wish, address);
  RdmaPlace place{.port = &port,
                  .gid_index = gid.index,
                  .words = fmt::format("{}, GID {}, MTU {}", port.name(), in_words(gid), port.mtu),
                  .warning = ""};
  if (port.ethernet && gid.kind == RdmaGid::Kind::roce_v1)
    place.warning = fmt::format(
        "{}: GID {} is of RoCE v1, which no router passes on and whose packets carry no "
        "traffic class: give its interface an IP address, or choose another gid_index",
        port.name(), gid.index);
  else if (port.ethernet && is_link_local(gid))
    place.warning = fmt::format(
        "{}: GID {} is a link-local address, good for the same switch only: give its "
        "interface an IP address",
        port.name(), gid.index);
  return place;
}

}  // namespace headrace
