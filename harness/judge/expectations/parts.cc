#include "harness/judge/expectations/parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "harness/backends/gpu.h"
#include "harness/backends/loader.h"
#include "harness/base/glob.h"
#include "harness/base/object_path.h"
#include "harness/base/system/kernel_files.h"
#include "harness/job/formula.h"
#include "harness/machine/block_device.h"
#include "harness/machine/cpu.h"
#include "harness/machine/device_settings.h"
#include "harness/machine/network_links.h"
#include "harness/machine/node.h"
#include "harness/machine/pci_path.h"

namespace headrace::expectations {
namespace {

namespace fs = std::filesystem;

/// Formula B6; 0 for a link that is not reported.
double pcie_rate(unsigned generation, unsigned lanes) {
  const auto known = system::pcie_generation(generation);
  if (!known || lanes == 0) return 0;
  return job::apply("pcie_raw_bandwidth", {{"lane_transfers_per_s", known->gigatransfers_per_s * 1e9},
                                           {"lanes_count", lanes},
                                           {"encoding_ratio", known->encoding}})
      .value();
}

std::string pcie_words(unsigned generation, unsigned lanes) {
  return fmt::format("PCIe gen {} x{}", generation, lanes);
}

Part gpu_link(const std::string& name, const GpuFacts& facts) {
  Part part{.kind = "gpu_link", .name = name, .link = "PCIe"};
  const PcieLink& most = facts.link_max;
  if (facts.slice) {
    part.how = "a MIG slice shares its GPU's link with the other slices";
  } else if (facts.beside_pcie()) {
    part.link = "C2C";
    part.rate = facts.c2c.rate;
    part.how = facts.c2c.rate != 0 ? fmt::format("NVLink-C2C, {} links", facts.c2c.count)
                                   : "it shares the host's memory by NVLink-C2C, whose rate the driver does not report";
  } else if (part.rate = pcie_rate(most.generation, most.width); part.rate != 0) {
    part.how = pcie_words(most.generation, most.width);
  } else {
    part.how = "the driver does not report its link";
  }
  return part;
}

Part gpu_memory(const std::string& name, const GpuFacts& facts) {
  Part part{.kind = "gpu_memory", .name = name};
  if (facts.slice) {
    part.how = "a MIG slice has a part of its GPU's memory channels";
    return part;
  }
  part.model = facts.name;
  part.how = fmt::format("no table has the memory of {}", facts.name);
  return part;
}

/// `links` of one GPU's NVLinks together.
void count_links(Part& part, const NvLinks& all, unsigned links) {
  part.model = fmt::format("NVLink {}", all.generation);
  part.units = links;
  part.rate = links * all.each;
  part.how = all.each != 0 ? fmt::format("{} links of {}", links, part.model)
                           : fmt::format("{} NVLinks of a generation that no table has", links);
}

/// The path from one GPU to another.
Part gpu_pair(const std::string& name, const GpuFacts& from, const GpuFacts& to) {
  Part part{.kind = "gpu_pair", .name = name};
  const NvLinks& links = from.nvlinks;
  const auto direct = static_cast<unsigned>(std::count(links.ends.begin(), links.ends.end(), to.pci_address));
  if (links.to_switch && to.nvlinks.to_switch)
    count_links(part, links, std::min(links.count, to.nvlinks.count));
  else if (direct != 0 && !to.pci_address.empty())
    count_links(part, links, direct);
  else
    part.how = "no NVLink between the two: the rate of bridges and switches between them is not reported";
  return part;
}

void add_gpus(std::vector<Part>& parts, Node& node) {
  if (!node.backends().why_not(Gives::gpus).empty()) return;
  GpuBackend& gpus = node.backends().gpu();
  const auto name = [](unsigned i) { return fmt::format("gpu{}", i); };
  for (unsigned i = 0; i < gpus.count(); ++i) {
    const GpuFacts& facts = gpus.gpu(i).facts();
    parts.push_back(gpu_link(name(i), facts));
    parts.push_back(gpu_memory(name(i), facts));
    if (facts.nvlinks.count == 0) continue;
    count_links(parts.emplace_back(Part{.kind = "nvlink", .name = name(i)}), facts.nvlinks, facts.nvlinks.count);
  }
  for (unsigned from = 0; from < gpus.count(); ++from)
    for (unsigned to = 0; to < gpus.count(); ++to)
      if (from != to)
        parts.push_back(gpu_pair(name(from) + "_" + name(to), gpus.gpu(from).facts(), gpus.gpu(to).facts()));
}

void add_ports(std::vector<Part>& parts, const std::string& root) {
  const std::vector<system::NetworkLink> all = system::network_links(root + "/sys");
  for (const system::NetworkLink& link : all) {
    if (link.kind == system::kManagesSwitches) continue;
    Part part{.kind = link.rdma ? "rdma_port" : "ethernet_port", .name = link.name, .model = link.driver};
    part.up = link.up;
    part.link = link.kind;
    if (!link.physical) {
      part.how = link.carrier == system::Carrier::over_card || link.carrier == system::Carrier::bridge
                     ? "its cards have lines of their own"
                     : "no card behind it";
    } else if (link.kind == "iWARP") {
      part.how = "iWARP, which headrace does not measure";
    } else if (link.rdma && link.kind != "InfiniBand" && link.kind != "RoCE") {
      part.how = "neither InfiniBand nor RoCE: it has no reliable connections";
    } else if (link.rate == 0) {
      part.how = link.up ? "its rate is not reported, as with virtual cards" : "it is not up";
    } else {
      part.rate = link.rate;
      part.how = fmt::format("{} at {:g} Gbit/s{}", link.kind, part.rate * 8e-9,
                             link.carrying > 1 ? fmt::format(" over {} legs of a bond", link.carrying) : "");
      if (const double host = system::host_rate(link, all); host != 0 && host < link.rate) {
        part.rate = host;
        part.how += fmt::format(", of which {} carries {:.3g}", system::in_words(*link.host_link), host * 8e-9);
      }
    }
    parts.push_back(std::move(part));
  }
}

/// [B/s] of a disk behind ATA, by the link that its path in /sys goes over. 0 = none, or not reported.
double sata_rate(const fs::path& folder, const std::string& root) {
  for (const fs::path& step : folder) {
    const std::string name = step.string();
    if (!name.starts_with("ata")) continue;
    const std::string speed =
        system::read_line(root + "/sys/class/ata_link/link" + name.substr(3) + "/sata_spd").value_or("");
    return std::strtod(speed.c_str(), nullptr) * 1e9 / 10;  // "6.0 Gbps", 8b/10b
  }
  return 0;
}

/// The disk of the block device whose folder in /sys is `sys_path`.
Part disk_part(const std::string& name, const std::string& sys_path, const std::string& root) {
  Part part{.kind = "disk", .name = name};
  const system::DeviceSettings settings = system::device_settings(sys_path);
  if (!settings.disk.empty()) part.name = settings.disk;
  part.model = settings.model;
  const std::string folder = root + "/sys/block/" + part.name;
  std::error_code ignored;
  if (!settings.members.empty()) {
    part.how = fmt::format("the total rate of {} is not reported", join(settings.members));
  } else if (const auto link = system::host_link_of(folder + "/device/device")) {
    part.link = "PCIe";
    part.rate = pcie_rate(link->generation, link->lanes);
    part.how = pcie_words(link->generation, link->lanes);
    if (link->degraded())
      part.how += fmt::format(", where the disk could have {}", pcie_words(link->most_generation, link->most_lanes));
  } else if (settings.rotational.value_or(false) && (settings.transport == "scsi")) {
    part.link = "rotating";
    part.model = "rotating disk";
    part.how = "a rotating disk";
  } else if (const double rate = sata_rate(fs::canonical(folder, ignored), root); rate != 0) {
    part.link = "SATA";
    part.rate = rate;
    part.how = fmt::format("SATA at {:g} Gbit/s", rate * 10e-9);
  } else {
    part.how = fmt::format("a disk{} does not report its rate",
                           settings.transport.empty() ? "" : " behind " + settings.transport);
  }
  return part;
}

Part disk_below(const std::string& path) {
  if (is_object_path(path)) return {.kind = "disk", .name = "disk", .how = "an object store, and no folder"};
  if (const auto device = system::device_of(path)) return disk_part(device->name, device->sys_path, "");
  Part none{.kind = "disk", .name = "disk"};
  none.how = "no disk of this machine is below that folder";
  return none;
}

/// Every disk of a tree that a test laid: which of them holds the data, it does not report.
void add_laid_disks(std::vector<Part>& parts, const std::string& root) {
  for (const std::string& name : system::entries(root + "/sys/block"))
    parts.push_back(disk_part(name, root + "/sys/block/" + name, root));
}

void add_memory(std::vector<Part>& parts, const std::string& root) {
  const system::CpuFacts cpu = system::cpu_facts(root);
  Part part{.kind = "memory", .name = "memory"};
  part.units = std::max(1u, cpu.sockets);
  if (cpu.is_virtual) {
    part.how = "a virtual machine has a share of its host's memory";
  } else {
    part.model = cpu.model;
    part.how = fmt::format("no table has the memory channels of {}", cpu.model);
  }
  parts.push_back(std::move(part));
}

void apply(Part& part, const RateEntry& entry) {
  part.rate = entry.rate * part.units;
  part.source = entry.source;
  if (entry.rate == 0) {
    part.how = entry.unknown;
    return;
  }
  const std::string what = glob_match(entry.name, part.name) ? part.name : part.model;
  part.how = part.units == 1 ? what : fmt::format("{:g} x {}", part.units, what);
  if (part.kind == "disk" && part.model != "rotating disk") part.link = "table";
}

}  // namespace

void apply_rates(std::vector<Part>& parts, const Table& table) {
  for (Part& part : parts)
    for (const RateEntry& entry : table.rates) {
      if (entry.part != part.kind && !(entry.part == "nvlink" && part.kind == "gpu_pair")) continue;
      if (!glob_match(entry.name, part.name) && !glob_match(entry.name, part.model)) continue;
      apply(part, entry);
      break;
    }
}

std::vector<Part> parts_of(Node& node, const std::string& path, const Table& table, const std::string& root) {
  std::vector<Part> parts;
  add_gpus(parts, node);
  add_ports(parts, root);
  if (root.empty())
    parts.push_back(disk_below(path));
  else
    add_laid_disks(parts, root);
  add_memory(parts, root);
  apply_rates(parts, table);
  return parts;
}

}  // namespace headrace::expectations
