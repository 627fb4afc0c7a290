#include "benches/headrace/observe_live.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "benches/headrace/console.h"
#include "harness/base/units.h"

namespace headrace::cli {
namespace {

using observe::ProcessSlice;
using observe::Recording;
using observe::Slice;
using observe::Wait;
using observe::WaitCounts;

constexpr double kLookBack = 1;    // [s]
constexpr double kRolesEvery = 5;  // at most: roles change slowly once they are known [s]
constexpr std::size_t kMostBars = 16;
constexpr const char* kForRoom = "waiting for room";
constexpr std::size_t kBar = 30;  // columns

/// The last second, as one slice.
Slice lately(const Recording& recording) {
  Slice sum;
  for (auto slice = recording.slices.rbegin(); slice != recording.slices.rend(); ++slice) {
    if (sum.end_s == 0) {
      sum = *slice;
      continue;
    }
    if (sum.seconds() >= kLookBack) break;
    Slice earlier = *slice;
    add_slice(earlier, sum);
    sum = std::move(earlier);
  }
  return sum;
}

struct WaitKind {
  const char* mark;
  const char* word;  // nullptr: the process itself reports
  std::vector<Wait> waits;
};
const std::vector<WaitKind>& kinds() {
  static const std::vector<WaitKind> all{{"r", "reading", {Wait::read, Wait::fault}},
                                         {"o", "opening", {Wait::name}},
                                         {"w", "writing", {Wait::write}},
                                         {"#", "running", {Wait::running}},
                                         {"g", "GPU", {Wait::gpu}},
                                         {"z", "pausing", {Wait::sleep}},
                                         {".", nullptr, {Wait::hand_over, Wait::other}}};
  return all;
}

double share(const WaitCounts& counts, const std::vector<Wait>& waits) {
  const double all = static_cast<double>(std::accumulate(counts.begin(), counts.end(), std::uint64_t{0}));
  double part = 0;
  for (const Wait wait : waits) part += counts[static_cast<std::size_t>(wait)];
  return all > 0 ? part / all : 0;
}

Text bar(const WaitCounts& counts) {
  Text out;
  double sum = 0;
  std::size_t drawn = 0;
  for (const WaitKind& kind : kinds()) {
    sum += share(counts, kind.waits);
    for (const auto until = static_cast<std::size_t>(std::lround(sum * kBar)); drawn < until; ++drawn)
      out += Text(kind.mark);
  }
  return pad(out, kBar);
}

WaitCounts sum_of(const Slice& slice, const std::vector<std::uint32_t>& processes) {
  WaitCounts sum{};
  for (const ProcessSlice& one : slice.processes)
    if (std::find(processes.begin(), processes.end(), one.process) != processes.end())
      for (std::size_t w = 0; w < sum.size(); ++w) sum[w] += one.lead[w];
  return sum;
}

/// `waiting`: which of these is waiting for others.
Text in_short(const WaitCounts& counts, const char* waiting) {
  Text out;
  for (const WaitKind& kind : kinds())
    if (const double part = share(counts, kind.waits); part >= 0.01)
      out += Text::format("{}{:.0f} % {}", out.empty() ? "" : ", ", part * 100,
                          kind.word != nullptr ? kind.word : waiting);
  return out.empty() ? Text("not looked at") : out;
}

Text rates(const Slice& slice, double elapsed_s) {
  double read = 0, stored = 0, written = 0;
  for (const ProcessSlice& one : slice.processes) {
    read += static_cast<double>(one.counted.read_calls_bytes);
    stored += static_cast<double>(one.counted.storage_read_bytes);
    written += static_cast<double>(one.counted.write_calls_bytes);
  }
  const double seconds = std::max(1e-3, slice.seconds());
  const auto rate = [seconds](double bytes) { return format_quantity(bytes / seconds, Dimension::bytes_per_second); };
  return Text::format("{}: {} processes, reading {} ({} from storage), writing {}, {:.1f} processors idle",
                      format_duration(elapsed_s), slice.processes.size(), rate(read), rate(stored), rate(written),
                      slice.machine.idle_cpus);
}

/// The storage below: the device that gave most, the client of a network file system, a FUSE daemon. One line each.
std::vector<Text> storage(const Slice& slice) {
  std::vector<Text> lines;
  const double seconds = std::max(1e-3, slice.seconds());
  const auto most = std::max_element(slice.devices.begin(), slice.devices.end(), [](const auto& a, const auto& b) {
    return a.second.read_bytes < b.second.read_bytes;
  });
  if (most != slice.devices.end() && most->second.reads > 0) {
    const observe::DeviceSlice& device = most->second;
    const double reads = static_cast<double>(device.reads);
    lines.push_back(
        Text::format("device {}: {} in {} reads, {:.1f} at a time, each {}", most->first,
                     format_quantity(static_cast<double>(device.read_bytes) / seconds, Dimension::bytes_per_second),
                     format_quantity(reads / seconds, Dimension::per_second), device.queue_s / seconds,
                     format_quantity(device.read_wait_s / reads, Dimension::seconds)));
  }
  const observe::ClientSlice& client = slice.machine.client;
  if (client.reads > 0) {
    const double reads = static_cast<double>(client.reads), sent = std::max(1.0, static_cast<double>(client.sent));
    lines.push_back(Text::format(
        "NFS: {} in {} READs, {:.1f} at a time, each {}, {} of it before it was sent",
        format_quantity(static_cast<double>(client.read_bytes) / seconds, Dimension::bytes_per_second),
        format_quantity(reads / seconds, Dimension::per_second), static_cast<double>(client.in_flight_sum) / sent,
        format_quantity(client.execution_s / reads, Dimension::seconds),
        format_quantity(client.queue_s / reads, Dimension::seconds)));
  }
  if (client.daemon_sum > 0)
    lines.push_back(Text::format("FUSE: {:.1f} requests wait for the daemon",
                                 static_cast<double>(client.daemon_sum) / client.daemon_looks));
  return lines;
}

/// Those that a process of the job has memory of.
std::vector<Text> gpus(const Recording& recording, const Slice& slice) {
  std::vector<Text> lines;
  for (const observe::GpuSlice& one : slice.gpus) {
    const observe::GpuSeen& gpu = recording.gpus[one.gpu];
    const bool own = std::any_of(gpu.users.begin(), gpu.users.end(), [&](const observe::GpuUserSeen& user) {
      return std::any_of(recording.processes.begin(), recording.processes.end(),
                         [&](const observe::ProcessSeen& process) { return process.pid == user.pid; });
    });
    if (own && one.looks > 0)
      lines.push_back(Text::format("GPU {}: busy {:.0f} %", gpu.pci_address, 100 * one.busy / one.looks));
  }
  return lines;
}

}  // namespace

LiveView::LiveView(const Shared& shared, bool alone)
    : terminal_(stderr, shared), redrawn_(alone && shared.progress == "auto" && terminal_.interactive()) {}

void LiveView::clear() {
  for (; lines_ > 0; --lines_) print_stderr("\033[A\033[2K");
}

void LiveView::operator()(const Recording& recording) {
  if (recording.slices.empty()) return;
  const double now_s = recording.slices.back().end_s;
  if (now_s >= roles_due_s_) {
    roles_ = find_roles(recording);
    roles_due_s_ = now_s + std::min(kRolesEvery, now_s / 4);
  }
  const Slice slice = lately(recording);
  const char* const for_data = roles_.workers.empty() ? "waiting for others" : "waiting for data";
  if (!redrawn_) {
    Text line = "headrace: " + rates(slice, now_s);
    if (!roles_.consumers.empty())
      line += Text::format("; main thread: {}", in_short(sum_of(slice, roles_.consumers), for_data));
    if (!roles_.workers.empty())
      line += Text::format("; workers: {}", in_short(sum_of(slice, roles_.workers), kForRoom));
    for (const Text& one : storage(slice)) line += Text("; ") + one;
    for (const Text& one : gpus(recording, slice)) line += Text("; ") + one;
    return print_stderr_line(line);
  }
  std::vector<Text> lines{rates(slice, now_s)};
  for (const Text& one : storage(slice)) lines.push_back(one);
  for (const Text& one : gpus(recording, slice)) lines.push_back(one);
  std::size_t bars = 0, others = 0;
  const auto add = [&](const ProcessSlice& one, const char* who, const char* waiting) {
    if (bars == kMostBars) {
      ++others;
      return;
    }
    ++bars;
    lines.push_back(Text::format("{} {} {} {}", pad(who, 6),
                                 pad(std::to_string(recording.processes[one.process].pid), 8, true), bar(one.lead),
                                 in_short(one.lead, waiting)));
  };
  for (const ProcessSlice& one : slice.processes)
    if (roles_.is_consumer(one.process)) add(one, "main", for_data);
  for (const ProcessSlice& one : slice.processes)
    if (roles_.is_worker(one.process)) add(one, "worker", kForRoom);
  if (others > 0) lines.push_back(Text::format("and {} more", others));
  clear();
  const auto width = static_cast<std::size_t>(std::max(20, terminal_.width() - 1));
  for (const Text& line : lines) print_stderr_line(cut(line, width));
  lines_ = lines.size();
}

}  // namespace headrace::cli
