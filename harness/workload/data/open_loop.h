// Open loop: requests are sent when they are due, not when the one before has returned. A training job does not read
// less because storage is slow. Latency counts from the intended start. A stall counts for all the requests that it
// delayed (no coordinated omission).
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "harness/base/clock.h"
#include "harness/base/random.h"
#include "harness/record/highest_rate.h"
#include "harness/record/metric.h"
#include "harness/record/params.h"
#include "harness/record/recorder.h"
#include "harness/record/repetition.h"
#include "harness/record/trial.h"
#include "harness/record/worker.h"
#include "harness/workload/data/arrivals.h"

namespace headrace {

/// Least squares of a latency [s] over the intended start [s], in windows that double. The first requests, which
/// storage may serve differently, can be left out afterwards.
class LatencyTrend {
 public:
  void add(double at_s, double latency_s) noexcept {
    Sums& s = windows_[static_cast<std::size_t>(std::bit_width(++count_))];
    s.n += 1;
    s.x += at_s;
    s.y += latency_s;
    s.xx += at_s * at_s;
    s.xy += at_s * latency_s;
    sum_s_ += latency_s;
    last_s_ = std::max(last_s_, at_s);
  }
  void merge(const LatencyTrend& other) noexcept;
  std::uint64_t count() const noexcept { return count_; }
  /// The latest intended start [s].
  double last_s() const noexcept { return last_s_; }
  double mean_s() const noexcept { return count_ ? sum_s_ / static_cast<double>(count_) : 0; }
  /// Seconds of latency gained per second, without the first eighth of the requests (or fewer).
  double slope() const noexcept;

 private:
  struct Sums {
    double n = 0, x = 0, y = 0, xx = 0, xy = 0;
  };
  std::array<Sums, 65> windows_{};
  std::uint64_t count_ = 0;
  double sum_s_ = 0, last_s_ = 0;
};

/// One worker's place in the schedule. Lives on its own cache lines.
class alignas(128) Lane {
 public:
  Lane(Arrivals& arrivals, unsigned queue_part, std::uint64_t seed)
      : arrivals_(arrivals), queue_part_(queue_part), random_(seed) {}

  /// On the worker's thread, first thing in its timed region.
  void begin(Recorder& recorder) noexcept;

  /// Is a request to be sent now? If so, use() returns its intended start and moves to the next.
  bool due(std::uint64_t now_ns) noexcept {
    if (!open()) return false;
    if (next_ns_ == 0) next_ns_ = arrivals_.take(random_);
    return next_ns_ <= now_ns;
  }
  std::uint64_t use() noexcept {
    const std::uint64_t due = next_ns_;
    next_ns_ = 0;
    return due;
  }
  /// False when nothing more is to be sent: the time is over, a stop was requested, or close() was called.
  bool open() noexcept {
    if (open_ && (!recorder_->running() || next_ns_ >= recorder_->deadline_ns())) open_ = false;
    return open_;
  }
  /// There is nothing more to send.
  void close() noexcept { open_ = false; }
  /// The wait for completions when nothing is due: until the next request, or a while to check for a stop.
  std::uint64_t wait_until(std::uint64_t now_ns) const noexcept {
    return open_ && next_ns_ != 0 ? std::min(next_ns_, now_ns + kLook) : now_ns + kLook;
  }
  /// A request that was due at `due_ns`, sent at `begin_ns` and has ended.
  void ended(std::uint64_t due_ns, std::uint64_t begin_ns, std::uint64_t end_ns) noexcept {
    recorder_->part(queue_part_, begin_ns - due_ns);
    trend_.add(1e-9 * static_cast<double>(due_ns - arrivals_.origin_ns()), 1e-9 * static_cast<double>(end_ns - due_ns));
  }
  const LatencyTrend& trend() const noexcept { return trend_; }

 private:
  static constexpr std::uint64_t kLook = 20'000'000;  // [ns]

