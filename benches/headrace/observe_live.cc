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
constexpr double kRolesEvery = 5;  // who is who changes slowly [s]
constexpr std::size_t kMostBars = 16;
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

struct Kind {
  const char* mark;
  const char* word;
  std::vector<Wait> waits;
};
const std::vector<Kind>& kinds() {
  static const std::vector<Kind> all{{"r", "reading", {Wait::read, Wait::fault}},
                                     {"o", "opening", {Wait::name}},
                                     {"w", "writing", {Wait::write}},
                                     {"#", "running", {Wait::running}},
                                     {"g", "GPU", {Wait::gpu}},
                                     {"z", "pausing", {Wait::sleep}},
                                     {".", "waiting for others", {Wait::hand_over, Wait::other}}};
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
  for (const Kind& kind : kinds()) {
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

Text in_short(const WaitCounts& counts) {
  Text out;
  for (const Kind& kind : kinds())
    if (const double part = share(counts, kind.waits); part >= 0.01)
      out += Text::format("{}{:.0f} % {}", out.empty() ? "" : ", ", part * 100, kind.word);
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

}  // namespace

LiveView::LiveView(const Shared& shared, bool alone)
    : terminal_(stderr, shared), redrawn_(alone && shared.progress == "auto" && terminal_.interactive()) {}

void LiveView::clear() {
  for (; lines_ > 0; --lines_) tell("\033[A\033[2K");
}

void LiveView::operator()(const Recording& recording) {
  if (recording.slices.empty()) return;
  const double now_s = recording.slices.back().end_s;
  if (now_s >= roles_due_s_) {
    roles_ = find_roles(recording);
    roles_due_s_ = now_s + kRolesEvery;
  }
  const Slice slice = lately(recording);
  if (!redrawn_) {
    Text line = "headrace: " + rates(slice, now_s);
    if (!roles_.consumers.empty()) line += Text::format("; main thread: {}", in_short(sum_of(slice, roles_.consumers)));
    if (!roles_.workers.empty()) line += Text::format("; workers: {}", in_short(sum_of(slice, roles_.workers)));
    return tell_line(line);
  }
  std::vector<Text> lines{rates(slice, now_s)};
  std::size_t bars = 0, others = 0;
  const auto add = [&](const ProcessSlice& one, const char* who) {
    if (bars == kMostBars) {
      ++others;
      return;
    }
    ++bars;
    lines.push_back(Text::format("{} {} {} {}", pad(who, 6),
                                 pad(std::to_string(recording.processes[one.process].pid), 8, true), bar(one.lead),
                                 in_short(one.lead)));
  };
  for (const ProcessSlice& one : slice.processes)
    if (roles_.is_consumer(one.process)) add(one, "main");
  for (const ProcessSlice& one : slice.processes)
    if (roles_.is_worker(one.process)) add(one, "worker");
  if (others > 0) lines.push_back(Text::format("and {} more", others));
  clear();
  const auto width = static_cast<std::size_t>(std::max(20, terminal_.width() - 1));
  for (const Text& line : lines) tell_line(cut(line, width));
  lines_ = lines.size();
}

}  // namespace headrace::cli
