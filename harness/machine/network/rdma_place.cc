#include "harness/machine/network/rdma_place.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

#include "harness/base/diagnostics.h"
#include "harness/base/error.h"
#include "harness/machine/network/rdma_rails.h"
#include "harness/machine/pci_path.h"

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

std::string to_bring_up(const RdmaPort& port) {
  return port.ethernet ? "set its network interface up and look at the cable (rdma link)"
                       : "look at the cable; INIT means that no subnet manager (opensm) has set it up";
}

/// The active port of `rails` with the address, else the nearest, else the one whose turn it is.
unsigned choose_rail(const std::vector<const RdmaPort*>& rails, const RdmaWish& wish, const std::string& address) {
  std::vector<unsigned> active;
  for (unsigned r = 0; r < rails.size(); ++r) {
    if (rails[r]->active && has_address(*rails[r], address)) return r;
    if (rails[r]->active) active.push_back(r);
  }
  if (active.empty()) return static_cast<unsigned>(rails.size());
  std::rotate(active.begin(), active.begin() + wish.turn % active.size(), active.end());
  const auto way = [&](unsigned r) {
    return system::shared_way(wish.near, system::pci_path(rails[r]->pci_address, wish.sys_root));
  };
  return *std::max_element(active.begin(), active.end(), [&](unsigned a, unsigned b) { return way(a) < way(b); });
}

std::string none_active(const std::vector<const RdmaPort*>& rails) {
  std::vector<std::string> words;
  for (const RdmaPort* p : rails) words.push_back(fmt::format("{} is {}", p->name(), p->state));
  return fmt::format("no RDMA port is active ({}): {}", join(words), to_bring_up(*rails.front()));
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
  if (const auto wanted = wish.gid_index || !port.ethernet ? wish.gid_index : wish.roce_gid_index) {
    std::vector<std::string> words;
    for (const RdmaGid& g : port.gids) {
      if (g.index == *wanted) return g;
      words.push_back(in_words(g));
    }
    throw RunError(fmt::format("{}: there is no GID {}; there are: {}", port.name(), *wanted, join(words)));
  }
  if (!port.ethernet) return port.gids.front();
  return *std::max_element(port.gids.begin(), port.gids.end(),
                           [&](const RdmaGid& a, const RdmaGid& b) { return worth(a, address) < worth(b, address); });
}

/// The index of the requested partition; without one the first: full membership of the subnet manager's default.
unsigned choose_partition(const RdmaPort& port, std::uint16_t wanted) {
  if (wanted == 0) return 0;
  std::vector<std::string> there;
  std::optional<unsigned> limited;  // the same partition, the other kind of membership
  for (unsigned i = 0; i < port.partitions.size(); ++i) {
    if (port.partitions[i] == wanted) return i;
    if (port.partitions[i] == 0) continue;
    if (((port.partitions[i] ^ wanted) & 0x7fff) == 0) limited = i;
    there.push_back(fmt::format("{:#06x}", port.partitions[i]));
  }
  if (limited) return *limited;
  throw RunError(fmt::format("{}: is in no partition {:#06x}; it is in: {} (the subnet manager's partitions.conf)",
                             port.name(), wanted, there.empty() ? "none" : join(there)));
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
  const std::string address = bare(wish.local_address);
  const RdmaRails rails = rdma_rails(ports, wish.device, wish.port);
  const bool asked = !wish.device.empty() || wish.port != 0;
  RdmaPlace place;
  place.rail = choose_rail(rails.ports, wish, address);
  if (place.rail == rails.ports.size()) {
    const RdmaPort& first = *rails.ports.front();
    if (asked && rails.ports.size() == 1)
      throw RunError(fmt::format("RDMA port {} is {}: {}", first.name(), first.state, to_bring_up(first)));
    if (asked) throw RunError(none_active(rails.ports));
    throw Unsupported(none_active(rails.ports));
  }
  const RdmaPort& port = *rails.ports[place.rail];
  const RdmaGid& gid = choose_gid(port, wish, address);
  place.port = &port;
  place.gid_index = gid.index;
  place.words = fmt::format("{}, GID {}, MTU {}{}", port.name(), in_words(gid), port.mtu,
                            port.rate > 0 ? fmt::format(", {:g} Gbit/s", port.rate * 8e-9) : "");
  place.partition_index = choose_partition(port, wish.partition);
  place.chosen = rails.chosen;
  if (!rails.left_out.empty()) place.notes.push_back(rails.left_out);
  for (const RdmaPort* p : rails.ports)
    if (!p->active) place.notes.push_back(fmt::format("{} is {}: {}", p->name(), p->state, to_bring_up(*p)));
  if (port.ethernet && gid.kind == RdmaGid::Kind::roce_v1)
    place.notes.push_back(
        fmt::format("{}: GID {} is of RoCE v1, which no router passes on and whose packets carry no "
                    "traffic class: give its interface an IP address, or choose another gid_index",
                    port.name(), gid.index));
  else if (port.ethernet && is_link_local(gid))
    place.notes.push_back(
        fmt::format("{}: GID {} is a link-local address, good for the same switch only: give its "
                    "interface an IP address",
                    port.name(), gid.index));
  return place;
}

std::vector<RdmaPlace> choose_rdma_places(std::span<const RdmaPort> ports, const RdmaWish& wish, unsigned share,
                                          unsigned shares, unsigned most) {
  const RdmaRails rails = rdma_rails(ports, wish.device, wish.port);
  const auto count = static_cast<unsigned>(rails.ports.size());
  unsigned begin = share * count / shares, end = (share + 1) * count / shares;
  if (begin == end) {  // more ranks than ports
    begin = share % count;
    end = begin + 1;
  }
  if (most != 0) end = std::min(end, begin + most);
  std::vector<RdmaPlace> places;
  std::vector<const RdmaPort*> own(rails.ports.begin() + begin, rails.ports.begin() + end);
  for (unsigned rail = begin; rail < end; ++rail) {
    const RdmaPort& port = *rails.ports[rail];
    if (!port.active) continue;
    RdmaWish alone{.device = port.device,
                   .port = port.number,
                   .gid_index = wish.gid_index,
                   .roce_gid_index = wish.roce_gid_index,
                   .partition = wish.partition};
    places.push_back(choose_rdma_place(ports, alone));
    places.back().rail = rail;
    places.back().slot = rail - begin;
  }
  if (places.empty()) throw Unsupported(none_active(own));
  places.front().chosen = rails.chosen;
  std::vector<std::string>& notes = places.front().notes;
  if (!rails.left_out.empty()) notes.push_back(rails.left_out);
  for (const RdmaPort* p : own)
    if (!p->active) notes.push_back(fmt::format("{} is {}: {}", p->name(), p->state, to_bring_up(*p)));
  return places;
}

std::size_t nearest_gpu(std::span<const std::string> ports, std::span<const std::string> gpus,
                        const std::string& sys_root) {
  std::vector<std::vector<std::string>> ways;
  for (const std::string& gpu : gpus) ways.push_back(system::pci_path(gpu, sys_root));
  std::vector<unsigned> users(gpus.size(), 0);
  std::size_t chosen = 0;
  for (const std::string& port : ports) {
    const std::vector<std::string> way = system::pci_path(port, sys_root);
    const auto worth = [&](std::size_t gpu) {
      return std::pair(-static_cast<long>(system::shared_way(way, ways[gpu])), users[gpu]);
    };
    chosen = 0;
    for (std::size_t gpu = 1; gpu < gpus.size(); ++gpu)
      if (worth(gpu) < worth(chosen)) chosen = gpu;
    ++users[chosen];
  }
  return chosen;
}

}  // namespace headrace
