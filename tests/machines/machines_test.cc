// What headrace says of published machines, before anything runs there.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
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

/// What is wrong with a machine besides.
struct Sickness {
  std::function<void(const TemporaryFolder& root)> files{};
  std::function<void(std::vector<NvmlMockGpu>& gpus)> gpus{};
  std::function<void(std::vector<RdmaPort>& ports)> ports{};
  std::string log{};  // lines of the kernel
  std::vector<NcclSetting> nccl{};
  unsigned lost_gpus = 0;                 // the last ones, which the driver does not list
  std::optional<std::uint64_t> locked{};  // limit on locked memory [B]
  NvmlStart driver{};                     // whose failure leaves no GPU
  std::function<void(system::ProcessLimits& limits)> limits{};
};

/// Everything that is said of a machine.
class Reported {
 public:
  explicit Reported(const std::string& file, const Sickness& sick = {})
      : machine_(file), node_(root_ / "scratch"), ports_(machine_.rdma_ports()), nccl_(sick.nccl) {
    machine_.lay(root_.path());
    if (sick.files) sick.files(root_);
    if (sick.gpus) sick.gpus(nvml_);
    if (sick.ports) sick.ports(ports_.all);
    driver_ = sick.driver;
    limits_ = {.files = {1 << 20, 1 << 20},
               .locked = {machine_.locked_limit(), machine_.locked_limit()},
               .shared = system::SharedMemory{std::uint64_t{64} << 30, std::uint64_t{64} << 30},
               .tasks = {32768, "ulimit -u"}};
    if (sick.limits) sick.limits(limits_);
    lost_gpus_ = driver_.code == 0 ? sick.lost_gpus : static_cast<unsigned>(machine_.gpus().size());
    locked_ = sick.locked.value_or(machine_.locked_limit());
    if (machine_.may_read_log()) log_ = system::logged_errors(sick.log);
    node_.backends().replace_gpu(gpus());
    node_.backends().replace_rdma(std::make_unique<Ports>(ports_.all));
  }

  bool is_sound() const { return machine_.is_sound(); }
  const std::string& title() const { return machine_.title(); }
  std::vector<std::vector<system::Finding>> doctor() {
    const std::vector<system::NetworkLink> links = system::network_links(root_ / "sys");
    std::vector<std::vector<system::Finding>> all{
        system::examine_limits(limits_), system::examine_network(links, nccl_, system::ip_interfaces(root_ / "sys")),
        system::examine_driver(driver_, root_.path())};
    if (!ports_.all.empty()) all.push_back(system::examine_rdma(ports_, {locked_, locked_}, ~locked_ == 0));
    if (!machine_.gpus().empty() && driver_.code == 0)
      all.push_back(system::examine_gpus(node_.backends().gpu(), links, log_, root_.path()));
    return all;
  }

