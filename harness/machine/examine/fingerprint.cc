#include "harness/machine/examine/fingerprint.h"

#include <fmt/format.h>
#include <sys/statvfs.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <iterator>

#include "harness/backends/gpu_faults.h"
#include "harness/backends/loader.h"
#include "harness/base/object_path.h"
#include "harness/base/system/kernel_features.h"
#include "harness/base/system/kernel_files.h"
#include "harness/base/units.h"
#include "harness/machine/block_device.h"
#include "harness/machine/cgroup.h"
#include "harness/machine/cpu.h"
#include "harness/machine/device_settings.h"
#include "harness/machine/examine/examine_gpus.h"
#include "harness/machine/kernel_log.h"
#include "harness/machine/limits.h"
#include "harness/machine/lost_gpus.h"
#include "harness/machine/mount.h"
#include "harness/machine/network/nccl_settings.h"
#include "harness/machine/network/network_ports.h"
#include "harness/machine/network_links.h"
#include "harness/machine/node.h"

namespace headrace::system {
namespace {

/// One section; empty values were not reported and are left out.
class Section {
 public:
  explicit Section(const std::string& name) : facts_{name, {}} {}
  const std::string& name() const { return facts_.first; }
  void put(std::string key, std::string value) {
    if (!value.empty()) facts_.second.emplace_back(std::move(key), std::move(value));
  }
  /// The first line of a file.
  void line(std::string key, const std::string& path) { put(std::move(key), read_line(path).value_or("")); }
  void bytes(std::string key, std::optional<std::uint64_t> value) {
    if (value) put(std::move(key), format_quantity(static_cast<double>(*value), Dimension::bytes, true));
  }
  void number(std::string key, std::optional<std::uint64_t> value) {
    if (value) put(std::move(key), std::to_string(*value));
  }
  void into(Fingerprint& all) {
    if (!facts_.second.empty()) all.push_back(std::move(facts_));
  }

 private:
  Fingerprint::value_type facts_;
};

std::string yes_or(const std::string& reason) { return reason.empty() ? "yes" : "no: " + reason; }

void host(Fingerprint& all) {
  Section section("host");
  char name[256] = {};
  if (gethostname(name, sizeof name - 1) == 0) section.put("name", name);
  std::string product;
  for (const char* file : {"sys_vendor", "product_name"})
    if (const auto word = read_line(std::string("/sys/class/dmi/id/") + file))
      product += (product.empty() ? "" : " ") + *word;
  section.put("product", product);
  section.line("firmware", "/sys/class/dmi/id/bios_version");
  const std::string release = read_text("/etc/os-release").value_or("");
  std::string pretty;
  for (const std::string& line : split(release, '\n'))
    if (line.starts_with("PRETTY_NAME=")) pretty = line.substr(12);
  std::erase(pretty, '"');
  section.put("system", pretty);
  for (const char* mark : {"/.dockerenv", "/run/.containerenv"}) {
    std::error_code error;
    if (std::filesystem::exists(mark, error)) section.put("container", "yes");
  }
  section.into(all);
}

void kernel(Fingerprint& all) {
  Section section("kernel");
  const KernelFeatures features = kernel_features();
  section.put("release", features.release);
  section.put("architecture", features.architecture);
  section.line("version", "/proc/version");
  section.bytes("page_size", static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE)));
  section.put("io_uring", yes_or(features.no_io_uring));
  section.put("cachestat", yes_or(features.no_cachestat));
  section.put("pressure", yes_or(features.no_pressure));
  for (const char* setting : {"dirty_ratio", "dirty_background_ratio", "dirty_bytes", "dirty_background_bytes",
                              "swappiness", "vfs_cache_pressure", "zone_reclaim_mode"})
    section.line(setting, std::string("/proc/sys/vm/") + setting);
  section.into(all);
}

void cpu(Fingerprint& all, Node& node) {
  Section section("cpu");
  const CpuFacts facts = cpu_facts();
  section.put("model", facts.model);
  section.number("sockets", facts.sockets);
  section.number("cores", facts.cores);
  section.number("threads", facts.threads);
  section.number("usable", node.cores());
  section.number("numa_nodes", facts.numa_nodes);
  section.put("governor", facts.governor);
  section.put("frequency_driver", facts.frequency_driver);
  if (facts.max_hz) section.put("max_frequency", fmt::format("{:.2f} GHz", *facts.max_hz / 1e9));
  section.put("last_level_cache", facts.last_level_cache);
  section.put("microcode", facts.microcode);
  section.put("virtual", facts.is_virtual ? "yes" : "no");
  section.into(all);
}

