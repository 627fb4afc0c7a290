#include "harness/machine/examine/examine_gpus.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "harness/backends/gpu_faults.h"
#include "harness/base/system/kernel_files.h"
#include "harness/base/units.h"
#include "harness/machine/lost_gpus.h"
#include "harness/machine/network/host_list.h"
#include "harness/machine/pci_path.h"

namespace headrace::system {
namespace {

using Level = Finding::Level;

class GpuSection {
 public:
  void add(Level level, std::string subject, std::string text, std::string advice = "") {
    findings_.push_back({level, "gpus", std::move(subject), std::move(text), std::move(advice)});
  }
  std::vector<Finding> take() { return std::move(findings_); }

 private:
  std::vector<Finding> findings_;
};

std::string link_in_words(const PcieLink& link) {
  return link.generation == 0 ? "not reported" : fmt::format("Gen{} x{}", link.generation, link.width);
}

std::string gigabytes(double bytes_per_s) { return format_quantity(bytes_per_s, Dimension::bytes_per_second); }

/// What a driver reports on PCI Express where the GPU is not reached by it says nothing.
void c2c_link(GpuSection& section, const std::string& name, const C2cLinks& links) {
  if (links.rate == 0)
    return section.add(Level::note, name + " link", "NVLink-C2C; the driver does not report its rate");
  const std::string text =
      fmt::format("NVLink-C2C, {} of {} links, {}", links.count, links.most, gigabytes(links.rate));
  if (links.count < links.most)
    section.add(Level::warning, name + " link", text, "links to the processor are down: have the module looked at");
  else
    section.add(Level::good, name + " link", text);
}

/// A card whose NVLinks lead to others by a bridge, which may be left out. A module's links are on its board.
bool takes_a_bridge(const std::string& name) {
  const auto has = [&](const char* word) { return name.find(word) != name.npos; };
  if (has("PCIe") || has("PCIE") || has(" NVL")) return true;
  for (const char* module : {"SXM", "HBM", "H100", "H200", "H20", "H800", "B100", "B200", "B300", "GB", "GH"})
    if (has(module)) return false;
  return true;
}

/// `most`: of any GPU of this node.
void nvlinks(GpuSection& section, const std::string& name, const GpuFacts& facts, unsigned most) {
  if (!facts.fabric.empty() && !facts.fabric_failed())
    section.add(
        Level::warning, name + " fabric", "the switches between GPUs are not set up: " + facts.fabric,
        "start nvidia-fabricmanager, of the driver's own version (on NVL72: nvidia-imex; the manager runs on the "
        "switch trays); until then CUDA may not start (error 802)");
  const NvLinks& links = facts.nvlinks;
  const unsigned there = std::max(links.most, most);
  if (there == 0) return;
  const std::string text = fmt::format("{} of {} up{}{}{}", links.count, there,
                                       links.generation > 0 ? fmt::format(", generation {}", links.generation) : "",
                                       links.each > 0 ? fmt::format(", {} each", gigabytes(links.each)) : "",
                                       links.to_switch ? ", to switches" : "");
  constexpr unsigned kXidOfEachLink = 5;  // the generation since which there is one for each kind of failure
  const bool bridged = takes_a_bridge(facts.name);
  if (bridged && most == 0)
    section.add(Level::note, name + " NVLinks", text + ": no bridge to another GPU is fitted");
  else if (links.count < there)
    section.add(Level::warning, name + " NVLinks", text,
                fmt::format("look for Xid {} in the kernel's log (dmesg), and {}",
                            links.generation >= kXidOfEachLink ? "144 to 150" : "74",
                            bridged ? "reseat the bridge" : "reseat the GPU or have its board looked at"));
  else
    section.add(Level::good, name + " NVLinks", text);
}

/// The link sleeps at a lower generation when it is idle; its width does not change. `best`: of any GPU of this model here.
void gpu_link(GpuSection& section, const std::string& name, const GpuFacts& facts, const PcieLink& now,
              const PcieLink& best) {
  if (facts.beside_pcie()) return c2c_link(section, name, facts.c2c);
  const PcieLink& most = facts.link_max;
  if (now.generation == 0 && most.generation == 0) return;
  const std::string text = fmt::format("{}; at most {}", link_in_words(now), link_in_words(most));
  if (now.width < most.width)
    section.add(Level::warning, name + " link", text,
                "fewer lanes than GPU and slot have: reseat the GPU or look at its riser");
  else if (most.generation < best.generation || most.width < best.width)
    section.add(Level::warning, name + " link", text,
                fmt::format("its sisters have {}: look at the slot, its riser and the firmware's settings",
                            link_in_words(best)));
  else if (now.generation < most.generation)
    section.add(Level::note, name + " link", text,
                "an idle link sleeps; h2d shows whether it wakes fully: metric link_trained");
  else if (most.generation < facts.own_generation)
    section.add(Level::note, name + " link", text,
                fmt::format("the GPU could have Gen{}, and the slot has less: h2d and d2h are slower for it",
                            facts.own_generation));
  else
    section.add(Level::good, name + " link", text);
}

/// `built_so`: fewer NUMA nodes have network cards than have GPUs.
void gpu_place(GpuSection& section, const std::string& name, const GpuFacts& facts,
               const std::vector<NetworkLink>& nics, bool built_so) {
  if (facts.numa_node < 0) return;
  const bool near =
      std::any_of(nics.begin(), nics.end(), [&](const NetworkLink& nic) { return nic.numa_node == facts.numa_node; });
  const std::string text = fmt::format("on NUMA node {}", facts.numa_node);
  if (nics.empty()) {
    section.add(Level::good, name + " place", text + "; no RDMA NIC here");
  } else if (near) {
    section.add(Level::good, name + " place", text + ", with an RDMA NIC");
  } else {
    std::string others;
    for (const NetworkLink& nic : nics)
      others += fmt::format("{}{} on node {}", others.empty() ? "" : ", ", nic.name, *nic.numa_node);
    section.add(built_so ? Level::note : Level::warning, name + " place", text + ", no RDMA NIC there: " + others,
                built_so ? "its network traffic crosses NUMA nodes"
                         : "its network traffic crosses sockets: move NIC or GPU, or give the job GPUs that "
                           "are near one");
  }
}

void fault(GpuSection& section, const PartFault& one) {
  const FaultCount& count = *find_fault_count(one.count);
  section.add(Level::warning, fmt::format("{} {}", one.part, count.subject), one.text, std::string(count.fix));
}

void gpu_health(GpuSection& section, const std::string& name, const GpuFacts& facts, const GpuState& state) {
  if (!slowed_by_hardware(state.held_back).empty())
    section.add(Level::warning, name + " clocks", "held back: " + state.held_back,
                "copies and kernels are slower until the reason is gone: look at cooling and power of this GPU");
  else if (!state.held_back.empty())
    section.add(Level::note, name + " clocks", "held back: " + state.held_back,
                "a sound GPU under load is at its power limit, too");
  const std::vector<PartFault> faults = gpu_faults(name, facts, state);
  for (const PartFault& one : faults) fault(section, one);
  if (state.replays.value_or(0) > 0)
    section.add(Level::note, name + " replays",
                fmt::format("{} PCIe packets were sent again since the driver was loaded", *state.replays),
                "a number that grows during a run (metric error_count) means a bad link");
  if (state.nvlink_errors.value_or(0) > 0)
    section.add(Level::note, name + " NVLink errors",
                fmt::format("{} since the driver was loaded", *state.nvlink_errors),
                "a number that grows during a run (metric error_count) means a bad link");
  if (!state.remap_failed && !state.remap_pending && state.remapped_rows.value_or(0) > 0)
    section.add(Level::note, name + " memory",
                fmt::format("{} rows were remapped to spare ones", *state.remapped_rows));
  if (!state.recovery.empty())
    section.add(Level::warning, name + " recovery", "the driver wants " + state.recovery,
                "drain the node, and do what the driver wants; nvidia-smi -q shows it");
  if (state.link_recoveries.value_or(0) > 0)
    section.add(Level::note, name + " NVLink recoveries",
                fmt::format("{} times a link was brought up again since the driver was loaded", *state.link_recoveries),
                "a number that grows during a job means a bad link");
  if (state.c2c_errors.value_or(0) > 0)
    section.add(Level::note, name + " C2C errors", fmt::format("{} since the driver was loaded", *state.c2c_errors),
                "a number that grows during a job means a bad module");
  for (const unsigned xid : state.xids)
    if (const Xid* known = find_xid(xid); known == nullptr || !known->fatal)
      section.add(Level::warning, name + " Xid", xid_in_words(xid), "the kernel's log (dmesg) has the rest");
}

/// What the driver logged before this process started. Programs cause most Xids that are not fatal.
void past_errors(GpuSection& section, GpuBackend& backend, const std::optional<std::vector<LoggedError>>& log) {
  if (!log)
    return section.add(Level::note, "past errors", "not known: the kernel's log cannot be read here",
                       "run doctor as root on the host");
  for (const LoggedError& error : *log) {
    std::string name = (error.of_switch ? "NVSwitch at " : "GPU at ") + error.address;
    for (unsigned i = 0; i < backend.count() && !error.of_switch; ++i)
      if (backend.gpu(i).facts().pci_address == error.address) name = fmt::format("gpu{}", i);
    const Xid* const known = error.of_switch ? nullptr : find_xid(error.number);
    const bool fatal = error.fatal || (known != nullptr && known->fatal);
    section.add(fatal ? Level::warning : Level::note, name + " past errors",
                fmt::format("{}{}, the last {} after the kernel started",
                            error.of_switch ? error.name() : xid_in_words(error.number),
                            error.times > 1 ? fmt::format(", {} times", error.times) : "",
                            format_quantity(error.last_s, Dimension::seconds)),
                fatal ? "drain the node unless this was mended since; dmesg has the rest" : "");
  }
}

bool runs(const std::string& program, const std::string& root) {
  const std::vector<std::string> all = entries(root + "/proc");
  return std::any_of(all.begin(), all.end(), [&](const std::string& entry) {
    return entry.find_first_not_of("0123456789") == entry.npos &&
           read_line(root + "/proc/" + entry + "/comm") == program;
  });
}

/// NVLink over several nodes: GPUs of one node belong together, and share memory with others by channels of nvidia-imex.
void fabric_of_nodes(GpuSection& section, GpuBackend& backend, const std::string& root) {
  std::map<std::string, std::string> members;  // by group
  for (unsigned i = 0; i < backend.count(); ++i)
    if (const std::string& group = backend.gpu(i).facts().fabric_group; !group.empty())
      members[group] += fmt::format("{}gpu{}", members[group].empty() ? "" : ", ", i);
  if (members.empty()) return;
  if (members.size() > 1)
    for (const auto& [group, gpus] : members)
      section.add(Level::warning, gpus, "clique " + group + ", and other GPUs of this node are in another",
                  "look at the partitions of the NVLink switches: GPUs of different cliques do not talk by NVLink");
  else
    section.add(Level::good, "NVLink fabric", "all GPUs in clique " + members.begin()->first);
  if (entries(root + "/dev/nvidia-caps-imex-channels").empty())
    section.add(
        Level::warning, "IMEX", "no channel: /dev/nvidia-caps-imex-channels has none",
        "start nvidia-imex and let it make channels; without one GPUs of other nodes are not reached by NVLink");
  else if (read_line(root + "/proc/1/comm") == "systemd" && !runs("nvidia-imex", root))
    section.add(Level::warning, "IMEX", "there are channels, but nvidia-imex does not run",
                "systemctl start nvidia-imex; without it GPUs of other nodes are not reached by NVLink");
  else
    section.add(Level::good, "IMEX", "there are channels");
}

/// Where a GPU and another GPU or a card are below one switch, their traffic should not leave it.
void peers_below_switches(GpuSection& section, GpuBackend& backend, const std::vector<NetworkLink>& nics,
                          const std::string& root) {
  struct Switch {
    std::vector<std::string> devices;
    std::set<std::string> redirect;
    bool has_gpu = false;
  };
  std::map<std::string, Switch> switches;  // by the upper port
  const auto add = [&](const std::string& name, const std::string& address, bool gpu) {
    constexpr std::size_t kUpperPort = 2;  // behind the root complex and its port
    const std::vector<std::string> path = pci_path(address, root);
    if (path.size() <= kUpperPort + 1) return;
    Switch& one = switches[path[kUpperPort]];
    one.devices.push_back(name);
    one.has_gpu = one.has_gpu || gpu;
    for (std::size_t i = kUpperPort; i + 1 < path.size(); ++i)
      if (redirects_peers(path[i], root)) one.redirect.insert(path[i]);
  };
  for (unsigned i = 0; i < backend.count(); ++i) add(fmt::format("gpu{}", i), backend.gpu(i).facts().pci_address, true);
  for (const NetworkLink& nic : nics)
    if (nic.physical) add(nic.name, nic.card + ".0", false);
  for (const auto& [port, one] : switches)
    if (one.has_gpu && one.devices.size() > 1 && !one.redirect.empty())
      section.add(Level::warning, "PCIe switch " + port,
                  fmt::format("ACS sends traffic between {} up to the processor", fmt::join(one.devices, ", ")),
                  fmt::format("turn ACS off in the firmware's settings, or by setpci -s BRIDGE ECAP_ACS+6.w=0 for {}; "
                              "GPUDirect is slow until then",
                              fmt::join(one.redirect, ", ")));
}

/// What NVIDIA's kernel driver reports on itself: "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.65.06 ...".
std::string kernel_driver(const std::string& root) {
  return read_line(root + "/proc/driver/nvidia/version").value_or("");
}

/// "580.65.06"; "" = not reported.
std::string kernel_driver_version(const std::string& root) {
  for (const std::string& word : split(kernel_driver(root), ' '))
    if (word.find_first_not_of("0123456789.") == word.npos && word.find('.') != word.npos) return word;
  return read_line(root + "/sys/module/nvidia/version").value_or("");
}

/// Can network cards reach the memory of GPUs, and by the shortest path?
void gpu_direct(GpuSection& section, GpuBackend& backend, const std::vector<NetworkLink>& links,
                const std::string& root) {
  std::vector<std::string> translated;
  const auto look = [&](const std::string& name, const std::string& address) {
    const auto kind = read_line(root + "/sys/bus/pci/devices/" + address + "/iommu_group/type");
    if (kind && kind->starts_with("DMA")) translated.push_back(name);
  };
  const auto reaches = [](const NetworkLink& link) {  // EFA goes by a driver of its own
    return link.rdma && link.up && (link.kind == "InfiniBand" || link.kind == "RoCE");
  };
  bool any_gpu = false;
  for (unsigned i = 0; i < backend.count(); ++i) {
    const GpuFacts& facts = backend.gpu(i).facts();
    if (facts.beside_pcie() || facts.name.find("GeForce") != facts.name.npos) continue;  // the latter has no GPUDirect
    any_gpu = true;
    look(fmt::format("gpu{}", i), facts.pci_address);
  }
  if (!any_gpu || std::none_of(links.begin(), links.end(), reaches)) return;
  for (const NetworkLink& link : links)
    if (reaches(link)) look(link.name, link.card + ".0");
  if (!translated.empty())
    section.add(
        Level::warning, "IOMMU", "translates the addresses of " + compressed(translated),
        "GPUDirect is slow then, or fails: boot with iommu=pt, or turn the IOMMU off in the firmware's settings");
  const std::string driver = kernel_driver(root);
  std::error_code ignored;
  for (const char* module : {"nvidia_peermem", "nv_peer_mem"})
    if (std::filesystem::exists(root + "/sys/module/" + module, ignored))
      return section.add(Level::good, "GPUDirect RDMA", std::string("by ") + module);
  if (driver.find("Open Kernel Module") != driver.npos)
    section.add(Level::good, "GPUDirect RDMA", "by DMA-BUF, which the open kernel driver has");
  else if (!driver.empty())
    section.add(Level::warning, "GPUDirect RDMA",
                "neither nvidia_peermem is loaded, nor has this kernel driver DMA-BUF: network cards do not reach the "
                "memory of GPUs",
                "modprobe nvidia-peermem, and name it in /etc/modules-load.d; or install the open kernel driver");
}

}  // namespace

std::string driver_fault(const NvmlStart& start, const std::string& root) {
  if (start.code != NvmlStart::kOtherVersion) return "";
  const auto or_unknown = [](const std::string& version) { return version.empty() ? "a version not known" : version; };
  return fmt::format("the kernel runs driver {}, and its library (NVML) is {}: they do not work together",
                     or_unknown(kernel_driver_version(root)), or_unknown(start.library));
}

std::vector<Finding> examine_driver(const NvmlStart& start, const std::string& root) {
  GpuSection section;
  const std::size_t unused = lost_gpus({}, root).size();
  if (start.code == NvmlStart::kOtherVersion)
    section.add(
        Level::warning, "NVIDIA driver", driver_fault(start, root),
        "reboot after the update, or stop what uses GPUs, then rmmod nvidia_drm nvidia_modeset nvidia_uvm nvidia "
        "and modprobe nvidia; a container has to be started anew");
  else if (start.code == NvmlStart::kNotLoaded && unused > 0)
    section.add(Level::warning, "NVIDIA driver",
                fmt::format("{} GPUs are on the PCI bus, and the kernel's driver is not loaded", unused),
                "modprobe nvidia; dkms status shows whether it was built for this kernel (uname -r)");
  else if (start.code != 0 && unused > 0)
    section.add(Level::warning, "NVIDIA driver",
                fmt::format("its library (NVML) does not start: status {}", start.code),
                "nvidia-smi and dmesg | grep NVRM show why");
  return section.take();
}

std::vector<Finding> examine_gpus(GpuBackend& backend, const std::vector<NetworkLink>& links,
                                  const std::optional<std::vector<LoggedError>>& log, const std::string& root) {
  GpuSection section;
  std::vector<NetworkLink> nics;
  std::set<int> nodes_of_nics;
  for (const NetworkLink& link : links)
    if (link.rdma && link.numa_node) {
      nics.push_back(link);
      nodes_of_nics.insert(*link.numa_node);
    }
  unsigned most_nvlinks = 0;
  std::map<std::string, PcieLink> best;  // by model
  std::set<int> nodes;
  bool any_whole = false;
  for (unsigned i = 0; i < backend.count(); ++i) {
    const GpuFacts& facts = backend.gpu(i).facts();
    most_nvlinks = std::max(most_nvlinks, facts.nvlinks.count);
    PcieLink& link = best[facts.name];
    link = {std::max(link.generation, facts.link_max.generation), std::max(link.width, facts.link_max.width)};
    nodes.insert(facts.numa_node);
    any_whole = any_whole || !facts.slice;
  }
  for (unsigned i = 0; i < backend.count(); ++i) {
    Gpu& gpu = backend.gpu(i);
    const GpuFacts& facts = gpu.facts();
    const GpuState state = gpu.state();
    const std::string name = fmt::format("gpu{}", i);
    section.add(
        !facts.slice ? Level::good
        : any_whole  ? Level::warning
                     : Level::note,
        name,
        fmt::format("{}, {}{}", facts.name, format_quantity(static_cast<double>(facts.memory), Dimension::bytes, true),
                    facts.pci_address.empty() ? "" : ", " + facts.pci_address),
        !facts.slice ? ""
        : any_whole  ? "it is in MIG mode, and other GPUs of this node are not: nvidia-smi -i GPU -mig 0"
                     : "MIG mode: link and copy engines are shared with other slices");
    if (!facts.refuses.empty())
      section.add(facts.refuses == "all processes" ? Level::warning : Level::note, name + " compute mode",
                  facts.refuses == "all processes" ? "prohibited" : "exclusive process",
                  fmt::format("it refuses {} (nvidia-smi -c DEFAULT lets all in)", facts.refuses));
    gpu_link(section, name, facts, state.link, best[facts.name]);
    nvlinks(section, name, facts, most_nvlinks);
    gpu_place(section, name, facts, nics, nodes_of_nics.size() < nodes.size());
    gpu_health(section, name, facts, state);
  }
  if (const auto listed = listed_gpus(backend))
    for (const std::string& address : lost_gpus(*listed, root)) fault(section, lost_gpu(address));
  peers_below_switches(section, backend, nics, root);
  gpu_direct(section, backend, links, root);
  fabric_of_nodes(section, backend, root);
  past_errors(section, backend, log);
  const auto why = backend.no_file_reader();
  section.add(why ? Level::missing : Level::good, "cuFile", why.value_or("GPUDirect Storage can be tried"));
  return section.take();
}

}  // namespace headrace::system
