// A published machine, read from its description (*.yaml here): its tree of kernel files, laid into a folder, its RDMA
// ports as libibverbs lists them, its GPUs as CUDA and NVML report on them.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "harness/backends/gpu.h"
#include "harness/backends/rdma.h"
#include "harness/base/config/document.h"
#include "tests/machines/nvml_mock.h"

namespace headrace::testing {

/// The configuration space of a PCI Express device in `folder`, with its Device Control register.
void put_config(const std::string& folder, unsigned control);

class Machine {
 public:
  /// Of "dgx-h100.yaml". Throws UsageError with every problem of the file.
  explicit Machine(const std::string& file);

  const std::string& title() const { return title_; }
  bool is_sound() const;
  /// Writes /proc and /sys below `root`, an empty folder.
  void lay(const std::string& root) const;
  std::vector<RdmaPort> rdma_ports() const;
  /// What CUDA alone reports on each GPU that a process sees; empty where there is no driver.
  std::vector<GpuFacts> gpus() const;
  /// What NVML reports on them, and of those that a process does not see. Lives as long as this.
  std::vector<NvmlMockGpu> nvml() const;
  /// On memory that may be locked [B].
  std::uint64_t locked_limit() const;
  bool may_read_log() const;

 private:
  struct Device {               // on a PCI bus
    std::string address, path;  // "0000:1b:00.0"; "pci0000:15/0000:15:01.0/..."
    int numa = -1;
  };
  struct Gpu : Device {
    unsigned index = 0;
  };
  struct Port : Device {
    std::string device, layer, rate, interface, driver, state, model, legs, guid;
    unsigned number = 1;
  };
  struct Disk : Device {
    std::string name, model;
  };

  Device device_of(const config::Value& entry) const;
  void lay_pci(const std::string& root, const Device& device, const config::Value& link) const;
  void lay_processors(const std::string& root) const;
  void lay_gpu(const std::string& root, const Gpu& gpu) const;
  void lay_port(const std::string& root, const Port& port) const;
  void lay_disk(const std::string& root, const Disk& disk) const;

  std::string title_;
  config::Value all_;
  std::vector<Gpu> gpus_;
  std::vector<Port> ports_;
  std::vector<Disk> disks_;
  mutable std::deque<std::vector<const char*>> ends_;
};

}  // namespace headrace::testing
