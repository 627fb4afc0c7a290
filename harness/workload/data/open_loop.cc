#include "harness/workload/data/open_loop.h"

#include <fmt/format.h>
#include <sys/prctl.h>

#include "harness/base/error.h"
#include "harness/base/units.h"
#include "harness/workload/data/ramp.h"

namespace headrace {

void LatencyTrend::merge(const LatencyTrend& other) noexcept {
  for (std::size_t i = 0; i < windows_.size(); ++i) {
    windows_[i].n += other.windows_[i].n;
    windows_[i].x += other.windows_[i].x;
    windows_[i].y += other.windows_[i].y;
    windows_[i].xx += other.windows_[i].xx;
    windows_[i].xy += other.windows_[i].xy;
  }
  count_ += other.count_;
  sum_s_ += other.sum_s_;
  last_s_ = std::max(last_s_, other.last_s_);
}

double LatencyTrend::slope() const noexcept {
  Sums all;
  double left_out = 0;
  for (const Sums& s : windows_) {
    left_out += s.n;
    if (left_out <= static_cast<double>(count_) / 8) continue;
    all.n += s.n;
    all.x += s.x;
    all.y += s.y;
    all.xx += s.xx;
    all.xy += s.xy;
  }
  const double spread = all.n * all.xx - all.x * all.x;
  return spread > 0 ? (all.n * all.xy - all.x * all.y) / spread : 0;
}

void Lane::begin(Recorder& recorder) noexcept {
  ::prctl(PR_SET_TIMERSLACK, 1UL);  // wake up when asked to, not when it suits other timers
  recorder_ = &recorder;
  arrivals_.begin(now_ns());
}

OpenLoopResult judge_open_loop(const LatencyTrend& trend, double rate, double elapsed_s) {
  OpenLoopResult result;
  if (trend.count() == 0) return result;
  const auto requests = static_cast<double>(trend.count());
  const double schedule_s = trend.last_s() + 1 / rate;
  result.offered_rate = requests / schedule_s;
  // A queue may end each second's requests `slope` seconds later than those before. It serves 1 / (1 + slope) of the
  // arriving requests.
  const double slope = std::max(trend.slope(), -0.5);
  result.queue_growth = result.offered_rate * slope / (1 + slope);
  const double served = requests / std::max(schedule_s, elapsed_s - trend.mean_s());
  result.sustained = served >= OpenLoop::kEnough * result.offered_rate && slope <= OpenLoop::kGrowth;
  result.achieved_rate = result.sustained ? served : requests / std::max(schedule_s, elapsed_s);
  return result;
}

OpenLoop OpenLoop::declare(Params& params, std::span<const PerOperation> need, double fallback) {
  constexpr double kSlowest = 0.1;  // a loop that does not move for minutes is taken for hung
  OpenLoop loop;
  std::vector<PerOperation> enough(need.begin(), need.end());
  for (PerOperation& one : enough) one.amount *= kEnough;  // when 99 % are served, that is the need
  loop.rate_ = params.rate("rate", fallback, {.min = kSlowest},
                           "open loop: requests due per second, of all workers together; latency counts from the due "
                           "time; need: the job's rate plus 1 %",
                           enough);
  loop.spacing_ = params.choice("arrivals", "constant", {"constant", "poisson"},
                                "open loop: evenly spaced, or as if from many independent "
                                "readers") == "poisson"
                      ? Spacing::poisson
                      : Spacing::constant;
  return loop;
}

OpenLoop OpenLoop::declare(Params& params, std::span<const PerOperation> need) {
  OpenLoop loop = declare(params, need, 0);
  loop.ramp_ = params.flag("ramp", false,
                           "search the highest rate that is sustained with a p99 of at most "
                           "p99_limit; from `rate` on, if given");
  loop.p99_limit_s_ =
      params.seconds("p99_limit", 0, {.min = 1e-6, .max = 3600}, "ramp: the p99 that still is good enough");
  if (loop.ramp_ && loop.p99_limit_s_ == 0) params.conflict("p99_limit", "a ramp needs a limit, such as 20ms");
  if (!loop.ramp_ && loop.p99_limit_s_ > 0)
    params.conflict("p99_limit", "only a ramp has a limit: give 'ramp: true' too");
  if (loop.spacing_ == Spacing::poisson && !loop.asked())
    params.conflict("arrivals", "only an open loop has arrivals: give a rate too");
  return loop;
}

std::vector<std::string> OpenLoop::latency_parts(std::vector<std::string> parts) const {
  if (asked()) parts.emplace_back("queue");
  return parts;
}

void OpenLoop::before_phase(unsigned workers, std::size_t parts, std::uint64_t seed) {
  if (!on()) return;
  arrivals_ = std::make_unique<Arrivals>(rate_, spacing_);
  lanes_.clear();
  lanes_.reserve(workers);
  Random random(seed ^ 0x6f70656e);  // apart from the order of the reads
  for (unsigned i = 0; i < workers; ++i)
    lanes_.emplace_back(*arrivals_, static_cast<unsigned>(parts) + 1, random.next());
}

Lane* OpenLoop::begin(const Worker& worker) noexcept {
  if (!on()) return nullptr;
  Lane& lane = lanes_[worker.index];
  lane.begin(worker.recorder);
  return &lane;
}

LatencyTrend OpenLoop::trend() const {
  LatencyTrend trend;
  for (const Lane& lane : lanes_) trend.merge(lane.trend());
  return trend;
}

void OpenLoop::ramp(const RunTrial& trial) {
  if (!ramp_ || !ramp_note_.empty()) return;
  constexpr double kRequests = 300, kShortest_s = 1, kLongest_s = 5;  // of one trial
  double start = rate_;
  if (start == 0) {  // a closed loop finds the maximum
    const auto closed = trial(kShortest_s, "ramp: as fast as can be");
    if (!closed) throw RunError("ramp: the first trial failed: try without a ramp");
    start = closed->operations_per_s() / 8;
  }
  const Climb found = climb(start, [&](double rate) {
    rate_ = rate;
    const double seconds = std::clamp(kRequests / rate, kShortest_s, kLongest_s);
    const std::string text = format_quantity(rate, Dimension::per_second);
    const auto phase = trial(seconds, "ramp: " + text);
    Rung rung{.rate = rate, .held = false, .p99_s = phase ? 1e-9 * phase->latency.percentile(0.99) : 0, .why = ""};
    if (!phase || phase->operations == 0) {
      rung.why = phase ? "nothing was read" : "reads failed";
    } else if (rung.p99_s > p99_limit_s_) {
      rung.why = "p99 " + format_quantity(rung.p99_s, Dimension::seconds);
    } else if (!judge_open_loop(trend(), rate, phase->elapsed_s).sustained) {
      rung.why = "the queue grew";
    } else {
      rung.held = true;
    }
    return rung;
  });
  rate_ = found.rate;
  ramp_note_ =
      fmt::format("ramp: {} {} with a p99 of at most {}; tried: {}", format_quantity(rate_, Dimension::per_second),
                  found.held ? "is the highest rate that held" : "is the lowest rate tried, and none held",
                  format_quantity(p99_limit_s_, Dimension::seconds), to_string(found));
}

void OpenLoop::report(const PhaseResult& phase, MetricSink& sink) const {
  if (!on()) return;
  const OpenLoopResult result = judge_open_loop(trend(), rate_, phase.elapsed_s);
  ++repetitions_;
  if (!result.sustained) {
    if (not_sustained_++ == 0 || result.achieved_rate < worst_.achieved_rate) worst_ = result;
  }
  sink.put("offered_rate", result.offered_rate);
  sink.put("achieved_rate", result.achieved_rate);
  sink.put("queue_growth", result.queue_growth);
  sink.put("sustained", result.sustained ? 1 : 0);
  const bool held = result.sustained && phase.latency.percentile(0.99) <= 1e9 * p99_limit_s_;
  if (ramp_) sink.put(kHighestRate, held ? result.achieved_rate : 0);
  beyond_limit_ += ramp_ && !held;
}

std::vector<std::string> OpenLoop::notes() {
  std::vector<std::string> notes;
  if (!ramp_note_.empty()) notes.push_back(ramp_note_);
  if (reported_) return notes;
  reported_ = not_sustained_ + beyond_limit_ > 0;
  if (not_sustained_ > 0)
    notes.push_back(
        fmt::format("rate of {} not sustained in {} of {} repetitions: {} were served, and the queue grew by "
                    "{}",
                    format_quantity(rate_, Dimension::per_second), not_sustained_, repetitions_,
                    format_quantity(worst_.achieved_rate, Dimension::per_second),
                    format_quantity(std::max(0.0, worst_.queue_growth), Dimension::per_second)));
  if (beyond_limit_ > 0)
    notes.push_back(
        fmt::format("the rate that the ramp found did not hold in {} of {} repetitions", beyond_limit_, repetitions_));
  return notes;
}

}  // namespace headrace
