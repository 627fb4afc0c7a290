#include "tests/machines/machine.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <stdexcept>

namespace headrace::testing {
namespace {

namespace fs = std::filesystem;
using config::Value;

const Value kNothing;

const Value& at(const Value& map, const char* key) {
  const Value* found = map.find(key);
  return found == nullptr ? kNothing : *found;
}
std::string text(const Value& map, const char* key, const std::string& otherwise = "") {
  const Value* found = map.find(key);
  return found == nullptr ? otherwise : found->text;
}
unsigned number(const Value& map, const char* key, unsigned otherwise = 0) {
  const Value* found = map.find(key);
  return found == nullptr ? otherwise : static_cast<unsigned>(std::strtoul(found->text.c_str(), nullptr, 0));
}
bool flag(const Value& map, const char* key) { return text(map, key) == "true"; }

void put(const std::string& file, const std::string& content) {
  fs::create_directories(fs::path(file).parent_path());
  std::ofstream(file) << content << "\n";
}
void link(const std::string& from, const std::string& to) {
  fs::create_directories(fs::path(from).parent_path());
  if (!fs::exists(fs::symlink_status(from))) fs::create_directory_symlink(to, from);
}

/// PCI Express' transfers per second of a lane, as the kernel writes them.
std::string speed(unsigned generation) {
  static const std::map<unsigned, const char*> kSpeeds{{1, "2.5"},  {2, "5.0"},  {3, "8.0"},
                                                       {4, "16.0"}, {5, "32.0"}, {6, "64.0"}};
  return std::string(kSpeeds.at(generation)) + " GT/s PCIe";
}

}  // namespace

void put_config(const std::string& folder, unsigned control) {
  std::string space(256, '\0');
  space[0x34] = 0x60, space[0x60] = 0x10;
  space[0x68] = static_cast<char>(control), space[0x69] = static_cast<char>(control >> 8);
  put(folder + "/config", space);
}

Machine::Machine(const std::string& file) {
  Diagnostics problems;
  all_ = config::read_yaml(file, problems);
  problems.throw_if_any();
  title_ = text(all_, "title");
  unsigned index = 0;
  for (const Value& entry : at(at(all_, "gpus"), "at").items) gpus_.push_back({device_of(entry), index++});
  for (const Value& entry : at(all_, "ports").items) {
    Port port{device_of(entry),
              text(entry, "device"),
              text(entry, "layer"),
              text(entry, "rate"),
              text(entry, "interface"),
              text(entry, "driver", "mlx5_core"),
              text(entry, "state", "ACTIVE"),
              text(entry, "model", text(all_, "port_model")),
              text(entry, "legs"),
              text(entry, "guid"),
              number(entry, "number", 1)};
    ports_.push_back(std::move(port));
  }
  for (const Value& entry : at(all_, "disks").items)
    disks_.push_back({device_of(entry), text(entry, "name"), text(entry, "model")});
}

/// `pci: 1b:00.0` or with its domain; `below: NAME` of the description's `switches`.
Machine::Device Machine::device_of(const Value& entry) const {
  Device device;
  device.address = text(entry, "pci");
  if (device.address.size() < 12) device.address = "0000:" + device.address;
  const Value& over = at(at(all_, "switches"), text(entry, "below").c_str());
  device.path = text(over, "path", "pci" + device.address.substr(0, 7));
  device.numa = std::atoi(text(over, "numa", "-1").c_str());
  if (entry.find("numa") != nullptr) device.numa = std::atoi(text(entry, "numa").c_str());
  return device;
}

void Machine::lay_pci(const std::string& root, const Device& device, const Value& link_of) const {
  const std::string folder = root + "/sys/devices/" + device.path + "/" + device.address;
  put(folder + "/numa_node", std::to_string(device.numa));
  if (const unsigned generation = number(link_of, "generation"); generation > 0) {
    put(folder + "/current_link_speed", speed(number(link_of, "now", generation)));
    put(folder + "/max_link_speed", speed(generation));
    put(folder + "/current_link_width", text(link_of, "width"));
    put(folder + "/max_link_width", text(link_of, "width"));
    put(folder + "/iommu_group/type", "identity");  // it passes addresses on as they are
    put_config(folder, 0x2910);                     // relaxed ordering, packets of 256 bytes, read requests of 512
  } else {                                          // as hypervisors pass it on
    put(folder + "/current_link_speed", "Unknown");
    put(folder + "/max_link_speed", "Unknown");
  }
  link(root + "/sys/bus/pci/devices/" + device.address, folder);
}

void Machine::lay_gpu(const std::string& root, const Gpu& gpu) const {
  const Value& gpus = at(all_, "gpus");
  lay_pci(root, gpu, at(gpus, "link"));
  const std::string folder = root + "/sys/devices/" + gpu.path + "/" + gpu.address, amd = text(gpus, "vendor");
  put(folder + "/vendor", amd.empty() ? "0x10de" : amd);
  put(folder + "/device", text(gpus, "device", "0x2330"));
  put(folder + "/class", text(gpus, "class", "0x030200"));
  fs::create_directories(root + "/sys/bus/pci/drivers/nvidia");
  if (flag(gpus, "no_driver")) return;
  link(folder + "/driver", root + "/sys/bus/pci/drivers/nvidia");
  // Since Blackwell there is the open module alone, which needs no other one for network cards.
  const bool open = flag(gpus, "blackwell") || flag(gpus, "coherent");
  put(root + "/proc/driver/nvidia/version",
      fmt::format("NVRM version: NVIDIA UNIX {}  580.65.06  Sun Jul 27 07:26:58 UTC 2025",
                  open ? "Open Kernel Module for x86_64" : "x86_64 Kernel Module"));
  fs::create_directories(root + "/sys/module/" + (open ? "nvidia" : "nvidia_peermem"));
  if (gpu.index < number(gpus, "visible", ~0u))
    put(root + "/proc/driver/nvidia/gpus/" + gpu.address + "/information", "Model: " + text(gpus, "name"));
  if (gpu.index < number(gpus, "imex_channels")) put(root + "/dev/nvidia-caps-imex-channels/channel0", "");
}

void Machine::lay_processors(const std::string& root) const {
  const Value& cpu = at(all_, "cpu");
  const unsigned sockets = number(cpu, "sockets", 1), nodes = number(cpu, "numa_nodes", sockets);
  const unsigned threads = number(cpu, "threads", sockets);
  put(root + "/proc/cpuinfo",
      fmt::format("{}flags\t\t: fpu{}", cpu.find("model") ? "model name\t: " + text(cpu, "model") + "\n" : "",
                  flag(cpu, "virtual") ? " hypervisor" : ""));
  const std::string folder = root + "/sys/devices/system/";
  put(folder + "cpu/online", fmt::format("0-{}", threads - 1));
  for (unsigned i = 0; i < threads; ++i) {
    const std::string own = fmt::format("{}cpu/cpu{}/topology/", folder, i);
    put(own + "physical_package_id", std::to_string(i * sockets / threads));
    put(own + "core_id", std::to_string(i));
  }
  std::string list;
  for (unsigned n = 0; n < nodes; ++n) {
    const std::string own = fmt::format("{}node/node{}/", folder, n);
    put(own + "cpulist", fmt::format("{}-{}", n * threads / nodes, (n + 1) * threads / nodes - 1));
    std::string distances;
    for (unsigned other = 0; other < nodes; ++other)
      distances += fmt::format("{}{}", other ? " " : "", n == other ? 10 : 20);
    put(own + "distance", distances);
    list += fmt::format("{}{}", list.empty() ? "" : ",", n);
  }
  put(folder + "node/online", list);
}

void Machine::lay_port(const std::string& root, const Port& port) const {
  const std::string device = root + "/sys/devices/" + port.path + "/" + port.address;
  fs::create_directories(root + "/sys/bus/pci/drivers/" + port.driver);
  link(device + "/driver", root + "/sys/bus/pci/drivers/" + port.driver);
  const double gbit = std::strtod(port.rate.c_str(), nullptr);
  const bool up = port.state == "ACTIVE";
  if (!port.model.empty()) {  // "0x1021 MT_0000000838"
    put(device + "/vendor", "0x15b3");
    put(device + "/device", port.model.substr(0, port.model.find(' ')));
  }
  if (!port.legs.empty()) {  // a bond, whose legs are ports of their own
    const std::string own = root + "/sys/class/net/" + port.interface;
    put(own + "/type", "1");
    put(own + "/operstate", "up");
    put(own + "/speed", fmt::format("{:.0f}", 2 * gbit * 1000));
    put(own + "/mtu", "9000");
    put(own + "/bonding/mode", "802.3ad 4");
    for (std::size_t at = 0; at < port.legs.size();) {
      const std::size_t end = std::min(port.legs.find(' ', at), port.legs.size());
      const std::string leg = port.legs.substr(at, end - at);
      link(own + "/lower_" + leg, root + "/sys/class/net/" + leg);
      link(root + "/sys/class/net/" + leg + "/master", own);
      at = end + 1;
    }
  } else if (!port.interface.empty()) {
    const std::string own = device + "/net/" + port.interface;
    put(own + "/type", port.layer == "InfiniBand" ? "32" : "1");
    put(own + "/operstate", up ? "up" : "down");
    put(own + "/speed", up ? fmt::format("{:.0f}", gbit * 1000) : "-1");
    put(own + "/mtu", port.layer == "InfiniBand" ? "4092" : "9000");
    put(own + "/dev_port", std::to_string(port.number - 1));
    link(own + "/device", device);
    link(root + "/sys/class/net/" + port.interface, own);
  }
  if (port.device.empty()) return;
  const std::string own = device + "/infiniband/" + port.device;
  const std::string number = own + "/ports/" + std::to_string(port.number);
  put(number + "/state", up ? "4: ACTIVE" : "1: DOWN");
  put(number + "/phys_state", up ? "5: LinkUp" : "3: Disabled");
  put(number + "/rate", port.rate);
  put(number + "/link_layer", port.layer);
  put(number + "/counters/symbol_error", "0");
  if (port.model.find(' ') != port.model.npos) put(own + "/board_id", port.model.substr(port.model.find(' ') + 1));
  if (!port.guid.empty()) put(own + "/sys_image_guid", port.guid);
  put(own + "/fw_ver", "28.39.1002");
  if (!port.interface.empty()) put(number + "/gid_attrs/ndevs/0", port.interface);
  link(own + "/device", device);
  link(root + "/sys/class/infiniband/" + port.device, own);
}

void Machine::lay_disk(const std::string& root, const Disk& disk) const {
  const std::string device = root + "/sys/devices/" + disk.path + "/" + disk.address;
  const std::string controller = device + "/nvme/" + disk.name.substr(0, disk.name.find('n', 4));
  put(controller + "/model", disk.model);
  link(controller + "/device", device);
  put(controller + "/" + disk.name + "/queue/rotational", "0");
  link(controller + "/" + disk.name + "/device", controller);
  link(root + "/sys/block/" + disk.name, controller + "/" + disk.name);
}

void Machine::lay(const std::string& root) const {
  lay_processors(root);
  for (const Gpu& gpu : gpus_) lay_gpu(root, gpu);
  for (const Port& port : ports_) {
    lay_pci(root, port, at(all_, "port_link"));
    lay_port(root, port);
  }
  for (const Disk& disk : disks_) {
    lay_pci(root, disk, at(all_, "disk_link"));
    lay_disk(root, disk);
  }
}

std::vector<RdmaPort> Machine::rdma_ports() const {
  std::vector<RdmaPort> all;
  std::vector<const Port*> in_order;
  for (const Port& port : ports_)
    if (!port.device.empty()) in_order.push_back(&port);
  // The order of ibv_get_device_list() is that of the folders; readers sort by name.
  std::sort(in_order.begin(), in_order.end(), [](const Port* a, const Port* b) { return a->device < b->device; });
  for (const Port* port : in_order) {
    RdmaPort& one = all.emplace_back();
    one.device = port->device;
    one.number = port->number;
    one.ethernet = port->layer == "Ethernet";
    one.active = port->state == "ACTIVE";
    one.state = port->state;
    one.rate = std::strtod(port->rate.c_str(), nullptr) * 1e9 / 8;
    if (!port->legs.empty()) one.rate *= 2;
    one.mtu = one.most_mtu = 4096;
    if (port->layer == "Unspecified")
      one.unusable = "it has no reliable connections (RC), as the Elastic Fabric Adapter has none";
    one.partitions = {0xffff};
    one.lid = one.ethernet ? 0 : static_cast<std::uint16_t>(10 + all.size());
    one.numa_node = port->numa;
    one.pci_address = port->address;
    RdmaGid gid{.index = one.ethernet ? 3u : 0u,
                .kind = one.ethernet ? RdmaGid::Kind::roce_v2 : RdmaGid::Kind::infiniband,
                .bytes = {0xfe, 0x80},
                .interface = port->interface};
    if (one.ethernet)
      gid.bytes = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 0, 0, static_cast<std::uint8_t>(all.size())};
    gid.bytes[15] = static_cast<std::uint8_t>(all.size());
    one.gids.push_back(std::move(gid));
  }
  return all;
}

