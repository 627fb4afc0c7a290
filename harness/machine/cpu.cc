#include "harness/machine/cpu.h"

#include <sys/utsname.h>

#include <cstdlib>
#include <set>
#include <utility>

#include "harness/base/system/kernel_files.h"

namespace headrace::system {
namespace {

std::string machine() {
  utsname name{};
  return uname(&name) == 0 ? name.machine : "";
}

std::string governors_in_words(const std::set<std::string>& governors) {
  std::string words = governors.size() > 1 ? "mixed: " : "";
  for (const std::string& governor : governors) words += (governor == *governors.begin() ? "" : ", ") + governor;
  return words;
}

}  // namespace

std::vector<unsigned> parse_cpu_list(const std::string& list) {
  std::vector<unsigned> all;
  for (const std::string& part : split(list, ',')) {
    char* end = nullptr;
    const unsigned long first = std::strtoul(part.c_str(), &end, 10);
    const unsigned long last = *end == '-' ? std::strtoul(end + 1, nullptr, 10) : first;
    for (unsigned long cpu = first; cpu <= last && cpu < 65536; ++cpu) all.push_back(static_cast<unsigned>(cpu));
  }
  return all;
}

unsigned count_cpu_list(const std::string& list) { return static_cast<unsigned>(parse_cpu_list(list).size()); }

CpuFacts cpu_facts(const std::string& root) {
  CpuFacts facts;
  const std::string info = read_text(root + "/proc/cpuinfo").value_or("");
  facts.model = field(info, "model name").value_or(machine());
  facts.microcode = field(info, "microcode").value_or("");
  const std::string flags = " " + field(info, "flags").value_or("") + " ";
  facts.is_virtual = flags.find(" hypervisor ") != std::string::npos;

  const std::string cpus = root + "/sys/devices/system/cpu/";
  std::set<std::string> packages, governors;
  std::set<std::pair<std::string, std::string>> cores;
  for (const unsigned cpu : parse_cpu_list(read_line(cpus + "online").value_or(""))) {
    const std::string folder = cpus + "cpu" + std::to_string(cpu);
    ++facts.threads;
    const std::string package = read_line(folder + "/topology/physical_package_id").value_or("0");
    packages.insert(package);
    cores.emplace(package, read_line(folder + "/topology/core_id").value_or(std::to_string(cpu)));
    if (const auto governor = read_line(folder + "/cpufreq/scaling_governor")) governors.insert(*governor);
  }
  facts.sockets = static_cast<unsigned>(packages.size());
  facts.cores = static_cast<unsigned>(cores.size());
  facts.governor = governors_in_words(governors);
  facts.frequency_driver = read_line(cpus + "cpu0/cpufreq/scaling_driver").value_or("");
  if (const auto khz = read_number(cpus + "cpu0/cpufreq/cpuinfo_max_freq"))
    facts.max_hz = 1000.0 * static_cast<double>(*khz);
  for (unsigned index = 0;; ++index) {
    const auto size = read_line(cpus + "cpu0/cache/index" + std::to_string(index) + "/size");
    if (!size) break;
    facts.last_level_cache = *size;
  }
  if (const auto nodes = read_line(root + "/sys/devices/system/node/online")) facts.numa_nodes = count_cpu_list(*nodes);
  return facts;
}

}  // namespace headrace::system

namespace headrace {
namespace {

/// "32768K" -> bytes.
std::uint64_t bytes_of(const std::string& text) {
  char* end = nullptr;
  const std::uint64_t number = std::strtoull(text.c_str(), &end, 10);
  return *end == 'G' ? number << 30 : *end == 'M' ? number << 20 : *end == 'K' ? number << 10 : number;
}

}  // namespace

std::uint64_t last_level_cache(std::span<const int> cpus, const std::string& root) {
  std::set<std::string> seen;  // by the processors that share it
  std::uint64_t bytes = 0;
  for (const int cpu : cpus) {
    const std::string number = std::to_string(cpu);
    std::string size, shared;
    for (unsigned index = 0;; ++index) {
      const std::string cache = root + "/sys/devices/system/cpu/cpu" + number + "/cache/index" + std::to_string(index);
      const auto found = system::read_line(cache + "/size");
      if (!found) break;
      size = *found;
      shared = system::read_line(cache + "/shared_cpu_list").value_or(number);
    }
    if (!size.empty() && seen.insert(shared).second) bytes += bytes_of(size);
  }
  return bytes;
}

}  // namespace headrace
