// What headrace says of published machines, before anything runs there.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "harness/backends/loader.h"
#include "harness/base/error.h"
#include "harness/base/units.h"
#include "harness/engine/plan/plan.h"
#include "harness/judge/expectations/collectives.h"
#include "harness/judge/expectations/hold.h"
#include "harness/machine/examine/examine_gpus.h"
#include "harness/machine/examine/examine_network.h"
#include "harness/machine/examine/examine_rdma.h"
#include "harness/machine/network/network_ports.h"
#include "harness/machine/network/rdma_place.h"
#include "harness/machine/network/rdma_rails.h"
#include "harness/machine/numa.h"
#include "harness/workload/workload.h"
#include "tests/machines/machine.h"
#include "tests/machines/mocked_nvml.h"
#include "tests/unit/host_gpu.h"
#include "tests/unit/source_dir.h"
#include "tests/unit/temporary_folder.h"

namespace headrace::testing {
namespace {

namespace fs = std::filesystem;

struct Ports final : RdmaBackend {
  explicit Ports(std::vector<RdmaPort> there) : all(std::move(there)) {}
  std::optional<std::string> unusable() const override {
    return all.empty() ? std::optional<std::string>("no RDMA device") : std::nullopt;
  }
  const std::vector<RdmaPort>& ports() const override { return all; }
  std::unique_ptr<RdmaEndpoint> open(const RdmaPort&, const RdmaSettings&) override { return nullptr; }
  std::vector<RdmaPort> all;
};

/// Everything that is said of a machine.
class Told {
 public:
  explicit Told(const std::string& file) : machine_(file), node_(root_ / "scratch") {
    machine_.lay(root_.path());
    node_.backends().replace_gpu(gpus());
    node_.backends().replace_rdma(std::make_unique<Ports>(machine_.rdma_ports()));
  }

  std::string text() {
    out_ = machine_.title() + "\n";
    const std::vector<system::NetworkLink> links = system::network_links(root_ / "sys");
    findings(system::examine_network(links, {}));
    if (!machine_.rdma_ports().empty())
      findings(system::examine_rdma(Ports(machine_.rdma_ports()),
                                    {system::Limit::kUnlimited, system::Limit::kUnlimited}, true));
    if (!machine_.gpus().empty()) findings(system::examine_gpus(node_.backends().gpu(), links));
    job_ports();
    places();
    for (const char* configuration : {"gpu.yaml", "rdma.yaml"}) plan_of(configuration);
    expected();
    return out_;
  }

 private:
  std::unique_ptr<GpuBackend> gpus() {
    HostBackendSettings settings;
    settings.gpus.clear();
    settings.no_files = "libcufile.so.0 not found: no GPUDirect Storage";
    const cuda::Nvml& nvml = mocked_nvml(nvml_);
    for (GpuFacts& facts : machine_.gpus()) {
      HostGpuSettings gpu;
      void* const device = nvml.device(facts.pci_address);
      facts.driver = nvml.driver_version();
      facts.link_max = nvml.link_max(device);
      facts.slice = nvml.is_sliced(device);
      facts.nvlinks = nvml.links().nvlinks(device);
      facts.c2c = nvml.links().c2c(device);
      facts.fabric = nvml.links().fabric(device);
      gpu.facts = std::move(facts);
      gpu.state = nvml.state(device);
      settings.gpus.push_back(std::move(gpu));
    }
    if (settings.gpus.empty()) settings.unusable = "libcuda.so.1 not found: no NVIDIA driver";
    return std::make_unique<HostGpuBackend>(settings);
  }

  void line(const std::string& text) { out_ += text + "\n"; }