  std::string text() {
    out_ = machine_.title() + "\n";
    for (const auto& section : doctor()) findings(section);
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
    std::vector<GpuFacts> there = machine_.gpus();
    there.resize(there.size() - lost_gpus_);
    for (GpuFacts& facts : there) {
      HostGpuSettings gpu;
      void* const device = nvml.device(facts.pci_address);
      facts.driver = nvml.driver_version();
      facts.link_max = nvml.link_max(device);
      facts.slice = nvml.is_sliced(device);
      facts.nvlinks = nvml.links().nvlinks(device);
      facts.c2c = nvml.links().c2c(device);
      facts.fabric = nvml.links().fabric(device);
      facts.refuses = nvml.refuses(device);
      facts.fabric_group = nvml.links().fabric_group(device);
      facts.own_generation = nvml.own_generation(device);
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
    const std::vector<RdmaPort>& ports = ports_.all;
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
      if (point.id == "h2d/remote-node") continue;  // which NUMA nodes there are, the machine of the test reports
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
  Ports ports_;
  std::vector<NcclSetting> nccl_;
  std::optional<std::vector<system::LoggedError>> log_;
  unsigned lost_gpus_ = 0;
  NvmlStart driver_;
  system::ProcessLimits limits_;
  std::uint64_t locked_ = 0;
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

TEST_P(Machines, AreReportedAsTheyAre) {
  const std::string folder = source_dir() + "/tests/machines/";
  Reported machine(folder + GetParam() + ".yaml");
  const std::string reported = machine.text();
  EXPECT_EQ(reported.find("WARNING") == reported.npos, machine.is_sound()) << "a warning that every sound machine has";
  const std::string file = folder + "golden/" + GetParam() + ".txt";
  if (std::getenv("HEADRACE_WRITE_GOLDEN")) std::ofstream(file) << reported;
  std::ifstream golden(file);
  std::stringstream text;
  text << golden.rdbuf();
  EXPECT_EQ(reported, text.str()) << "HEADRACE_WRITE_GOLDEN=1 writes it anew";
}

INSTANTIATE_TEST_SUITE_P(Published, Machines, ::testing::ValuesIn(descriptions()), [](const auto& info) {
  std::string name = info.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

/// A row of the table of sound machines, on the page for new hardware.
std::string row_of(const std::string& file) {
  Reported machine(file);
  std::map<std::string, std::string> reported;
  std::map<system::Finding::Level, unsigned> levels;
  unsigned gpus = 0;
  for (const auto& section : machine.doctor())
    for (const system::Finding& f : section) {
      reported.emplace(f.subject, f.text);
      ++levels[f.level];
      gpus += f.subject == fmt::format("gpu{}", gpus);
    }
  const auto first = [](const std::string& text) { return text.substr(0, text.find_first_of(",;")); };
  const auto or_dash = [](const std::string& text) { return text.empty() ? std::string("-") : text; };
  const std::string rails = reported["rails"].substr(0, reported["rails"].find(" ("));
  const auto ports = rails.empty() || rails.starts_with("none") ? 0 : 1 + std::count(rails.begin(), rails.end(), ',');
  return fmt::format("| {} | {} | {} | {} | {} | {} | {} |\n", machine.title(),
                     gpus == 0 ? "-" : fmt::format("{} x {}", gpus, first(reported["gpu0"])),
                     or_dash(first(reported["gpu0 link"])), or_dash(first(reported["gpu0 NVLinks"])),
                     ports == 0 ? "-" : std::to_string(ports), levels[system::Finding::Level::note],
                     levels[system::Finding::Level::warning]);
}

TEST(SoundMachines, AreOnThePageForNewHardware) {
  std::string table =
      "| machine | GPUs | link to the host | NVLinks | rails by RDMA | notes | warnings "
      "|\n|---|---|---|---|---|---|---|\n";
  for (const char* machine :
       {"dgx-h100", "gb200-tray", "roce-bonds", "azure-nd-h100", "p5", "a100-pcie", "dgx-spark", "mi300x"})
    table += row_of(source_dir() + "/tests/machines/" + machine + ".yaml");
  const std::string page = source_dir() + "/docs/how-to/first-run-on-hardware.md";
  std::ifstream file(page);
  std::stringstream text;
  text << file.rdbuf();
  std::string whole = text.str();
  const std::size_t begin = whole.find("| machine |"), end = whole.find("\n\n", begin);
  ASSERT_NE(begin, whole.npos);
  if (std::getenv("HEADRACE_WRITE_GOLDEN")) std::ofstream(page) << whole.replace(begin, end + 1 - begin, table);
  EXPECT_NE(whole.find(table), whole.npos) << "HEADRACE_WRITE_GOLDEN=1 writes it anew:\n" << table;
}

struct Seeded {
  const char* machine;
  const char* subject;  // of a warning, in full
  const char* says;     // in its text or advice
  Sickness sick;
};

void put(const TemporaryFolder& root, const std::string& file, const std::string& text) {
  std::ofstream(root / file) << text << "\n";
}
/// Of one port of one device.
Sickness port_file(const std::string& device, const std::string& file, const std::string& text) {
  return {
      .files = [=](const TemporaryFolder& root) { put(root, "sys/class/infiniband/" + device + "/" + file, text); }};
}
/// Without a cable.
Sickness down(const std::string& device) {
  return {.files = [=](const TemporaryFolder& root) {
    put(root, "sys/class/infiniband/" + device + "/ports/1/state", "1: DOWN");
    put(root, "sys/class/infiniband/" + device + "/ports/1/phys_state", "2: Polling");
  }};
}
Sickness port_mtu(const std::string& device, unsigned mtu) {
  return {.ports = [=](auto& ports) {
    for (RdmaPort& port : ports)
      if (port.device == device) port.mtu = mtu;
  }};
}
/// A bridge with Access Control Services that redirect requests and completions.
Sickness redirects(const std::string& bridge) {
  return {.files = [=](const TemporaryFolder& root) {
    std::string space(4096, '\0');
    space[0x100] = 0x01, space[0x102] = 0x01, space[0x103] = 0x16;  // errors; the next at 0x160
    space[0x160] = 0x0d, space[0x162] = 0x01, space[0x166] = 0x1d;
    fs::create_directories(root / ("sys/bus/pci/devices/" + bridge));
    std::ofstream(root / ("sys/bus/pci/devices/" + bridge + "/config")) << space;
  }};
}
template <class Change>
Sickness gpu(unsigned index, Change change) {
  return {.gpus = [=](std::vector<NvmlMockGpu>& all) { change(all.at(index)); }};
}
/// Of PCI devices: the IOMMU translates their addresses, as Linux does unless it is asked to pass them on.
Sickness translates(std::vector<std::string> addresses) {
  return {.files = [=](const TemporaryFolder& root) {
    for (const std::string& address : addresses)
      put(root, "sys/bus/pci/devices/" + address + "/iommu_group/type", "DMA-FQ");
  }};
}
Sickness control_register(const std::string& device, unsigned control) {
  return {.files = [=](const TemporaryFolder& root) {
    put_config(root / ("sys/class/infiniband/" + device + "/device"), control);
  }};
}
Sickness without_module(const char* module) {
  return {.files = [=](const TemporaryFolder& root) { fs::remove_all(root / ("sys/module/" + std::string(module))); }};
}
template <class Change>
Sickness limits(Change change) {
  return {.limits = change};
}
Sickness logged(const std::string& line) { return {.log = "4,100,5000000,-;" + line + "\n"}; }
Sickness nccl(const char* name, const char* value) { return {.nccl = {{name, value, "/etc/nccl.conf"}}}; }

std::vector<Seeded> seeded() {
  std::vector<Seeded> all{
      // Ports and their cards.
      {"dgx-h100", "mlx5_4/1", "sisters, which run at 400", port_file("mlx5_4", "ports/1/rate", "200 Gb/sec (4X HDR)")},
      {"dgx-h100", "mlx5_9/1", "lanes are lost", port_file("mlx5_9", "ports/1/rate", "200 Gb/sec (2X NDR)")},
      {"dgx-h100", "mlx5_1/1", "lanes are lost", port_file("mlx5_1", "ports/1/rate", "50 Gb/sec (1X HDR)")},
      {"dgx-h100", "mlx5_10/1", "look at the cable", down("mlx5_10")},
      {"dgx-h100", "mlx5_0/1", "no subnet manager", port_file("mlx5_0", "ports/1/state", "2: INIT")},
      {"dgx-h100", "mlx5_5/1", "PCI Express carries 126", port_file("mlx5_5", "device/current_link_width", "4")},
      {"dgx-a100", "mlx5_7/1", "PCI Express carries 126",
       port_file("mlx5_7", "device/current_link_speed", "8.0 GT/s PCIe")},
      {"dgx-a100", "mlx5_2/1", "sisters, which run at 200", port_file("mlx5_2", "ports/1/rate", "100 Gb/sec (4X EDR)")},
      {"mi300x", "mlx5_6/1", "sisters, which run at 400", port_file("mlx5_6", "ports/1/rate", "200 Gb/sec (2X NDR)")},
      {"mi300x", "mlx5_3/1", "look at the cable", down("mlx5_3")},
      {"mi300x", "mlx5_0/1", "less than it can take", port_file("mlx5_0", "device/current_link_width", "8")},
      {"gb200-tray", "mlx5_4/1", "sisters, which run at 400",
       port_file("mlx5_4", "ports/1/rate", "200 Gb/sec (4X HDR)")},
      {"gb300-tray", "mlx5_1/1", "lanes are lost", port_file("mlx5_1", "ports/1/rate", "400 Gb/sec (2X XDR)")},
      {"azure-nd-h100", "mlx5_ib3/1", "look at the cable", down("mlx5_ib3")},
      {"roce-bonds",
       "mlx5_bond_2/1",
       "a leg of the bond is down",
       {.files = [](const TemporaryFolder& root) { put(root, "sys/class/net/ens2f1np1/operstate", "down"); }}},
      {"roce-bonds",
       "ens1f0np0",
       "sisters, which run at 200",
       {.files = [](const TemporaryFolder& root) { put(root, "sys/class/net/ens1f0np0/speed", "100000"); }}},
      {"dgx-spark",
       "rocep1s0f0/1",
       "PCI Express carries",
       {.files =
            [](const TemporaryFolder& root) {
              put(root, "sys/class/infiniband/rocep1s0f0/device/current_link_width", "1");
            }}},
      {"a100-pcie", "mlx5_0/1", "PCI Express carries 63", port_file("mlx5_0", "device/current_link_width", "4")},
      {"dgx-h100", "mlx5_3/1", "no address", {.ports = [](auto& ports) { ports.at(5).gids.clear(); }}},
      {"dgx-h100", "mlx5_6/1", "its sisters have MTU 4096", port_mtu("mlx5_6", 1024)},
      {"roce-bonds", "mlx5_bond_1/1", "its sisters have MTU 4096", port_mtu("mlx5_bond_1", 1024)},
      {"gb300-tray", "mlx5_2/1", "no subnet manager", port_file("mlx5_2", "ports/1/state", "2: INIT")},
      {"p4d", "gpu5 memory", "no spare row", gpu(5, [](auto& one) { one.remap_failed = true; })},
      {"gb300-tray", "gpu1 link", "links to the processor are down", gpu(1, [](auto& one) { --one.c2c_up; })},
      {"azure-nd-h100", "gpu2 NVLinks", "17 of 18 up", gpu(2, [](auto& one) { --one.nvlinks_up; })},
      {"azure-nd-h100", "locked memory", "ulimit -l", {.locked = 64 << 10}},
      {"dgx-a100", "locked memory", "ulimit -l", {.locked = 8 << 20}},
      {"dgx-h100", "PCIe switch 0000:16:00.0", "ECAP_ACS+6.w=0", redirects("0000:17:00.0")},
      {"dgx-h100", "gpu3", "in MIG mode, and other GPUs", gpu(3, [](auto& one) { one.mig = true; })},
      {"gb200-tray",
       "IMEX",
       "nvidia-imex does not run",
       {.files =
            [](const TemporaryFolder& root) {
              fs::create_directories(root / "proc/1");
              put(root, "proc/1/comm", "systemd");
            }}},
      // GPUs.
      {"dgx-h100", "gpu5 NVLinks", "16 of 18 up", gpu(5, [](auto& one) { one.nvlinks_up = 16; })},
      {"dgx-h100", "gpu3 link", "fewer lanes", gpu(3, [](auto& one) { one.width = 8; })},
      {"dgx-h100", "gpu2 link", "its sisters have Gen5 x16",
       gpu(2, [](auto& one) { one.generation = one.most_generation = 4; })},
      {"dgx-h100", "gpu1 memory", "no spare row", gpu(1, [](auto& one) { one.remap_failed = true; })},
      {"dgx-h100", "gpu6 memory", "waits to be remapped", gpu(6, [](auto& one) { one.remap_pending = true; })},
      {"dgx-h100", "gpu7 fabric", "not set up: in progress", gpu(7, [](auto& one) { one.fabric = 2; })},
      {"dgx-h100", "gpu0 fabric", "failed to register", gpu(0, [](auto& one) { one.fabric_status = 999; })},
      {"dgx-h100", "gpu4 clocks", "thermal, by hardware", gpu(4, [](auto& one) { one.throttle = 0x40; })},
      {"dgx-h100", "gpu2 compute mode", "prohibited", gpu(2, [](auto& one) { one.compute_mode = 2; })},
      {"dgx-h100", "GPU at 0000:df:00.0 device", "the driver cannot use it", {.lost_gpus = 1}},
      {"dgx-h100",
       "GPU at 0000:df:00.0 past errors",
       "Xid 79",
       {.log = "4,1,1,-;NVRM: Xid (PCI:0000:df:00): 79, pid='<unknown>', GPU has fallen off the bus.\n",
        .lost_gpus = 1}},
      {"dgx-h100", "gpu4 past errors", "Xid 74", logged("NVRM: Xid (PCI:0000:9d:00): 74, pid=77, NVLink: fatal error")},
      {"dgx-a100", "gpu0 past errors", "Xid 119", logged("NVRM: Xid (PCI:0000:07:00): 119, pid=1, Timeout after 6s")},
      {"dgx-a100", "NVSwitch at 0000:c4:00.0 past errors", "SXid 20034",
       logged("nvidia-nvswitch3: SXid (PCI:0000:c4:00.0): 20034, Fatal, Link 30 LTSSM Fault Up")},
      {"gb200-tray", "gpu2 past errors", "Xid 149",
       logged("NVRM: Xid (PCI:0018:01:00): 149, NETIR Fatal XC0 i0 Link 08")},
      {"gb200-tray", "gpu1 fabric", "degraded bandwidth", gpu(1, [](auto& one) { one.fabric_health = 1; })},
      {"gb200-tray", "gpu3 fabric", "failed to register", gpu(3, [](auto& one) { one.fabric_status = 999; })},
      {"gb200-tray", "gpu0, gpu1, gpu3", "other GPUs of this node are in another",
       gpu(2, [](auto& one) { one.clique = 1; })},
      {"gb200-tray",
       "IMEX",
       "no channel",
       {.files = [](const TemporaryFolder& root) { fs::remove_all(root / "dev/nvidia-caps-imex-channels"); }}},
      {"gb200-tray", "gpu1 recovery", "a reset of the GPU", gpu(1, [](auto& one) { one.recovery = 1; })},
      {"gb200-tray", "gpu3 link", "9 of 10", gpu(3, [](auto& one) { one.c2c_up = 9; })},
      {"gb300-tray", "gpu0 NVLinks", "Xid 144 to 150", gpu(0, [](auto& one) { one.nvlinks_up = 17; })},
      {"gb300-tray", "gpu2 fabric", "too few NVLinks", gpu(2, [](auto& one) { one.fabric_health = 5u << 8; })},
      {"a100-pcie",
       "gpu1 NVLinks",
       "reseat the bridge",
       {.gpus =
            [](auto& all) {
              for (NvmlMockGpu& one : all) one.nvlinks_up = 12;
              all.at(1).nvlinks_up = 8;
            }}},
      {"a100-pcie", "gpu2 link", "fewer lanes", gpu(2, [](auto& one) { one.width = 4; })},
      {"rtx-workstation", "gpu1 link", "its sisters have", gpu(1, [](auto& one) { one.width = one.most_width = 4; })},
      {"p5", "gpu6 NVLinks", "0 of 18 up", gpu(6, [](auto& one) { one.nvlinks_up = 0; })},
      {"pod", "gpu0 memory", "no spare row", gpu(0, [](auto& one) { one.remap_failed = true; })},
      // The driver, and how network cards reach GPUs.
      {"dgx-h100",
       "NVIDIA driver",
       "driver 580.65.06, and its library (NVML) is 580.82.07",
       {.driver = {NvmlStart::kOtherVersion, "580.82.07"}}},
      {"gb200-tray", "NVIDIA driver", "and its library (NVML) is a version not known", {.driver = {18}}},
      {"pod", "NVIDIA driver", "a container has to be started anew", {.driver = {18, "570.12"}}},
      {"dgx-a100",
       "NVIDIA driver",
       "8 GPUs are on the PCI bus, and the kernel's driver is not loaded",
       {.driver = {9}}},
      {"a100-pcie", "NVIDIA driver", "does not start: status 999", {.driver = {999}}},
      {"dgx-h100", "IOMMU", "of gpu0,mlx5_0/1", translates({"0000:1b:00.0", "0000:18:00.0"})},
      {"roce-bonds", "IOMMU", "iommu=pt", translates({"0000:1b:00.0"})},
      {"dgx-a100", "GPUDirect RDMA", "modprobe nvidia-peermem", without_module("nvidia_peermem")},
      {"a100-pcie", "GPUDirect RDMA", "neither nvidia_peermem", without_module("nvidia_peermem")},
      {"dgx-a100", "mlx5_2/1", "relaxed ordering off", control_register("mlx5_2", 0x2900)},
      {"mi300x", "mlx5_5/1", "PCI_WR_ORDERING", control_register("mlx5_5", 0x2900)},
      // What programs are limited to.
      {"pod", "shared memory", "64.0 MiB, 64.0 MiB of it free", limits([](auto& all) {
         all.shared = system::SharedMemory{64 << 20, 64 << 20};
       })},
      {"azure-nd-h100", "shared memory", "/dev/shm is not there", limits([](auto& all) { all.shared.reset(); })},
      {"dgx-h100", "open files", "LimitNOFILE=", limits([](auto& all) {
         all.files = {1024, 1024};
       })},
      {"pod", "processes", "podPidsLimit", limits([](auto& all) {
         all.tasks = {200, "pids.max of the control group"};
       })},
      // What NCCL is reported.
      {"dgx-h100", "NCCL", "/etc/nccl.conf", nccl("NCCL_IB_HCA", "=mlx5_0,mlx5_22")},
      {"dgx-h100", "NCCL", "selects nothing", nccl("NCCL_IB_HCA", "=mlx5")},
      {"dgx-h100", "NCCL", "selects nothing", nccl("NCCL_IB_HCA", "^mlx5")},
      {"roce-bonds", "NCCL", "selects nothing", nccl("NCCL_SOCKET_IFNAME", "ib0")},
      {"mi300x", "NCCL", "TCP although", nccl("NCCL_IB_DISABLE", "1")}};
  return all;
}

TEST(SeededSicknesses, AreNamedWithThePartAndNothingElseIs) {
  const std::string folder = source_dir() + "/tests/machines/";
  for (const Seeded& one : seeded()) {
    SCOPED_TRACE(fmt::format("{}: {}: {}", one.machine, one.subject, one.says));
    std::string others;
    bool named = false;
    for (const auto& section : Reported(folder + one.machine + ".yaml", one.sick).doctor())
      for (const system::Finding& f : section) {
        if (f.level != system::Finding::Level::warning) continue;
        const bool here = f.subject == one.subject && (f.text + f.advice).find(one.says) != std::string::npos;
        named = named || here;
        if (!here) others += fmt::format("{}: {} -> {}\n", f.subject, f.text, f.advice);
      }
    EXPECT_TRUE(named) << others;
    // A GPU that left the bus is named twice, the other clique, too, and so are both attachments of one plug.
    if (named && one.sick.lost_gpus == 0 && std::string(one.machine) != "dgx-spark" &&
        std::string(one.subject).find(',') == std::string::npos) {
      EXPECT_EQ(others, "");
    }
  }
  EXPECT_GE(seeded().size(), 60u);
}

TEST(OddButSound, IsNoWarning) {
  const struct {
    const char* machine;
    Sickness odd;
  } all[]{
      // A virtual function has zeros where its card's own one has these settings; of a user, /sys shows 64 bytes.
      {"dgx-h100", control_register("mlx5_4", 0)},
      {"dgx-h100",
       {.files = [](const TemporaryFolder& root) { put(root, "sys/class/infiniband/mlx5_4/device/config", "x"); }}},
      {"gb200-tray", translates({"0008:01:00.0"})},       // is not reached by PCI Express
      {"rtx-workstation", translates({"0000:41:00.0"})},  // no card for RDMA
      {"p5", without_module("nvidia_peermem")},           // EFA has its own
      {"mi300x", {.driver = {NvmlStart::kNotLoaded}}},    // NVIDIA's library, and none of its GPUs
      {"pod", limits([](auto& all) { all.tasks = {}; })},
      {"dgx-h100", limits([](auto& all) {
         all.files = {1024, 524288};
       })},  // each process may raise that itself
  };
  for (const auto& [machine, odd] : all) {
    Reported reported(source_dir() + "/tests/machines/" + machine + ".yaml", odd);
    for (const auto& section : reported.doctor())
      for (const system::Finding& f : section)
        EXPECT_NE(f.level, system::Finding::Level::warning) << machine << ": " << f.subject << ": " << f.text;
  }
}

}  // namespace
}  // namespace headrace::testing