  Arrivals& arrivals_;
  const unsigned queue_part_;  // latency channel of the time between intended start and sending
  Random random_;
  Recorder* recorder_ = nullptr;
  std::uint64_t next_ns_ = 0;  // taken and not yet sent; 0 = none
  bool open_ = true;
  LatencyTrend trend_;
};

/// The result of an open loop in one phase.
struct OpenLoopResult {
  double offered_rate = 0;   // requests sent over the length of their schedule [1/s]
  double achieved_rate = 0;  // requests served [1/s]
  double queue_growth = 0;   // requests by which the queue grew [1/s]
  bool sustained = false;
};

/// The result of a phase that took `elapsed_s`; `rate`: the requested one. Sustained: at least 99 % of the offered rate
/// was served, and latency grew by at most 1 % of the time. The time of one mean latency, for the last requests, is not
/// counted.
OpenLoopResult judge_open_loop(const LatencyTrend& trend, double rate, double elapsed_s);

/// The keys of an open loop, and the lanes of its workers.
class OpenLoop {
 public:
  static constexpr double kEnough = 0.99;  // share of the offered rate that must be served
  static constexpr const char* kNotTuned =
      "tuning looks for the fastest way, but an open loop has the rate that it is given: tune "
      "without a rate, then write down engine, block_size and queue_depth";
  static constexpr double kGrowth = 0.01;  // seconds of latency per second that may be gained

  /// Its metrics, for a workload's catalogue: with_open_loop(std::array{Metric{...}, ...}).
  static constexpr std::array kMetrics{
      Metric{"offered_rate", "1/s", Better::neither,
             "Open loop: requests that were due per second, whether served in time or not"},
      Metric{"achieved_rate", "1/s", Better::higher, "Open loop: requests served per second"},
      Metric{"queue_growth", "1/s", Better::lower,
             "Open loop: requests by which the queue grew per second; about 0 when sustained"},
      Metric{"sustained", "ratio", Better::higher,
             "Open loop: 1 when at least 99 % of the requests were served as they came and the "
             "queue did not grow, else 0"},
      Metric{kHighestRate, "1/s", Better::higher,
             "ramp: the rate found, where it was sustained with a p99 of at most p99_limit; 0 where "
             "it was not"},
  };

  /// Declares `rate`, `arrivals`, `ramp` and `p99_limit`. `need`: as for Params::rate().
  static OpenLoop declare(Params& params, std::span<const PerOperation> need);
  /// Declares `rate` and `arrivals` of a loop that is always open.
  static OpenLoop declare(Params& params, std::span<const PerOperation> need, double fallback);
  bool on() const { return rate_ > 0; }
  /// Is it an open loop, if only once ramp() has found its rate?
  bool asked() const { return on() || ramp_; }
  /// As asked for, or found [1/s].
  double rate() const { return rate_; }
  /// With `ramp: true`, once: searches the highest rate that is sustained with a p99 within the limit.
  void ramp(const RunTrial& trial);
  /// `parts` and, in an open loop, the time that requests waited until they were sent.
  std::vector<std::string> latency_parts(std::vector<std::string> parts) const;

  /// Untimed. `parts`: the workload's own latency channels.
  void before_phase(unsigned workers, std::size_t parts, std::uint64_t seed);
  /// The worker's lane, begun; nullptr in a closed loop.
  Lane* begin(const Worker& worker) noexcept;
  /// The results of the last phase's lanes, all together.
  LatencyTrend trend() const;
  /// Puts kMetrics; nothing in a closed loop.
  void report(const PhaseResult& phase, MetricSink& sink) const;
  /// Reports a ramp's result and, once, that a rate was not sustained.
  std::vector<std::string> notes();

 private:
  double rate_ = 0;
  Spacing spacing_ = Spacing::constant;
  bool ramp_ = false;
  double p99_limit_s_ = 0;
  std::string ramp_note_;  // "" before ramp()
  std::unique_ptr<Arrivals> arrivals_;
  std::vector<Lane> lanes_;
  // Found in report(), reported in notes().
  mutable unsigned repetitions_ = 0, not_sustained_ = 0, beyond_limit_ = 0;
  mutable OpenLoopResult worst_;
  bool reported_ = false;
};

/// A workload's metrics and those of an open loop.
template <std::size_t N>
constexpr auto with_open_loop(const std::array<Metric, N>& metrics) {
  std::array<Metric, N + OpenLoop::kMetrics.size()> all{};
  std::copy(metrics.begin(), metrics.end(), all.begin());
  std::copy(OpenLoop::kMetrics.begin(), OpenLoop::kMetrics.end(), all.begin() + N);
  return all;
}

}  // namespace headrace
