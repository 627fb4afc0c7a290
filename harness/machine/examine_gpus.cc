#include "harness/machine/examine_gpus.h"

#include <fmt/format.h>

#include <algorithm>

#include "harness/base/units.h"

namespace headrace::system {
namespace {

using Level = Finding::Level;

class Section {
 public:
  void add(Level level, std::string subject, std::string text, std::string advice = "") {
    findings_.push_back({level, "gpus", std::move(subject), std::move(text), std::move(advice)});
  }
  std::vector<Finding> take() { return std::move(findings_); }

 private:
  std::vector<Finding> findings_;
};

std::string link_in_words(const PcieLink& link) {
  return link.generation == 0 ? "not told" : fmt::format("Gen{} x{}", link.generation, link.width);
}

/// The link sleeps at a lower generation when it is idle; its width does not change.
void gpu_link(Section& section, const std::string& name, const GpuFacts& facts, const PcieLink& now) {
  if (now.generation == 0 && facts.link_max.generation == 0) return;
  const std::string text = fmt::format("{}; at most {}", link_in_words(now), link_in_words(facts.link_max));
  if (now.width < facts.link_max.width)
    section.add(Level::warning, name + " link", text,
                "fewer lanes than GPU and slot have: reseat the GPU or look at its riser");
  else if (now.generation < facts.link_max.generation)
    section.add(Level::note, name + " link", text,
                "an idle link sleeps; whether it wakes fully, h2d tells: metric link_trained");
  else
    section.add(Level::good, name + " link", text);
}

void gpu_place(Section& section, const std::string& name, const GpuFacts& facts, const std::vector<NetworkLink>& nics) {
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

void gpu_health(Section& section, const std::string& name, const GpuState& state) {
  if (!state.held_back.empty())
    section.add(Level::warning, name + " clocks", "held back: " + state.held_back,
                "copies and kernels are slower until the reason is gone");
  if (state.ecc_uncorrected.value_or(0) > 0)
    section.add(Level::warning, name + " memory",
                fmt::format("{} uncorrected errors (ECC) since the driver was loaded", *state.ecc_uncorrected),
                "drain the node and have the GPU looked at");
  if (state.replays.value_or(0) > 0)
    section.add(Level::note, name + " replays",
                fmt::format("{} PCIe packets were sent again since the driver was loaded", *state.replays),
                "a number that grows during a run (metric error_count) means a bad link");
}

}  // namespace

std::vector<Finding> examine_gpus(GpuBackend& backend, const std::vector<NetworkLink>& links) {
  Section section;
  std::vector<NetworkLink> nics;
  for (const NetworkLink& link : links)
    if (link.rdma && link.numa_node) nics.push_back(link);
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
    gpu_link(section, name, facts, state.link);
    gpu_place(section, name, facts, nics);
    gpu_health(section, name, state);
  }
  const auto why = backend.no_file_reader();
  section.add(why ? Level::missing : Level::good, "cuFile", why.value_or("GPUDirect Storage can be tried"));
  return section.take();
}

}  // namespace headrace::system
