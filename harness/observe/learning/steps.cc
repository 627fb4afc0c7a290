#include "harness/observe/learning/steps.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace headrace::observe {
namespace {

constexpr std::uint32_t kFewest = 8;  // jumps, or steps
constexpr double kAgreeing = 0.9;
constexpr std::uint32_t kMostCalls = 64;  // for one batch
constexpr double kSure = 0.97;
constexpr double kLittleMore = 1.1;
constexpr double kGapsLost =
    3;  // between pauses that are seen: this many may be taken before the first and after the last
constexpr double kMostTogether = 4;  // batches between two pauses that were seen, on average
constexpr double kSeldom = 0.5;      // of the batches that were counted are followed by a pause that was seen
constexpr double kAlike = 0.05;
constexpr double kAlone = 0.8;  // of the looks: else a look came in the midst of taking one

constexpr double kPausesOfTwo = 1.5;      // for each batch that was counted, or more: two may have been taken for one
constexpr std::uint32_t kLeastCalls = 2;  // for one batch: data that is handed over has a head
constexpr std::uint32_t kSomeOfHalf = 2;  // jumps, at least: one may be anything

struct Counted {
  double consumers{}, taken = 0, looked = 0, firsts = 0, pauses = 0, takes = 0;
  double paused = 0;  // periods of looks
};

/// How many of the jumps are exactly that.
double share_of(const std::map<std::uint32_t, std::uint32_t>& jumps, std::uint32_t exactly) {
  double all = 0;
  for (const auto& [jump, times] : jumps) all += times;
  const auto found = jumps.find(exactly);
  return found != jumps.end() ? found->second / all : 0;
}

/// The share of the jumps that are a multiple of it.
double agreeing_with(const std::map<std::uint32_t, std::uint32_t>& jumps, std::uint32_t calls) {
  std::uint32_t all = 0, fitting = 0;
  for (const auto& [jump, times] : jumps) {
    all += times;
    if (jump % calls == 0) fitting += times;
  }
  return ratio(fitting, all);
}

/// Is nearly all that is no multiple of `calls` one of its half?
bool rest_is_of_half(const std::map<std::uint32_t, std::uint32_t>& jumps, std::uint32_t calls) {
  if (calls % 2 != 0) return false;
  std::uint32_t rest = 0, of_half = 0;
  for (const auto& [jump, times] : jumps) {
    if (jump % calls == 0) continue;
    rest += times;
    if (jump % (calls / 2) == 0) of_half += times;
  }
  return of_half >= kSomeOfHalf && of_half >= kAgreeing * rest;
}

/// Of pauses alone.
Steps by_takes(const Counted& seen) {
  return {
      .count = seen.takes,
      .uncertainty = 1,
      .confidence = Confidence::low,
      .evidence = fmt::format("the main thread paused at least {:.0f} times after it had taken something", seen.takes)};
}

/// Between two pauses a batch is taken, or now and then several. `looks`: the jumps between looks, which follow each
/// other more closely. Where batches always come in pairs, pauses alone would take two for one.
Steps by_pauses(const std::map<std::uint32_t, std::uint32_t>& jumps,
                const std::map<std::uint32_t, std::uint32_t>& looks, const Counted& seen) {
  double agreeing{}, looks_agreeing{};
  std::uint32_t calls = calls_per_batch(jumps, agreeing);
  if (calls == 0) return by_takes(seen);
  const std::uint32_t closer = calls_per_batch(looks, looks_agreeing);
  if (closer > 1 && calls == 2 * closer && share_of(looks, closer) > kAlone) calls = closer;
  // A batch that was read before its turn, with the one before it, has its own pause. Nothing is read before that. So
  // is one batch where there are two pauses in each step.
  double fewest = 1, most = 1;
  if (calls >= 2 * kLeastCalls && seen.pauses >= kPausesOfTwo * (seen.taken / calls + seen.firsts)) {
    if (rest_is_of_half(jumps, calls)) {
      calls /= 2;
      agreeing = agreeing_with(jumps, calls);
      fewest = 0.5;
    } else {
      most = std::min(seen.pauses * calls / seen.taken, static_cast<double>(calls) / kLeastCalls);
    }
  }
  double by_calls = seen.taken / calls + seen.firsts;
  // Before the first pause several may have been taken, and after the last. Looks between pauses count those, and any
  // other reads. Where few pauses are seen, that is much.
  double lost = 0, differ = 0;
  if (const double looked = seen.looked / calls; looked > by_calls) {
    if (looked < by_calls * kLittleMore) {
      differ = 1 - by_calls / looked;
      by_calls = looked;
    } else if (looked < by_calls * (1 + kGapsLost * seen.consumers / seen.takes)) {
      lost = 1 - by_calls / looked;
      by_calls = looked;
    } else if (seen.takes < kSeldom * by_calls) {
      // Something else that was read, or batches: pauses that are that few do not show which.
      lost = 1 - by_calls / looked;
    }
  } else if (looked > by_calls / kLittleMore) {
    differ = 1 - looked / by_calls;
  }
  // One call each would prove nothing: every number is a multiple of it.
  if (by_calls > seen.takes * (1 - kAlike) && (calls > 1 || by_calls < seen.takes * (1 + kAlike))) {
    // Pauses that follow each other closely look like one; where nearly all do, little is left to go by.
    const bool many = by_calls < seen.takes * kMostTogether;
    return {.count = by_calls,
            .uncertainty = (1 - agreeing) / 2 + lost + differ,
            .fewest = fewest,
            .most = most,
            .calls = static_cast<double>(calls),
            .confidence = fewest < 1 || most > 1                   ? Confidence::low
                          : many && lost == 0 && agreeing >= kSure ? Confidence::high
                                                                   : Confidence::medium,
            .evidence = fmt::format(
                "{:.0f} batches were taken: between pauses of the main thread, reads of batches from workers "
                "grew by {} or a multiple in {:.0f} % of {:.0f} cases{}",
                by_calls, calls, agreeing * 100, seen.takes,
                most > 1 ? fmt::format("; but it paused {:.0f} times, as where several are taken together", seen.pauses)
                : fewest < 1 ? fmt::format(", most of them two at once, and it paused {:.0f} times", seen.pauses)
                             : "")};
  }
  return by_takes(seen);
}

/// The jump that nine in ten are no larger than.
std::uint32_t large_jump(const std::map<std::uint32_t, std::uint32_t>& jumps) {
  double all = 0, so_far = 0;
  for (const auto& [jump, times] : jumps) all += times;
  auto jump = jumps.begin();
  while ((so_far += jump->second) < kAgreeing * all) ++jump;
  return jump->first;
}

/// One that never pauses.
Steps by_looks(const std::map<std::uint32_t, std::uint32_t>& jumps, const Counted& seen) {
  double agreeing{};
  const std::uint32_t calls = calls_per_batch(jumps, agreeing);
  if (calls == 0) return {};
  // Looks that come in the midst of taking a batch make its calls look like those of several.
  const double fewest = calls / static_cast<double>(std::max(calls, large_jump(jumps)));
  return {.count = seen.looked / calls,
          .uncertainty = 0.05 + (1 - agreeing) / 2,
          .fewest = fewest,
          .calls = static_cast<double>(calls),
          .confidence = calls > 1 && agreeing >= kSure && fewest == 1 ? Confidence::medium : Confidence::low,
          .evidence = fmt::format(
              "{:.0f} batches were taken, if each takes the {} reads that counts grew by in {:.0f} % of the looks",
              seen.looked / calls, calls, agreeing * 100)};
}

}  // namespace

