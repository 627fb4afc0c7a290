// GPUs that are host memory (host_gpu.h) as a plugin, for the whole program: HEADRACE_FAKE_GPUS names a file with a line for each
// thing that is not as usual, "HOST GPU KEY VALUE": "node3 1 wrong_after 5", "* * held_back power limit". HOST is a host name or
// *, GPU a number or *. "* * count 4" says how many there are (2 without it).
#include <stdexcept>

#include "harness/backends/plugin.h"
#include "tests/unit/fake_gpu_lines.h"
#include "tests/unit/host_gpu.h"

namespace headrace::testing {
namespace {

void set(HostGpuSettings& gpu, const FakeGpuLine& line) {
  const auto number = [&] { return std::stoull(line.value); };
  if (line.key == "wrong_after")
    gpu.wrong_after = number();
  else if (line.key == "lost_after")
    gpu.lost_after = number();
  else if (line.key == "ecc_uncorrected")
    gpu.state.ecc_uncorrected = number();
  else if (line.key == "remap_failed")
    gpu.state.remap_failed = number() != 0;
  else if (line.key == "remap_pending")
    gpu.state.remap_pending = number() != 0;
  else if (line.key == "xid")
    gpu.state.xids = {static_cast<unsigned>(number())};
  else if (line.key == "fabric")
    gpu.facts.fabric = line.value;
  else if (line.key == "fabric_group")
    gpu.facts.fabric_group = line.value;
  else if (line.key == "held_back")
    gpu.state.held_back = line.value;
  else if (line.key == "numa_node")
    gpu.facts.numa_node = static_cast<int>(number());
  else if (line.key == "address")
    gpu.facts.pci_address = line.value;
  else if (line.key == "product_ns")
    gpu.product_ns = number();
  else if (line.key == "memory")
    gpu.facts.memory = number();
  else if (line.key == "flips_after")
    gpu.flips_after = number();
  else if (line.key == "product_hangs_after")
    gpu.product_hangs_after = number();
  else if (line.key == "power_limit_w")
    gpu.state.power_limit_w = static_cast<double>(number());
  else if (line.key == "runs_hot")
    gpu.runs_hot = number() != 0;
  else if (line.key == "corrupts_h2d")
    gpu.corrupts = number() != 0 ? std::optional(CopyKind::h2d) : std::nullopt;
  else if (line.key == "rate")  // of its links [B/s]
    gpu.h2d = gpu.d2h = std::stod(line.value);
  else if (line.key == "peer")  // by copy engines and by kernels
    gpu.peer = gpu.cores = std::stod(line.value);
  else if (line.key == "memory_rate")
    gpu.d2d = gpu.memory = std::stod(line.value);
  else
    throw std::runtime_error("no such key: " + line.key);
}

HostBackendSettings settings() {
  const std::vector<FakeGpuLine> lines = lines_of_this_host();
  HostBackendSettings all;
  std::size_t count = 2;
  for (const FakeGpuLine& line : lines)
    if (line.key == "count") count = std::stoull(line.value);
  const auto of_all = [](const std::string& key) {
    return key == "count" || key == "hollow" || key.starts_with("nccl_");
  };
  all.gpus.assign(count, HostGpuSettings{});
  all.no_files = "this is a test";
  for (const FakeGpuLine& line : lines)
    if (line.key == "hollow") all.hollow = line.value != "0";
  for (const FakeGpuLine& line : lines)
    for (std::size_t i = 0; i < count; ++i)
      if (!of_all(line.key) && (line.gpu == "*" || std::stoull(line.gpu) == i)) set(all.gpus[i], line);
  return all;
}

class FakeGpus final : public Plugin {
 public:
  std::string version() const override { return "a test's"; }
  std::unique_ptr<GpuBackend> gpu_backend() override { return std::make_unique<HostGpuBackend>(settings()); }
};

}  // namespace
}  // namespace headrace::testing

extern "C" __attribute__((visibility("default"))) headrace::Plugin* headrace_plugin() {
  static headrace::testing::FakeGpus plugin;
  return &plugin;
}