std::vector<GpuFacts> Machine::gpus() const {
  const Value& gpus = at(all_, "gpus");
  if (flag(gpus, "no_driver")) return {};
  std::vector<GpuFacts> all;
  const unsigned slices = number(gpus, "slices");  // a process sees one slice of the first GPU
  for (const Gpu& gpu : gpus_) {
    if ((slices > 0 && gpu.index > 0) || gpu.index >= number(gpus, "visible", ~0u)) break;
    GpuFacts& facts = all.emplace_back();
    facts.name = text(gpus, "name");
    facts.uuid = fmt::format("GPU-{}", gpu.index);
    facts.pci_address = gpu.address;
    facts.memory = std::uint64_t{number(gpus, "gigabytes")} * 1'000'000'000;
    facts.numa_node = gpu.numa;
    facts.coherent = flag(gpus, "coherent");
  }
  return all;
}

std::vector<NvmlMockGpu> Machine::nvml() const {
  const Value &gpus = at(all_, "gpus"), &pcie = at(gpus, "link"), &nvlinks = at(gpus, "nvlinks"),
              &c2c = at(gpus, "c2c");
  std::vector<NvmlMockGpu> all;
  if (flag(gpus, "no_driver")) return all;
  for (const Gpu& gpu : gpus_) {
    if (gpu.index >= number(gpus, "visible", ~0u)) break;
    NvmlMockGpu& one = all.emplace_back();
    one.pci_address = gpu.address.c_str();
    one.most_generation = number(pcie, "generation");
    one.generation = number(pcie, "now", one.most_generation);
    one.width = one.most_width = number(pcie, "width");
    one.mig = number(gpus, "slices") > 0;
    one.nvlinks = number(nvlinks, "count");
    one.nvlinks_up = one.nvlinks - number(nvlinks, "down");
    one.nvlink_version = number(nvlinks, "version");
    one.nvlink_mbps = number(nvlinks, "mbps");
    one.end_type = text(nvlinks, "to") == "switch" ? 2 : 0;
    if (one.end_type == 0 && one.nvlinks > 0) {  // to each other GPU as many
      std::vector<const char*>& ends = ends_.emplace_back();
      for (unsigned link = 0; ends.size() < one.nvlinks; ++link) {
        const Gpu& other = gpus_[link % gpus_.size()];
        if (other.index != gpu.index) ends.push_back(other.address.c_str());
      }
      one.ends = ends.data();
    }
    one.c2c = number(c2c, "count");
    one.c2c_up = one.c2c - number(c2c, "down");
    one.c2c_mbps = number(c2c, "mbps");
    one.fabric = static_cast<unsigned char>(number(gpus, "fabric"));
    one.cluster = static_cast<unsigned char>(number(gpus, "cluster"));
    one.clique = number(gpus, "clique");
    one.blackwell = flag(gpus, "blackwell");
    one.own_generation = number(gpus, "own_generation");
  }
  return all;
}

bool Machine::is_sound() const { return all_.find("sick") == nullptr; }
std::uint64_t Machine::locked_limit() const {
  return all_.find("locked_limit") == nullptr ? ~std::uint64_t{0} : number(all_, "locked_limit");
}
bool Machine::may_read_log() const { return !flag(all_, "log_is_hidden"); }

}  // namespace headrace::testing