void memory(Fingerprint& all, Node& node) {
  Section section("memory");
  const std::string info = read_text("/proc/meminfo").value_or("");
  const auto kilobytes = [&](const char* key) -> std::optional<std::uint64_t> {
    const auto value = number_field(info, key);
    if (!value) return std::nullopt;
    return *value * 1024;
  };
  section.bytes("total", kilobytes("MemTotal"));
  section.bytes("available", node.memory_available());
  section.bytes("swap", kilobytes("SwapTotal"));
  section.put("transparent_huge_pages",
              chosen_of(read_line("/sys/kernel/mm/transparent_hugepage/enabled").value_or("")));
  section.number("reserved_huge_pages", number_field(info, "HugePages_Total"));
  section.bytes("huge_page_size", kilobytes("Hugepagesize"));
  section.into(all);
}

void limits(Fingerprint& all) {
  Section section("limits");
  section.put("open_files", limit_in_words(limit_of(RLIMIT_NOFILE), false));
  section.put("locked_memory", limit_in_words(limit_of(RLIMIT_MEMLOCK), true));
  section.put("address_space", limit_in_words(limit_of(RLIMIT_AS), true));
  section.put("file_size", limit_in_words(limit_of(RLIMIT_FSIZE), true));
  if (const auto shared = shared_memory())
    section.put("shared_memory", limit_in_words({shared->size, shared->size}, true));
  section.put("root", geteuid() == 0 ? "yes" : "no");
  section.into(all);
}

void cgroup(Fingerprint& all) {
  Section section("cgroup");
  const CgroupLimits found = cgroup_limits();
  if (found.version > 0) section.number("version", static_cast<std::uint64_t>(found.version));
  section.put("group", found.path);
  if (found.cores) section.put("cores", fmt::format("{:.3g}", *found.cores));
  section.bytes("memory", found.memory);
  std::string io;
  for (const std::string& limit : found.io) io += (io.empty() ? "" : "; ") + limit;
  section.put("io", io);
  section.into(all);
}

void file_system(Fingerprint& all, const std::string& path) {
  if (is_object_path(path)) return;  // another machine's
  Section section("file_system");
  const std::string existing = nearest_existing(path);
  section.put("path", existing);
  if (const auto mount = mount_of(existing)) {
    section.put("type", mount->type);
    section.put("mount_point", mount->point);
    section.put("source", mount->source);
    section.put("options", mount->options);
  }
  struct statvfs info {};
  if (statvfs(existing.c_str(), &info) == 0) {
    section.bytes("size", std::uint64_t{info.f_blocks} * info.f_frsize);
    section.bytes("free", std::uint64_t{info.f_bavail} * info.f_frsize);
    section.bytes("block_size", info.f_bsize);
    if (info.f_files > 0) section.number("free_inodes", info.f_favail);
  }
  section.into(all);
}

void data_file_system(Fingerprint& all, const std::string& data) {
  if (data.empty() || is_object_path(data)) return;
  Section section("data_file_system");
  if (const auto mount = mount_of(nearest_existing(data))) section.put("type", mount->type);
  section.into(all);
}

void device(Fingerprint& all, const std::string& path) {
  if (is_object_path(path)) return;
  const auto found = device_of(path);
  if (!found) return;
  Section section("device");
  const DeviceSettings settings = device_settings(found->sys_path);
  section.put("name", found->name);
  if (settings.disk != found->name) section.put("disk", settings.disk);
  section.put("model", settings.model);
  section.put("firmware", settings.firmware);
  section.put("transport", settings.transport);
  std::string members;
  for (const std::string& member : settings.members) members += (members.empty() ? "" : ", ") + member;
  section.put("members", members);
  if (settings.size > 0) section.bytes("size", settings.size);
  if (settings.rotational) section.put("rotational", *settings.rotational ? "yes" : "no");
  section.put("scheduler", settings.scheduler);
  section.bytes("read_ahead", settings.read_ahead);
  section.number("queue_requests", settings.queue_requests);
  section.number("device_queue", settings.device_queue);
  section.bytes("largest_request", settings.largest_request);
  section.bytes("logical_block", settings.logical_block);
  section.bytes("physical_block", settings.physical_block);
  section.put("write_cache", settings.write_cache);
  section.into(all);
}

void backends(Fingerprint& all, Node& node) {
  Section section("backends");
  for (const BackendStatus& backend : node.backends().status())
    section.put(backend.name,
                backend.usable ? (backend.version.empty() ? "usable" : backend.version) : "no: " + backend.reason);
  section.into(all);
}

/// One section per port that carries packets out of the node, and what NCCL is reported about them. Interfaces of containers come and
/// go: they count where there is nothing else.
void network(Fingerprint& all) {
  std::vector<NetworkLink> links = network_links(), interfaces;
  std::erase_if(links, [](const NetworkLink& link) { return !link.up || link.member; });
  std::copy_if(links.begin(), links.end(), std::back_inserter(interfaces),
               [](const NetworkLink& link) { return !link.rdma; });
  const std::vector<std::string> carrying = rails_among(interfaces).names;
  for (const NetworkLink& link : links) {
    if (!link.rdma && std::find(carrying.begin(), carrying.end(), link.name) == carrying.end()) continue;
    Section section("port " + link.name);
    section.put("kind", link.kind);
    if (link.rate > 0) section.put("rate", fmt::format("{:g} Gbit/s", link.rate * 8e-9));
    if (link.mtu > 0) section.number("mtu", link.mtu);
    section.put("driver", link.driver);
    if (!link.driver.empty()) section.line("driver_version", "/sys/module/" + link.driver + "/version");
    section.put("firmware", link.firmware);
    if (link.host_link) section.put("host_link", in_words(*link.host_link));
    section.into(all);
  }
  Section section("nccl");
  for (const NcclSetting& one : nccl_settings())
    section.put(one.name, one.value + (one.source.empty() ? "" : " (" + one.source + ")"));
  section.into(all);
}

