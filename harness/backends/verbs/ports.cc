#include "harness/backends/verbs/ports.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <net/if.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string_view>

#include "harness/backends/verbs/dynamic.h"
#include "harness/backends/verbs/words.h"
#include "harness/base/error.h"

namespace headrace::verbs {
namespace {

namespace fs = std::filesystem;

std::string state_word(ibv_port_state state) {
  switch (state) {
    case IBV_PORT_DOWN:
      return "DOWN";
    case IBV_PORT_INIT:
      return "INIT";
    case IBV_PORT_ARMED:
      return "ARMED";
    case IBV_PORT_ACTIVE:
      return "ACTIVE";
    default:
      return fmt::format("state {}", static_cast<int>(state));
  }
}

RdmaGid::Kind kind_of(std::uint32_t type) {
  return type == IBV_GID_TYPE_ROCE_V2   ? RdmaGid::Kind::roce_v2
         : type == IBV_GID_TYPE_ROCE_V1 ? RdmaGid::Kind::roce_v1
                                        : RdmaGid::Kind::infiniband;
}

std::vector<RdmaGid> gids_of(ibv_context* device, unsigned port) {
  constexpr std::size_t kMost = 1024;  // of all ports; real tables hold a few
  std::vector<ibv_gid_entry> entries(kMost);
  const ssize_t count = ibv_query_gid_table(device, entries.data(), entries.size(), 0);
  std::vector<RdmaGid> gids;
  for (ssize_t i = 0; i < count; ++i) {
    const ibv_gid_entry& e = entries[static_cast<std::size_t>(i)];
    if (e.port_num != port) continue;
    RdmaGid gid;
    gid.index = e.gid_index;
    gid.kind = kind_of(e.gid_type);
    std::memcpy(gid.bytes.data(), e.gid.raw, gid.bytes.size());
    char name[IF_NAMESIZE] = "";
    if (e.ndev_ifindex != 0 && ::if_indextoname(e.ndev_ifindex, name)) gid.interface = name;
    gids.push_back(std::move(gid));
  }
  return gids;
}

/// The line's rate, and where the device sits, as far as /sys reports.
void locate(const std::string& device, RdmaPort& port) {
  const fs::path whole = fs::path("/sys/class/infiniband") / device, folder = whole / "device";
  std::ifstream rate(whole / "ports" / std::to_string(port.number) / "rate");  // "400 Gb/sec (4X NDR)"
  if (double gbit = 0; rate >> gbit) port.rate = gbit * 1e9 / 8;
  std::error_code ignored;
  const std::string last = fs::canonical(folder, ignored).filename().string();
  if (last.size() == 12 && last[4] == ':' && last[7] == ':') port.pci_address = last;
  // The functions that manage NVSwitches have few lanes, and a mark that root alone can read.
  constexpr unsigned kFewLanes = 4;
  std::ifstream lanes(folder / "max_link_width"), product(folder / "vpd", std::ios::binary);
  if (unsigned width = 0; lanes >> width && width <= kFewLanes)
    if (std::string{std::istreambuf_iterator(product), {}}.find("SW_MNG") != std::string::npos)
      port.unusable = "it manages NVSwitches";
  std::ifstream node(folder / "numa_node");
  if (int number = -1; node >> number) port.numa_node = number;
}

/// "" where reliable connections need only the exchange of both ends.
std::string why_unusable(const ibv_device& device) {
  if (device.transport_type == IBV_TRANSPORT_IB) return "";
  if (device.transport_type == IBV_TRANSPORT_IWARP) return "it is an iWARP device, which headrace does not measure";
  return "it has no reliable connections (RC), as the Elastic Fabric Adapter has none";
}

std::vector<std::uint16_t> partitions_of(ibv_context* device, unsigned port, unsigned count) {
  constexpr unsigned kMost = 128;  // as many as cards have
  std::vector<std::uint16_t> keys;
  for (unsigned i = 0; i < std::min(count, kMost); ++i) {
    __be16 key = 0;
    if (ibv_query_pkey(device, static_cast<std::uint8_t>(port), static_cast<int>(i), &key) != 0) break;
    keys.push_back(ntohs(key));
  }
  while (!keys.empty() && keys.back() == 0) keys.pop_back();
  return keys;
}

void add_ports(const Device& device, const std::string& name, Ports& all) {
  ibv_device_attr limits{};
  if (ibv_query_device(device.get(), &limits) != 0) return;
  for (unsigned number = 1; number <= limits.phys_port_cnt; ++number) {
    ibv_port_attr attributes{};
    if (ibv_query_port(device.get(), static_cast<std::uint8_t>(number), &attributes) != 0) continue;
    RdmaPort port;
    port.device = name;
    port.number = number;
    port.ethernet = attributes.link_layer == IBV_LINK_LAYER_ETHERNET;
    port.active = attributes.state == IBV_PORT_ACTIVE;
    port.state = state_word(attributes.state);
    port.mtu = mtu_bytes(attributes.active_mtu);
    port.most_mtu = mtu_bytes(attributes.max_mtu);
    port.lid = attributes.lid;
    port.global_route = (attributes.flags & IBV_QPF_GRH_REQUIRED) != 0;
    port.unusable = why_unusable(*device->device);
    port.partitions = partitions_of(device.get(), number, attributes.pkey_tbl_len);
    port.firmware = limits.fw_ver;
    port.most_message = attributes.max_msg_sz;
    port.most_queue_pairs = static_cast<unsigned>(limits.max_qp);
    port.most_work = static_cast<unsigned>(limits.max_qp_wr);
    port.most_completions = static_cast<unsigned>(limits.max_cqe);
    port.most_reads = static_cast<unsigned>(std::min(limits.max_qp_rd_atom, limits.max_qp_init_rd_atom));
    locate(name, port);
    if (port.ethernet) port.lag_legs = lag_legs(device);
    port.gids = gids_of(device.get(), number);
    all.ports.push_back(std::move(port));
    all.devices.push_back(device);
  }
}

}  // namespace

Ports find_ports() {
  Ports all;
  int count = 0;
  ibv_device** list = ibv_get_device_list(&count);
  if (!list) {
    const int code = errno;
    all.why_none = code == ENOSYS || code == EPERM
                       ? "the kernel has no RDMA (no /dev/infiniband): load ib_uverbs and the card's driver"
                       : "the list of RDMA devices: " + errno_text(code);
    return all;
  }
  std::sort(list, list + count, [](ibv_device* a, ibv_device* b) {
    return std::string_view(ibv_get_device_name(a)) < ibv_get_device_name(b);
  });
  std::string closed;
  for (int i = 0; i < count; ++i) {
    const std::string name = ibv_get_device_name(list[i]);
    if (ibv_context* opened = ibv_open_device(list[i])) {
      add_ports(Device(opened, CloseDevice{}), name, all);
    } else {
      closed += fmt::format("{}{}: {}", closed.empty() ? "" : "; ", name, errno_text(errno));
    }
  }
  ibv_free_device_list(list);
  if (!all.ports.empty()) return all;
  all.why_none = !closed.empty() ? "no RDMA device opens: " + closed + " (may this user open /dev/infiniband/uverbs*?)"
                                 : "no RDMA device: /sys/class/infiniband has none that libibverbs has a driver for "
                                   "(Debian: ibverbs-providers)";
  return all;
}

}  // namespace headrace::verbs