  void findings(const std::vector<system::Finding>& all) {
    static const char* const kLevels[] = {"good", "note", "WARNING", "missing"};
    if (!all.empty()) line("\ndoctor, " + all.front().section);
    for (const system::Finding& f : all) {
      line(fmt::format("  {:8}{}: {}", kLevels[static_cast<int>(f.level)], f.subject, f.text));
      if (!f.advice.empty()) line("          -> " + f.advice);
    }
  }
  void job_ports() {
    std::vector<NodePorts> nodes{{"node", network_ports(root_ / "sys")}};
    const PortCount count = count_ports(nodes, 0);
    line("\nports of a job");
    line(count.unknown.empty() ? fmt::format("  {} at {:g} Gbit/s{}", count.fewest, count.rate * 8e-9,
                                             count.do_not_count.empty() ? "" : "; do not count: " + count.do_not_count)
                               : "  not known: " + count.unknown);
  }
  /// Which port each rank of a node takes, one for each port, and of which GPU it moves data.
  void places() {
    const std::vector<RdmaPort> ports = machine_.rdma_ports();
    const std::vector<NumaNode> nodes = numa_nodes(root_.path());
    std::vector<std::string> gpus, taken;
    for (const GpuFacts& gpu : machine_.gpus()) gpus.push_back(gpu.pci_address);
    line("\nranks of a node");
    try {
      const RdmaRails rails = rdma_rails(ports, "", 0);
      const auto active =
          std::count_if(rails.ports.begin(), rails.ports.end(), [](const RdmaPort* p) { return p->active; });
      for (unsigned turn = 0; turn < active; ++turn) {
        const RdmaPlace place = choose_rdma_place(ports, {.turn = turn, .sys_root = root_.path()});
        taken.push_back(place.port->pci_address);
        std::string why;
        const NumaNode* node = choose_numa_node(NumaChoice::local, place.port->numa_node, nodes, why);
        line(fmt::format("  rank {}: {}, rail {}, processors of {}{}", turn, place.port->name(), place.rail,
                         node ? fmt::format("NUMA node {}", node->id) : "any node",
                         gpus.empty() ? "" : fmt::format(", data of gpu{}", nearest_gpu(taken, gpus, root_.path()))));
      }
      if (!rails.left_out.empty()) line("  left out: " + rails.left_out);
    } catch (const std::exception& e) {
      line(std::string("  none: ") + e.what());
    }
  }
  /// What of a shipped configuration runs on this node, as the first of two processes where it talks to others.
  void plan_of(const std::string& configuration) {
    PlanOptions options;
    options.config_file = source_dir() + "/configs/" + configuration;
    options.target_path = root_ / "scratch";
    options.processes = 2;
    std::map<std::string, std::vector<std::string>> by_reason;  // "" = it can run
    for (const Point& point : make_plan(options).points) {
      if (point.id == "h2d/remote-node") continue;  // which NUMA nodes there are, the machine of the test tells
      const auto skip = point.workload->check(node_);
      by_reason[skip ? skip->reason : ""].push_back(point.id);
    }
    line("\nplan -c configs/" + configuration);
    for (const auto& [reason, points] : by_reason) {
      line(fmt::format("  {} point{} {}", points.size(), points.size() == 1 ? "" : "s",
                       reason.empty() ? "can run" : "cannot: " + reason));
      std::string last;
      for (const std::string& id : points) {
        const std::string name =
            id.substr(0, id.find('/', id.find('/') + 1));  // with its label, of many sizes one line
        if (name != last) line("    " + name);
        last = name;
      }
    }
  }
  void expected() {
    const expectations::Table table = expectations::load_table();
    const std::vector<expectations::Part> parts = expectations::parts_of(node_, root_.path(), table, root_.path());
    line("\nexpect");
    for (const expectations::Part& part : parts) {
      if (part.kind == "gpu_pair" && part.name != "gpu0_gpu1") continue;  // all are alike here
      line(fmt::format("  {} {}: {}", part.kind, part.name,
                       part.rate > 0 ? fmt::format("{} ({}){}", format_quantity(part.rate, Dimension::bytes_per_second),
                                                   part.how, part.up ? "" : ", not up")
                                     : "not known: " + part.how));
    }
    const auto first = [&](const char* kind) {
      for (const expectations::Prospect& p : expectations::prospects(parts, table))
        if (p.part->kind == kind && p.part->up)
          return line(fmt::format("  {}.{} on {}: {} to {}, far below under {}", p.figure->workload, p.figure->metric,
                                  p.part->name,
                                  format_quantity(p.figure->usual_low * p.part->rate, Dimension::bytes_per_second),
                                  format_quantity(p.figure->usual_high * p.part->rate, Dimension::bytes_per_second),
                                  format_quantity(p.figure->least * p.part->rate, Dimension::bytes_per_second)));
    };
    if (const auto reduce = expectations::all_reduce_prospect(parts))
      for (const expectations::AllReduceTime& s : reduce->sizes)
        line(fmt::format(
            "  all-reduce of {} GPUs, {}: {} to {}", reduce->gpus, format_quantity(s.bytes, Dimension::bytes, true),
            format_quantity(s.fastest_s, Dimension::seconds), format_quantity(s.slowest_s, Dimension::seconds)));
    for (const char* kind : {"gpu_link", "gpu_memory", "gpu_pair", "rdma_port", "disk", "memory"}) first(kind);
  }

  TemporaryFolder root_;
  Machine machine_;
  std::vector<NvmlMockGpu> nvml_ = machine_.nvml();
  Node node_;
  std::string out_;
};

std::vector<std::string> descriptions() {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(source_dir() + "/tests/machines"))
    if (entry.path().extension() == ".yaml") names.push_back(entry.path().stem().string());
  std::sort(names.begin(), names.end());
  return names;
}

class Machines : public ::testing::TestWithParam<std::string> {};

TEST_P(Machines, AreToldAsTheyAre) {
  const std::string folder = source_dir() + "/tests/machines/";
  const std::string told = Told(folder + GetParam() + ".yaml").text();
  const std::string file = folder + "golden/" + GetParam() + ".txt";
  if (std::getenv("HEADRACE_WRITE_GOLDEN")) std::ofstream(file) << told;
  std::ifstream golden(file);
  std::stringstream text;
  text << golden.rdbuf();
  EXPECT_EQ(told, text.str()) << "HEADRACE_WRITE_GOLDEN=1 writes it anew";
}

INSTANTIATE_TEST_SUITE_P(Published, Machines, ::testing::ValuesIn(descriptions()), [](const auto& info) {
  std::string name = info.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

}  // namespace
}  // namespace headrace::testing
