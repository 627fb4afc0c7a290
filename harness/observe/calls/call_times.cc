#include "harness/observe/calls/call_times.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <queue>

#include "harness/observe/data_survey.h"

namespace headrace::observe::calls {
namespace {

constexpr std::size_t kParts = 400;

/// Reads in flight. They come by their begin.
class InFlight {
 public:
  InFlight(double begin_s, double elapsed_s) : begin_s_(begin_s), part_s_(elapsed_s / kParts), spent_s_(kParts) {}

  void add(const Call& call) {
    const double end_s = call.begin_s + call.seconds;
    while (!ends_.empty() && ends_.top() <= call.begin_s) ends_.pop();
    ends_.push(end_s);
    if (most_ == 0) first_s_ = call.begin_s;
    most_ = std::max(most_, ends_.size());
    last_s_ = std::max(last_s_, end_s);
    all_s_ += call.seconds;
    spend(begin_s_ + call.begin_s, begin_s_ + end_s);
  }

  void put(CallTimes& times) const {
    times.most_in_flight = static_cast<std::uint32_t>(most_);
    if (last_s_ > first_s_) times.mean_in_flight = all_s_ / (last_s_ - first_s_);
    times.part_s = part_s_;
    for (const double spent : spent_s_) times.in_flight.push_back(spent / part_s_);
  }

 private:
  /// Adds this time of a read to the parts that it lies in.
  void spend(double from_s, double to_s) {
    const double end_s = part_s_ * kParts;
    from_s = std::clamp(from_s, 0.0, end_s);
    to_s = std::clamp(to_s, 0.0, end_s);
    for (auto part = static_cast<std::size_t>(from_s / part_s_); part < kParts && from_s < to_s; ++part) {
      const double border_s = std::min(to_s, static_cast<double>(part + 1) * part_s_);
      spent_s_[part] += std::max(0.0, border_s - from_s);
      from_s = std::max(from_s, border_s);
    }
  }

  const double begin_s_, part_s_;
  std::vector<double> spent_s_;
  std::priority_queue<double, std::vector<double>, std::greater<>> ends_;
  std::size_t most_ = 0;
  double all_s_ = 0, first_s_ = 0, last_s_ = 0;
};

bool has_times(const Log& log) { return log.durations_known && log.dropped == 0 && log.source != "Darshan"; }

}  // namespace

std::optional<CallTimes> call_times(const Log& log, double begin_s, double elapsed_s) {
  if (!has_times(log) || elapsed_s <= 0) return std::nullopt;
  std::vector<bool> program;
  for (const std::string& file : log.files) program.push_back(is_program_file(file));
  CallTimes times;
  InFlight reads(begin_s, elapsed_s);
  for (const Call& call : log.calls) {
    if (call.bytes < 0 || call.file == kNoFile || program[call.file]) continue;
    const auto ns = static_cast<std::uint64_t>(std::llround(call.seconds * 1e9));
    if (call.kind == Kind::open && call.to_read) times.open.add(ns);
    if (call.kind != Kind::read || call.bytes == 0) continue;  // the end of a file is known at once
    times.read.add(ns);
    reads.add(call);
  }
  if (times.read.total() == 0) return std::nullopt;
  reads.put(times);
  return times;
}

}  // namespace headrace::observe::calls