std::uint32_t calls_per_batch(const std::map<std::uint32_t, std::uint32_t>& jumps, double& agreeing) {
  std::uint32_t all = 0;
  for (const auto& [jump, times] : jumps) all += times;
  agreeing = 0;
  if (all < kFewest) return 0;
  std::uint32_t calls = kMostCalls;
  while ((agreeing = agreeing_with(jumps, calls)) < kAgreeing) --calls;
  return calls;
}

Steps count_steps(const Recording& recording, const Roles& roles, const std::vector<const Slice*>& slices) {
  const double consumers = std::max(1.0, roles.consumers_at_once);
  Counted seen{.consumers = consumers};
  for (const Slice* slice : slices)
    for (const ProcessSlice& one : slice->processes)
      if (roles.is_consumer(one.process)) {
        seen.taken += static_cast<double>(one.taken_calls);
        seen.looked += static_cast<double>(one.looked_calls);
        seen.firsts += one.first_takes;
        seen.pauses += one.pauses;
        seen.takes += one.takes;
        for (const Wait wait : {Wait::sleep, Wait::gpu}) seen.paused += one.lead[static_cast<std::size_t>(wait)];
      }
  std::map<std::uint32_t, std::uint32_t> jumps, by_pause;
  for (const HandOvers& one : recording.hand_overs)
    if (roles.is_consumer(one.process)) {
      for (const auto& [jump, times] : one.jumps) jumps[jump] += times;
      for (const auto& [jump, times] : one.by_pause) by_pause[jump] += times;
    }
  Steps steps;
  if (!roles.in_process) steps = seen.takes >= kFewest ? by_pauses(by_pause, jumps, seen) : by_looks(jumps, seen);
  if (steps.count < kFewest)
    steps = {
        .count = seen.pauses,
        .uncertainty = 0.1,
        .most = std::max(1.0, ratio(seen.paused, seen.pauses)),
        .confidence = Confidence::low,
        .evidence = fmt::format("the main thread paused {:.0f} times; if each was a step, and none followed the one "
                                "before it between two looks",
                                seen.pauses)};
  if (steps.count < kFewest) return {};
  steps.count /= consumers;
  steps.uncertainty += 2 / steps.count;  // one too many or too few at either end
  return steps;
}

}  // namespace headrace::observe
