#include "harness/machine/near_cpus.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <string>

#include "harness/base/system/kernel_files.h"

namespace headrace::system {
namespace {

namespace fs = std::filesystem;

/// The bus device behind a block device: the nearest folder above it that has interrupts.
std::optional<fs::path> bus_device(const BlockDevice& device) {
  std::error_code error;
  for (fs::path at = fs::canonical(device.sys_path + "/", error); !error && at.has_relative_path();
       at = at.parent_path())
    if (fs::exists(at / "msi_irqs", error)) return at;
  return std::nullopt;
}

std::set<int> interrupts_of(const fs::path& bus) {
  std::set<int> numbers;
  for (const std::string& name : entries((bus / "msi_irqs").string())) numbers.insert(std::atoi(name.c_str()));
  return numbers;
}

}  // namespace

std::vector<double> interrupt_shares(std::string_view interrupts, const std::set<int>& numbers) {
  const std::vector<std::string> lines = split(interrupts, '\n');
  if (lines.empty()) return {};
  std::vector<std::size_t> cpus;  // the number of each column
  for (const std::string& name : split(lines.front(), ' '))
    if (name.starts_with("CPU")) cpus.push_back(static_cast<std::size_t>(std::atoi(&name[3])));
  if (cpus.empty()) return {};
  std::vector<double> shares(*std::max_element(cpus.begin(), cpus.end()) + 1);
  double all = 0;
  for (const std::string& line : lines) {
    const std::size_t colon = line.find(':');
    if (colon == std::string::npos || !numbers.contains(std::atoi(line.c_str()))) continue;
    const char* at = line.c_str() + colon + 1;
    for (const std::size_t cpu : cpus) {
      char* end = nullptr;
      const double count = std::strtod(at, &end);
      shares[cpu] += count;
      all += count;
      at = end;
    }
  }
  if (all == 0) return {};
  for (double& share : shares) share /= all;
  return shares;
}

std::vector<int> near_first(std::vector<int> cpus, const std::optional<BlockDevice>& device) {
  const auto bus = device ? bus_device(*device) : std::nullopt;
  if (!bus) return cpus;
  const std::string node = read_line((*bus / "numa_node").string()).value_or("-1");
  const std::vector<double> shares = interrupt_shares(read_text("/proc/interrupts").value_or(""), interrupts_of(*bus));
  const auto is_near = [&](int cpu) {
    const std::string name = "cpu" + std::to_string(cpu);
    if (node != "-1" && !fs::exists("/sys/devices/system/node/node" + node + "/" + name)) return false;
    const auto index = static_cast<std::size_t>(cpu);
    return index >= shares.size() || shares[index] * static_cast<double>(shares.size()) >= 0.5;
  };
  std::stable_partition(cpus.begin(), cpus.end(), is_near);
  return cpus;
}

}  // namespace headrace::system
