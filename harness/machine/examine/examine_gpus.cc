#include "harness/machine/examine/examine_gpus.h"

#include <fmt/format.h>

#include <algorithm>

#include "harness/backends/gpu_faults.h"
#include "harness/base/units.h"
#include "harness/machine/lost_gpus.h"

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

/// What a driver tells of PCI Express where the GPU is not reached by it says nothing.
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
  if (links.count < there)
    section.add(Level::warning, name + " NVLinks", text,
                "look for Xid 74 in the kernel's log (dmesg), and reseat the GPU or have its board looked at");
  else
    section.add(Level::good, name + " NVLinks", text);
}

/// The link sleeps at a lower generation when it is idle; its width does not change.
void gpu_link(GpuSection& section, const std::string& name, const GpuFacts& facts, const PcieLink& now) {
  if (facts.beside_pcie()) return c2c_link(section, name, facts.c2c);
  if (now.generation == 0 && facts.link_max.generation == 0) return;
  const std::string text = fmt::format("{}; at most {}", link_in_words(now), link_in_words(facts.link_max));
  if (now.width < facts.link_max.width)
    section.add(Level::warning, name + " link", text,
                "fewer lanes than GPU and slot have: reseat the GPU or look at its riser");
  else if (now.generation < facts.link_max.generation)
    section.add(Level::note, name + " link", text,
                "an idle link sleeps; h2d shows whether it wakes fully: metric link_trained");
  else
    section.add(Level::good, name + " link", text);
}

void gpu_place(GpuSection& section, const std::string& name, const GpuFacts& facts,
               const std::vector<NetworkLink>& nics) {
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
    section.add(Level::warning, name + " place", text + ", no RDMA NIC there: " + others,
                "its network traffic crosses sockets: move NIC or GPU, or give the job GPUs that "
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
  for (const unsigned xid : state.xids)
    if (const Xid* known = find_xid(xid); known == nullptr || !known->fatal)
      section.add(Level::warning, name + " Xid", xid_in_words(xid), "the kernel's log (dmesg) has the rest");
}

}  // namespace

std::vector<Finding> examine_gpus(GpuBackend& backend, const std::vector<NetworkLink>& links) {
  GpuSection section;
  std::vector<NetworkLink> nics;
  for (const NetworkLink& link : links)
    if (link.rdma && link.numa_node) nics.push_back(link);
  unsigned most_nvlinks = 0;
  for (unsigned i = 0; i < backend.count(); ++i)
    most_nvlinks = std::max(most_nvlinks, backend.gpu(i).facts().nvlinks.count);
  for (unsigned i = 0; i < backend.count(); ++i) {
    Gpu& gpu = backend.gpu(i);
    const GpuFacts& facts = gpu.facts();
    const GpuState state = gpu.state();
    const std::string name = fmt::format("gpu{}", i);
    section.add(
        facts.slice ? Level::note : Level::good, name,
        fmt::format("{}, {}{}", facts.name, format_quantity(static_cast<double>(facts.memory), Dimension::bytes, true),
                    facts.pci_address.empty() ? "" : ", " + facts.pci_address),
        facts.slice ? "MIG mode: link and copy engines are shared with other slices" : "");
    if (!facts.refuses.empty())
      section.add(facts.refuses == "all processes" ? Level::warning : Level::note, name + " compute mode",
                  facts.refuses == "all processes" ? "prohibited" : "exclusive process",
                  fmt::format("it refuses {} (nvidia-smi -c DEFAULT lets all in)", facts.refuses));
    gpu_link(section, name, facts, state.link);
    nvlinks(section, name, facts, most_nvlinks);
    gpu_place(section, name, facts, nics);
    gpu_health(section, name, facts, state);
  }
  if (const auto listed = listed_gpus(backend))
    for (const std::string& address : lost_gpus(*listed)) fault(section, lost_gpu(address));
  const auto why = backend.no_file_reader();
  section.add(why ? Level::missing : Level::good, "cuFile", why.value_or("GPUDirect Storage can be tried"));
  return section.take();
}

}  // namespace headrace::system
