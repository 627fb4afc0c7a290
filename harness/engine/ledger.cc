// Counters of process, device, processor, pressure and control group.
#include "harness/engine/ledger.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "harness/base/counters.h"
#include "harness/base/system/kernel_files.h"
#include "harness/base/units.h"
#include "harness/engine/probe.h"
#include "harness/machine/cgroup.h"
#include "harness/record/recorder.h"

namespace headrace::engine {
namespace {

constexpr double kForeignShare = 0.02;          // of the delivered bytes
constexpr double kUsesDevice = 0.05;            // of the delivered bytes: below, others' I/O is not in the way
constexpr std::uint64_t kForeignFloor = 4_MiB;  // a journal commit or a log line does not disturb
constexpr std::uint64_t kOwnFloor = 1_MiB;      // of reads where nothing is delivered: names in memory
constexpr double kStealShare = 0.05;
constexpr double kForeignCpuShare = 0.05;  // of all processor time
constexpr double kThrottledShare = 0.01;   // of the elapsed time: any that can be reported
constexpr double kLimitReached = 0.95;
constexpr double kShortest = 0.2;  // [s] below this, ticks of 10 ms are too coarse

void read_own_time(Counters& c) {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto s = [](const timeval& t) { return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6; };
  c.user_s = s(usage.ru_utime);
  c.cpu_s = c.user_s + s(usage.ru_stime);
}

double ticks_per_second() {
  static const auto ticks = static_cast<double>(sysconf(_SC_CLK_TCK));
  return ticks;
}

void read_ticks(Counters& c) {
  // Fields after "cpu": user nice system idle iowait irq softirq steal guest
  constexpr std::size_t kNice = 2, kSteal = 8, kGuest = 9;
  const std::vector<std::string> fields = system::split(system::read_line("/proc/stat").value_or(""), ' ');
  for (std::size_t i = 1; i < std::min(fields.size(), kGuest); ++i) {
    const double ticks = std::stod(fields[i]);
    c.all_ticks += ticks;
    if (i <= kNice) c.user_ticks += ticks;
    if (i == kSteal) c.steal_ticks = ticks;
  }
}

/// "some avg10=0.00 avg60=0.00 avg300=0.00 total=12345"
std::optional<std::uint64_t> pressure_us(const char* resource) {
  const auto line = system::read_line(std::string("/proc/pressure/") + resource);
  if (!line) return std::nullopt;
  const std::size_t at = line->find("total=");
  if (at == std::string::npos) return std::nullopt;
  return std::stoull(line->substr(at + 6));
}

/// Counters of a device can be reset, and those of a process never go back. A difference is at least 0.
void add_pressure(const std::optional<std::uint64_t>& before, const std::optional<std::uint64_t>& after, double& sum_s,
                  bool& known) {
  if (before && after) {
    sum_s += static_cast<double>(system::grown(*after, *before)) * 1e-6;
  } else {
    known = false;
  }
}

}  // namespace

Counters read_counters(const std::optional<system::BlockDevice>& device) {
  Counters c;
  if (device) {
    const system::DeviceCounters d = system::read_counters(*device);
    c.device_read = d.read_bytes;
    c.device_written = d.written_bytes;
    c.device_reads = d.reads;
    c.device_writes = d.writes;
  }
  c.self_known = system::read_self_io(c.self_read, c.self_written);
  read_ticks(c);
  c.io_us = pressure_us("io");
  c.cpu_us = pressure_us("cpu");
  c.memory_us = pressure_us("memory");
  c.throttled_s = system::throttled_seconds();
  read_own_time(c);
  c.at_ns = now_ns();
  return c;
}

void Ledger::add(const Counters& before, const Counters& after) {
  elapsed_s_ += static_cast<double>(after.at_ns - before.at_ns) * 1e-9;
  cpu_s_ += after.cpu_s - before.cpu_s;
  user_s_ += after.user_s - before.user_s;
  self_read_ += system::grown(after.self_read, before.self_read);
  self_written_ += system::grown(after.self_written, before.self_written);
  device_read_ += system::grown(after.device_read, before.device_read);
  device_written_ += system::grown(after.device_written, before.device_written);
  device_reads_ += system::grown(after.device_reads, before.device_reads);
  device_writes_ += system::grown(after.device_writes, before.device_writes);
  steal_ticks_ += after.steal_ticks - before.steal_ticks;
  user_ticks_ += after.user_ticks - before.user_ticks;
  all_ticks_ += after.all_ticks - before.all_ticks;
  throttled_s_ += after.throttled_s.value_or(0) - before.throttled_s.value_or(0);
  add_pressure(before.io_us, after.io_us, io_s_, io_known_);
  add_pressure(before.cpu_us, after.cpu_us, cpu_wait_s_, cpu_known_);
  add_pressure(before.memory_us, after.memory_us, memory_s_, memory_known_);
}

std::string Ledger::held_to(const system::IoLimits& limits) const {
  if (elapsed_s_ < kShortest) return "";
  const auto reached = [this](std::uint64_t count, double limit) {
    return static_cast<double>(count) > kLimitReached * limit * elapsed_s_;
  };
  const auto bytes = [](double limit) { return format_quantity(limit, Dimension::bytes_per_second); };
  if (reached(device_read_, limits.read_bytes)) return bytes(limits.read_bytes) + " of reads";
  if (reached(device_written_, limits.written_bytes)) return bytes(limits.written_bytes) + " of writes";
  if (reached(device_reads_, limits.reads)) return fmt::format("{:.6g} reads/s", limits.reads);
  if (reached(device_writes_, limits.writes)) return fmt::format("{:.6g} writes/s", limits.writes);
  return "";
}

bool Ledger::can_drift() const { return elapsed_s_ >= kShortest; }

Disturbance Ledger::judge(std::uint64_t delivered_bytes, double before, double after) const {
  Disturbance d;
  d.probe_before_ns = before;
  d.probe_after_ns = after;
  d.foreign_bytes = system::grown(device_read_, self_read_) + system::grown(device_written_, self_written_);
  d.throttled_s = std::max(0.0, throttled_s_);
  if (all_ticks_ > 0) d.cpu_steal = std::clamp(steal_ticks_ / all_ticks_, 0.0, 1.0);
  // User time alone: the kernel may work for this process.
  if (all_ticks_ > 0) d.foreign_cpu = std::clamp((user_ticks_ - user_s_ * ticks_per_second()) / all_ticks_, 0.0, 1.0);
  const auto share = [this](double seconds, bool known) {
    return known && elapsed_s_ > 0 ? std::min(1.0, seconds / elapsed_s_) : -1;
  };
  d.io_pressure = share(io_s_, io_known_);
  d.cpu_pressure = share(cpu_wait_s_, cpu_known_);
  d.memory_pressure = share(memory_s_, memory_known_);

  std::vector<std::string> why;
  const bool names = delivered_bytes == 0;
  const auto delivered = static_cast<double>(names ? self_read_ : delivered_bytes);
  const std::uint64_t foreign_bytes = names ? system::grown(device_read_, self_read_) : d.foreign_bytes;
  const auto foreign = static_cast<double>(foreign_bytes);
  const bool uses_device =
      names ? self_read_ > kOwnFloor : static_cast<double>(self_read_ + self_written_) > kUsesDevice * delivered;
  if (uses_device && foreign_bytes > kForeignFloor && foreign > kForeignShare * delivered) {
    const double times = foreign / delivered;
    why.push_back(
        fmt::format("foreign I/O on the device, {} the test's bytes",
                    times < 10 ? fmt::format("{:.0f} % of", 100 * times) : fmt::format("{:.0f} times", times)));
  }
  if (elapsed_s_ >= kShortest && d.cpu_steal > kStealShare) {
    why.push_back(fmt::format("the hypervisor took {:.0f} % of the processor time", 100 * d.cpu_steal));
  }
  if (elapsed_s_ >= kShortest && d.foreign_cpu > kForeignCpuShare) {
    why.push_back(fmt::format("other programs took {:.0f} % of the processor time", 100 * d.foreign_cpu));
  }
  if (elapsed_s_ >= kShortest && d.throttled_s > kThrottledShare * elapsed_s_) {
    why.push_back(
        fmt::format("the control group's quota withheld {} of processor time", format_duration(d.throttled_s)));
  }
  const double drift = probe_drift(before, after);
  if (elapsed_s_ >= kShortest && std::abs(drift) > kProbeDrift) {
    why.push_back(fmt::format("the machine became {:.0f} % {} during the repetition (control probe)",
                              100 * std::abs(drift), drift > 0 ? "slower" : "faster"));
  }
  d.disturbed = !why.empty();
  d.why = fmt::format("{}", fmt::join(why, "; "));
  return d;
}

namespace {

/// A counter that fell was begun anew: the mount is another.
double seconds(std::uint64_t before_ms, std::uint64_t after_ms) {
  return 1e-3 * static_cast<double>(system::grown(after_ms, before_ms));
}

void add_nfs(const system::NfsStats& before, const system::NfsStats& after, ClientCalls& calls) {
  const system::NfsTransports &was = before.transports, &is = after.transports;
  calls.connections = is.connections;
  calls.most_slots = is.most_slots;
  calls.sent = system::grown(is.sent, was.sent);
  if (calls.sent > 0) {
    calls.in_flight =
        static_cast<double>(system::grown(is.in_flight_sum, was.in_flight_sum)) / static_cast<double>(calls.sent);
    calls.waiting =
        static_cast<double>(system::grown(is.waiting_sum, was.waiting_sum)) / static_cast<double>(calls.sent);
  }
  for (const system::NfsOperation& now : after.operations) {
    const auto known = std::ranges::find(before.operations, now.name, &system::NfsOperation::name);
    const system::NfsOperation then = known == before.operations.end() ? system::NfsOperation{} : *known;
    ClientOperation one;
    one.operation = now.name;
    one.requests = system::grown(now.requests, then.requests);
    if (one.requests == 0) continue;
    one.repeats = system::grown(system::grown(now.sent, then.sent), one.requests);
    one.errors = system::grown(now.errors, then.errors);
    one.queue_s = seconds(then.queue_ms, now.queue_ms);
    one.round_trip_s = seconds(then.round_trip_ms, now.round_trip_ms);
    one.execution_s = seconds(then.execution_ms, now.execution_ms);
    calls.operations.push_back(std::move(one));
  }
}

void add_others(const system::ClientRequestTable& before, const system::ClientRequestTable& after, ClientCalls& calls) {
  calls.connections = after.connections;
  calls.sent = system::grown(after.sent, before.sent);
  if (calls.sent > 0)
    calls.in_flight = std::max(0.0, after.in_flight_sum - before.in_flight_sum) / static_cast<double>(calls.sent);
  for (const system::ClientRequests& now : after.kinds) {
    const auto known = std::ranges::find(before.kinds, now.name, &system::ClientRequests::name);
    const system::ClientRequests then = known == before.kinds.end() ? system::ClientRequests{} : *known;
    ClientOperation one;
    one.operation = now.name;
    one.requests = system::grown(now.count, then.count);
    if (one.requests == 0) continue;
    one.round_trip_s = std::max(0.0, now.round_trip_s - then.round_trip_s);
    calls.operations.push_back(std::move(one));
  }
}

}  // namespace

ClientCalls calls_between(const system::ClientCounters& before, const system::ClientCounters& after,
                          const std::string& counter) {
  ClientCalls calls;
  calls.counter = counter;
  if (before.nfs && after.nfs)
    add_nfs(*before.nfs, *after.nfs, calls);
  else
    add_others(before.asked, after.asked, calls);
  std::ranges::stable_sort(calls.operations, std::ranges::greater{}, [](const ClientOperation& one) {
    return std::max(one.round_trip_s, one.execution_s);  // not all clients count the latter
  });
  return calls;
}

}  // namespace headrace::engine