/// Fatal errors that the driver logged of the GPU since the kernel started.
std::string past_errors(const std::vector<LoggedError>& log, const std::string& address) {
  std::string text;
  for (const LoggedError& one : log)
    if (const Xid* known = find_xid(one.number); known != nullptr && known->fatal && one.address == address)
      text += (text.empty() ? "" : ", ") + xid_in_words(one.number);
  return text;
}

/// One section per GPU: a copy's rate means nothing without its link.
void gpus(Fingerprint& all, Node& node) {
  Section of_all("gpus");
  if (!node.backends().why_not(Gives::gpus).empty()) {
    of_all.put(fault_key("lost"), driver_fault(start_nvml()));
    return of_all.into(all);
  }
  GpuBackend& backend = node.backends().gpu();
  const std::vector<LoggedError> log = logged_errors_here().value_or(std::vector<LoggedError>{});
  for (unsigned i = 0; i < backend.count(); ++i) {
    Section section(fmt::format("gpu{}", i));
    Gpu& gpu = backend.gpu(i);
    const GpuFacts& facts = gpu.facts();
    const GpuState state = gpu.state();
    const auto link = [](const PcieLink& l) {
      return l.generation == 0 ? "" : fmt::format("Gen{} x{}", l.generation, l.width);
    };
    section.put("name", facts.name);
    section.put("driver", facts.driver);
    section.put("uuid", facts.uuid);
    section.put("pci_address", facts.pci_address);
    section.bytes("memory", facts.memory);
    if (facts.numa_node >= 0) section.number("numa_node", static_cast<std::uint64_t>(facts.numa_node));
    if (facts.beside_pcie()) {
      if (facts.c2c.most > 0) section.put("c2c_links", fmt::format("{} of {}", facts.c2c.count, facts.c2c.most));
    } else {
      section.put("link_at_most", link(facts.link_max));
      section.put("link_when_asked", link(state.link));
    }
    if (facts.nvlinks.most > 0)
      section.put("nvlinks", fmt::format("{} of {}, generation {}", facts.nvlinks.count, facts.nvlinks.most,
                                         facts.nvlinks.generation));
    section.put("mig", facts.slice ? "yes" : "no");
    section.put("reads_pageable_memory", facts.coherent ? "yes" : "no");
    if (state.clock_hz) section.put("clock", fmt::format("{:.0f} MHz", *state.clock_hz / 1e6));
    if (state.memory_clock_hz) section.put("memory_clock", fmt::format("{:.0f} MHz", *state.memory_clock_hz / 1e6));
    if (state.power_w) section.put("power", fmt::format("{:.0f} W", *state.power_w));
    if (state.temperature_c) section.put("temperature", fmt::format("{:.0f} C", *state.temperature_c));
    section.put("held_back", state.held_back);
    section.number("pcie_replays", state.replays);
    section.number("ecc_corrected", state.ecc_corrected);
    section.number("ecc_uncorrected", state.ecc_uncorrected);
    section.number("nvlink_errors", state.nvlink_errors);
    section.number("remapped_rows", state.remapped_rows);
    section.number("nvlink_recoveries", state.link_recoveries);
    section.number("c2c_errors", state.c2c_errors);
    section.put("fabric", facts.fabric);
    section.put("recovery", state.recovery);
    section.put("fabric_group", facts.fabric_group);
    section.put("past_errors", past_errors(log, facts.pci_address));
    for (const PartFault& one : gpu_faults(section.name(), facts, state)) section.put(fault_key(one.count), one.text);
    section.into(all);
  }
  std::string lost;
  if (const auto listed = listed_gpus(backend))
    for (const std::string& address : lost_gpus(*listed))
      lost += fmt::format("{}{}: {}", lost.empty() ? "" : "; ", lost_gpu(address).part, lost_gpu(address).text);
  of_all.put(fault_key("lost"), lost);
  of_all.into(all);
}

}  // namespace

Fingerprint fingerprint(const std::string& path, Node& node, const std::string& data) {
  Fingerprint all;
  host(all);
  kernel(all);
  cpu(all, node);
  memory(all, node);
  limits(all);
  cgroup(all);
  file_system(all, path);
  data_file_system(all, data);
  device(all, path);
  backends(all, node);
  network(all);
  gpus(all, node);
  return all;
}

}  // namespace headrace::system
