#include "harness/workload/data/pipeline/step_log.h"

#include <algorithm>

namespace headrace::pipeline {
namespace {

double seconds(std::uint64_t ns) { return 1e-9 * static_cast<double>(ns); }

PipelineTrace::Window window(const StepAccount::Record& r, std::uint64_t begin_ns) {
  const auto time = static_cast<double>(r.time_ns);
  const auto share = [time](std::uint64_t ns) { return time > 0 ? static_cast<double>(ns) / time : 0; };
  return {.begin_s = seconds(begin_ns),
          .end_s = seconds(begin_ns + r.time_ns),
          .steps = r.steps,
          .ready = r.steps > 0 ? r.ready / static_cast<double>(r.steps) : 0,
          .waiting = share(r.wait_ns),
          .copying = share(r.copy_ns),
          .host = share(r.host_ns),
          .saving = share(r.save_ns),
          .others = share(r.others_ns)};
}

}  // namespace

void StepLog::stand(std::uint64_t ns) noexcept {
  if (steps_ == 0) return;
  const std::uint64_t number = steps_ - 1;
  if (number < kShown) first_[number].save_ns = ns;
  if (number < all_.size()) all_[number].save_ns = ns;
  for (std::size_t i = 0; i < slowest_used_; ++i)
    if (slowest_[i].number == number) slowest_[i].save_ns = ns;
}

void StepLog::add(const StepClock::Step& step, double ready) noexcept {
  const Entry one{.number = steps_, .step = step, .ready = ready, .save_ns = 0};
  if (steps_ < kShown) first_[steps_] = one;
  if (all_.size() < room_) all_.push_back(one);
  if (steps_++ == 0) return;  // it fills the pipeline
  if (slowest_used_ < kShown) {
    slowest_[slowest_used_++] = one;
  } else if (took(one) > took(slowest_[quickest_])) {
    slowest_[quickest_] = one;
  } else {
    return;
  }
  quickest_ = 0;
  for (std::size_t i = 1; i < slowest_used_; ++i)
    if (took(slowest_[i]) < took(slowest_[quickest_])) quickest_ = i;
}

PipelineTrace StepLog::trace(const StepAccount& account) const {
  PipelineTrace all;
  all.began_ns = account.began_ns();
  all.compute_s = seconds(account.compute_ns());
  const auto describe = [&](const Entry& e) {
    return PipelineTrace::Step{.number = e.number,
                               .begin_s = seconds(e.step.begin_ns - all.began_ns),
                               .end_s = seconds(e.step.end_ns - all.began_ns),
                               .wait_s = seconds(e.step.wait_ns),
                               .copy_s = seconds(e.step.copy_ns),
                               .host_s = seconds(e.step.host_ns),
                               .others_s = seconds(e.step.others_ns),
                               .save_s = seconds(e.save_ns),
                               .ready = e.ready};
  };
  for (std::size_t i = 0; i < std::min<std::uint64_t>(steps_, kShown); ++i) all.first.push_back(describe(first_[i]));
  for (std::size_t i = 0; i < slowest_used_; ++i) all.slowest.push_back(describe(slowest_[i]));
  std::ranges::sort(all.slowest, {}, &PipelineTrace::Step::number);
  for (const Entry& e : all_) all.steps.push_back(describe(e));
  if (steps_ == 0) return all;
  // The first step has a window of its own: in it the pipeline was empty.
  all.windows.push_back(window(account.first(), 0));
  std::uint64_t begin_ns = account.first().time_ns;
  const std::vector<StepAccount::Record>& others = account.others();
  const std::size_t windows = std::min(kWindows, others.size());
  for (std::size_t w = 0; w < windows; ++w) {
    StepAccount::Record sum;
    for (std::size_t i = others.size() * w / windows; i < others.size() * (w + 1) / windows; ++i) sum.add(others[i]);
    all.windows.push_back(window(sum, begin_ns));
    begin_ns += sum.time_ns;
  }
  return all;
}

}  // namespace headrace::pipeline
