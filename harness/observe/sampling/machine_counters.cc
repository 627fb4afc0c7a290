#include "harness/observe/sampling/machine_counters.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "harness/base/counters.h"
#include "harness/base/system/kernel_files.h"
#include "harness/machine/cgroup.h"
#include "harness/machine/mount.h"

namespace headrace::observe {
namespace {

using system::read_text;
using system::split;

std::uint64_t number(const std::string& word) { return std::strtoull(word.c_str(), nullptr, 10); }

/// "some avg10=... total=4867643" in microseconds.
double stall_s(const std::string& text) {
  const std::size_t at = text.find("total=");
  return at == text.npos ? 0 : static_cast<double>(std::strtoull(text.c_str() + at + 6, nullptr, 10)) * 1e-6;
}

/// The READs of a mount; none yet: all 0.
system::NfsOperation reads_of(const system::NfsStats& stats) {
  for (const system::NfsOperation& one : stats.operations)
    if (one.name == "READ") return one;
  return {};
}

ClientSlice client_slice(const system::ClientCounters& later, const system::ClientCounters& earlier) {
  ClientSlice slice{.read_bytes = system::grown(later.read_bytes, earlier.read_bytes),
                    .name_requests = system::grown(later.requests, earlier.requests)};
  if (!later.nfs || !earlier.nfs) return slice;
  const system::NfsOperation now = reads_of(*later.nfs), before = reads_of(*earlier.nfs);
  const auto seconds = [](std::uint64_t a, std::uint64_t b) { return static_cast<double>(system::grown(a, b)) * 1e-3; };
  slice.reads = system::grown(now.requests, before.requests);
  slice.queue_s = seconds(now.queue_ms, before.queue_ms);
  slice.round_trip_s = seconds(now.round_trip_ms, before.round_trip_ms);
  slice.execution_s = seconds(now.execution_ms, before.execution_ms);
  const system::NfsTransports &all = later.nfs->transports, &old = earlier.nfs->transports;
  slice.sent = system::grown(all.sent, old.sent);
  slice.in_flight_sum = system::grown(all.in_flight_sum, old.in_flight_sum);
  slice.waiting_sum = system::grown(all.waiting_sum, old.waiting_sum);
  return slice;
}

}  // namespace

std::map<std::string, DeviceSlice> parse_diskstats(std::string_view text) {
  std::map<std::string, DeviceSlice> devices;
  for (const std::string& line : split(text, '\n')) {
    // major minor name reads merged sectors ms writes merged sectors ms in-flight busy-ms queue-ms ...
    const std::vector<std::string> words = split(line, ' ');
    if (words.size() < 14) continue;
    DeviceSlice device{.reads = number(words[3]),
                       .read_bytes = number(words[5]) * system::kSector,
                       .writes = number(words[7]),
                       .written_bytes = number(words[9]) * system::kSector,
                       .read_wait_s = static_cast<double>(number(words[6])) * 1e-3,
                       .write_wait_s = static_cast<double>(number(words[10])) * 1e-3,
                       .busy_s = static_cast<double>(number(words[12])) * 1e-3,
                       .queue_s = static_cast<double>(number(words[13])) * 1e-3};
    if (device.reads + device.writes > 0) devices.emplace(words[0] + ":" + words[1], device);
  }
  return devices;
}

MachineCounters::MachineCounters(std::string proc) : proc_(std::move(proc)), last_(read("")) {}

MachineCounters::Totals MachineCounters::read(const std::string& file) {
  static const double ticks_per_s = static_cast<double>(::sysconf(_SC_CLK_TCK));
  Totals now;
  now.devices = parse_diskstats(read_text(proc_ + "/diskstats").value_or(""));
  now.io_stall_s = stall_s(read_text(proc_ + "/pressure/io").value_or(""));
  now.cpu_stall_s = stall_s(read_text(proc_ + "/pressure/cpu").value_or(""));
  now.memory_stall_s = stall_s(read_text(proc_ + "/pressure/memory").value_or(""));
  const auto cpu = split(system::field(read_text(proc_ + "/stat").value_or(""), "cpu").value_or(""), ' ');
  if (cpu.size() > 4) now.idle_s = static_cast<double>(number(cpu[3]) + number(cpu[4])) / ticks_per_s;
  now.throttled_s = system::throttled_seconds().value_or(0);
  for (const std::string& line : split(read_text(proc_ + "/net/dev").value_or(""), '\n')) {
    const std::size_t colon = line.find(':');
    if (colon == line.npos || system::trim(line.substr(0, colon)) == "lo") continue;
    const auto words = split(line.substr(colon + 1), ' ');
    if (words.size() < 9) continue;
    now.network_read += number(words[0]);
    now.network_written += number(words[8]);
  }
  const auto mount = file.empty() ? std::nullopt : system::mount_of(file);
  if (!mount) return now;
  now.client_point = mount->point;
  now.client = system::read_client_counters(*mount);
  if (mount->point != fuse_point_) {
    fuse_point_ = mount->point;
    fuse_.emplace(*mount);
  }
  return now;
}

void MachineCounters::look() noexcept {
  if (!fuse_) return;
  if (const auto waiting = fuse_->waiting()) {
    daemon_sum_ += *waiting;
    ++daemon_looks_;
  }
}

MachineSlice MachineCounters::next(double seconds, const std::string& file,
                                   std::map<std::string, DeviceSlice>& devices) {
  Totals now = read(file);
  MachineSlice slice;
  const auto per_s = [seconds](double later, double earlier) {
    return seconds > 0 ? std::max(0.0, later - earlier) / seconds : 0;
  };
  slice.idle_cpus = per_s(now.idle_s, last_.idle_s);
  slice.io_stall = per_s(now.io_stall_s, last_.io_stall_s);
  slice.cpu_stall = per_s(now.cpu_stall_s, last_.cpu_stall_s);
  slice.memory_stall = per_s(now.memory_stall_s, last_.memory_stall_s);
  slice.throttled_s = std::max(0.0, now.throttled_s - last_.throttled_s);
  slice.page_cache_bytes =
      system::number_field(read_text(proc_ + "/meminfo").value_or(""), "Cached").value_or(0) * 1024;
  slice.network_read_bytes = system::grown(now.network_read, last_.network_read);
  slice.network_written_bytes = system::grown(now.network_written, last_.network_written);
  if (now.client && last_.client && now.client_point == last_.client_point)
    slice.client = client_slice(*now.client, *last_.client);
  slice.client.daemon_sum = std::exchange(daemon_sum_, 0);
  slice.client.daemon_looks = std::exchange(daemon_looks_, 0);
  for (const auto& [name, later] : now.devices) {
    const DeviceSlice& earlier = last_.devices[name];
    DeviceSlice device{.reads = system::grown(later.reads, earlier.reads),
                       .read_bytes = system::grown(later.read_bytes, earlier.read_bytes),
                       .writes = system::grown(later.writes, earlier.writes),
                       .written_bytes = system::grown(later.written_bytes, earlier.written_bytes),
                       .read_wait_s = std::max(0.0, later.read_wait_s - earlier.read_wait_s),
                       .write_wait_s = std::max(0.0, later.write_wait_s - earlier.write_wait_s),
                       .busy_s = std::max(0.0, later.busy_s - earlier.busy_s),
                       .queue_s = std::max(0.0, later.queue_s - earlier.queue_s)};
    if (device.reads + device.writes > 0) devices.emplace(name, device);
  }
  last_ = std::move(now);
  return slice;
}

}  // namespace headrace::observe
