#include "harness/workload/data/pipeline/step_account.h"

#include <algorithm>
#include <cmath>

#include "harness/base/quantiles.h"

namespace headrace::pipeline {
namespace {

using Record = StepAccount::Record;

constexpr std::uint64_t kWindows = 20, kFewestWindows = 4;
/// The settled part must be this multiple of the part that is left out for it.
constexpr std::uint64_t kSettledOver = 3;

/// The first record behind that many steps.
std::size_t record_after(const StepAccount& account, std::uint64_t count) {
  std::size_t from = 0;
  for (std::uint64_t steps = 1; from < account.others().size() && steps < count; ++from)
    steps += account.others()[from].steps;
  return from;
}

/// The first record of those after the first step that belongs to the settled ones.
std::size_t settled_from(const StepAccount& account, std::uint64_t settling) {
  return account.steps() < settling * (1 + kSettledOver) ? 0 : record_after(account, settling);
}

Record sum(const std::vector<Record>& records, std::size_t from, std::size_t to) {
  Record all;
  for (std::size_t i = from; i < to; ++i) all.add(records[i]);
  return all;
}

/// The first record from `from` on with whole rounds of `round` steps behind it. Workers that share storage end their
/// batches together. The first step of a round waits for all of them. Part of a round would count that wait for too
/// few.
std::size_t whole_rounds(const std::vector<Record>& records, std::size_t from, std::uint64_t round) {
  const std::uint64_t steps = sum(records, from, records.size()).steps;
  std::uint64_t excess = steps > round ? steps % std::max<std::uint64_t>(1, round) : 0;
  for (; excess >= records[from].steps; ++from) excess -= records[from].steps;  // fewer than all steps
  return from;
}

double share(double part, double whole) { return whole != 0 ? part / whole : 0; }

/// By Student's t over the windows' times of one step; the compute time is a share of their mean. A mean of shares
/// would count fast windows for more.
void bound(const std::vector<double>& step_ns, double compute_ns, Utilization& u) {
  const auto n = static_cast<double>(step_ns.size());
  double mean = 0, squares = 0;
  for (const double v : step_ns) mean += v / n;
  for (const double v : step_ns) squares += (v - mean) * (v - mean);
  const double half = statistics::t_quantile(0.975, n - 1) * std::sqrt(squares / (n - 1) / n);
  u.low = compute_ns / (mean + half);
  u.high = compute_ns / std::max(compute_ns, mean - half);
  u.windows = static_cast<unsigned>(step_ns.size());
}

/// Shares of the records from `counted` on, and bounds from `windowed` on.
Utilization of_records(const StepAccount& account, const std::vector<Record>& records, std::size_t counted,
                       std::size_t windowed) {
  Utilization u;
  const Record all = sum(records, counted, records.size());
  const auto compute = static_cast<double>(account.compute_ns());
  const auto time = static_cast<double>(all.time_ns), steps = static_cast<double>(all.steps);
  u.steps = std::max<std::uint64_t>(1, account.steps()) - 1;
  u.rule = share(steps * compute, time);
  // DLIO continues only when it has woken, and counts its sleep: a late host's cost is compute there.
  const auto late = static_cast<double>(all.late_ns), stood = static_cast<double>(all.host_ns);
  u.dlio = share(steps * compute + late, time + std::max(0.0, late - stood));
  const Record whole = sum(records, 0, records.size());
  u.ideal = share(static_cast<double>(whole.steps + 1) * compute,
                  static_cast<double>(whole.time_ns + account.first().time_ns));
  u.wait = share(static_cast<double>(all.wait_ns), time);
  u.copy = share(static_cast<double>(all.copy_ns), time);
  u.host = share(stood, time);
  u.save = share(static_cast<double>(all.save_ns), time);
  u.others = share(static_cast<double>(all.others_ns), time);
  u.ready = share(all.ready, steps);
  u.low = u.high = u.rule;
  const std::size_t left = records.size() - windowed;
  if (left < kFewestWindows || compute == 0) return u;
  std::vector<double> step_ns;
  const std::size_t windows = std::min<std::size_t>(kWindows, left);
  for (std::size_t w = 0; w < windows; ++w) {
    const Record window = sum(records, windowed + left * w / windows, windowed + left * (w + 1) / windows);
    step_ns.push_back(static_cast<double>(window.time_ns) / static_cast<double>(window.steps));
  }
  bound(step_ns, compute, u);
  return u;
}

}  // namespace

void Record::add(const Record& more) noexcept {
  steps += more.steps;
  time_ns += more.time_ns;
  wait_ns += more.wait_ns;
  copy_ns += more.copy_ns;
  host_ns += more.host_ns;
  late_ns += more.late_ns;
  save_ns += more.save_ns;
  others_ns += more.others_ns;
  ready += more.ready;
}

StepAccount::StepAccount(std::uint64_t compute_ns) : compute_ns_(compute_ns) { records_.reserve(kRecords); }

void StepAccount::add(const StepClock::Step& step, std::uint64_t late_ns, double ready) noexcept {
  const Record one{.steps = 1,
                   .time_ns = step.end_ns - step.begin_ns,
                   .wait_ns = step.wait_ns,
                   .copy_ns = step.copy_ns,
                   .host_ns = step.host_ns,
                   .late_ns = late_ns,
                   .save_ns = 0,
                   .others_ns = step.others_ns,
                   .ready = ready};
  if (steps_++ == 0) {
    first_ = one;
    began_ns_ = step.begin_ns;
    return;
  }
  if (!records_.empty() && records_.back().steps < fold_) return records_.back().add(one);
  if (records_.size() == kRecords) {
    for (std::size_t i = 0; i < kRecords / 2; ++i) {
      records_[i] = records_[2 * i];
      records_[i].add(records_[2 * i + 1]);
    }
    records_.resize(kRecords / 2);
    fold_ *= 2;
  }
  records_.push_back(one);
}

void StepAccount::stand(std::uint64_t ns) noexcept {
  if (records_.empty()) return;
  records_.back().time_ns += ns;
  records_.back().save_ns += ns;
}

void StepAccount::starved(std::uint64_t ns) noexcept {
  if (records_.empty()) return;
  records_.back().time_ns += ns;
  records_.back().wait_ns += ns;
  starved_ns_ += ns;
}

Utilization utilization(const StepAccount& account, std::uint64_t settling) {
  return of_records(account, account.others(), 0, settled_from(account, settling));
}

Utilization settled_utilization(const StepAccount& account, std::uint64_t filling, std::uint64_t settling) {
  const std::uint64_t most = std::max(filling, std::min(filling + settling, account.steps() / 2));
  std::size_t from = record_after(account, most);
  std::vector<Record> records = account.others();
  if (from >= records.size()) {
    // No batches came but those that the workers prepared in parallel. Their mean counts the time in which they did.
    Utilization u = of_records(account, records, 0, records.size());
    u.rule = u.dlio = u.low = u.high = u.ideal;
    u.wait = 1 - u.ideal;
    return u;
  }
  // A wait that the time cut off belongs to a step that is not counted.
  Record& last = records.back();
  last.time_ns -= account.starved_ns();
  last.wait_ns -= account.starved_ns();
  std::uint64_t longest = 0;
  for (std::size_t i = from; i < records.size(); ++i)
    longest = std::max(longest, records[i].wait_ns / records[i].steps);
  if (account.starved_ns() > 2 * longest + account.compute_ns()) {
    last.time_ns += account.starved_ns();
    last.wait_ns += account.starved_ns();
  }
  from = whole_rounds(records, from, filling);
  Utilization u = of_records(account, records, from, from);
  if (account.steps() >= (filling + settling) * (1 + kSettledOver)) return u;
  // Data read ahead at the start may be used up at the end: the truth is between both.
  const std::size_t filled = whole_rounds(records, record_after(account, filling), filling);
  const Utilization all = of_records(account, records, filled, filled);
  u.rule = (u.rule + all.rule) / 2;
  u.wait = (u.wait + all.wait) / 2;
  u.low = std::min(u.low, all.low);
  u.high = std::max(u.high, all.high);
  return u;
}

double settled_step_rate(const StepAccount& account, std::uint64_t settling) {
  const std::size_t from = settled_from(account, settling);
  Record all = sum(account.others(), from, account.others().size());
  if (all.time_ns == 0) return 0;
  // The first batches of all workers came together after the first step. Without it too few steps would count for too
  // much.
  if (from == 0 && settling > 1) all.add(account.first());
  return 1e9 * static_cast<double>(all.steps) / static_cast<double>(all.time_ns);
}

}  // namespace headrace::pipeline
