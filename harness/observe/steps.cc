#include "harness/observe/steps.h"

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
    3;  // between pauses that are seen: so much may be taken before the first and after the last
constexpr double kMostTogether = 4;  // batches between two pauses that were seen, on average
constexpr double kSeldom = 0.5;      // of the batches that were counted are followed by a pause that was seen
constexpr double kAlike = 0.05;
constexpr double kAlone = 0.8;  // of the looks: else a look came in the midst of taking one

struct Counted {
  double consumers = 1, taken = 0, looked = 0, firsts = 0, pauses = 0, takes = 0;
};

/// How many of the jumps are exactly that.
double share_of(const std::map<std::uint32_t, std::uint32_t>& jumps, std::uint32_t exactly) {
  double all = 0;
  for (const auto& [jump, times] : jumps) all += times;
  const auto found = jumps.find(exactly);
  return all > 0 && found != jumps.end() ? found->second / all : 0;
}

/// Between two pauses a batch is taken, or now and then several. `looks`: the jumps between looks, which follow each other more
/// closely: where batches always come in pairs, pauses alone would take two for one.
Steps by_pauses(const std::map<std::uint32_t, std::uint32_t>& jumps,
                const std::map<std::uint32_t, std::uint32_t>& looks, const Counted& seen) {
  double agreeing = 0, looks_agreeing = 0;
  std::uint32_t calls = calls_per_batch(jumps, agreeing);
  const std::uint32_t closer = calls_per_batch(looks, looks_agreeing);
  if (closer > 1 && calls == 2 * closer && share_of(looks, closer) > kAlone) calls = closer;
  double by_calls = calls > 0 ? seen.taken / calls + seen.firsts : 0;
  // Before the first pause several may have been taken, and after the last; looks between pauses count those, and whatever
  // else is read. Where few pauses are seen, that is much.
  double lost = 0;
  if (const double looked = calls > 0 ? seen.looked / calls : 0; looked > by_calls) {
    if (looked < by_calls * kLittleMore) {
      by_calls = looked;
    } else if (looked < by_calls * (1 + kGapsLost * seen.consumers / seen.takes)) {
      lost = 1 - by_calls / looked;
      by_calls = looked;
    } else if (seen.takes < kSeldom * by_calls) {
      // Something else that was read, or batches: pauses that are so few do not tell which.
      lost = 1 - by_calls / looked;
    }
  }
  // One call each would say nothing: every number is a multiple of it.
  if (by_calls > seen.takes * (1 - kAlike) && (calls > 1 || by_calls < seen.takes * (1 + kAlike))) {
    // Pauses that follow each other closely look like one; where nearly all do, little is left to go by.
    const bool many = by_calls < seen.takes * kMostTogether;
    return {.count = by_calls,
            .uncertainty = (1 - agreeing) / 2 + lost,
            .calls = static_cast<double>(calls),
            .confidence = many && lost == 0 && agreeing >= kSure ? Confidence::high : Confidence::medium,
            .evidence = fmt::format(
                "{:.0f} batches were taken: between pauses of the main thread, reads of what workers hand over "
                "grew by {} or a multiple in {:.0f} % of {:.0f} cases",
                by_calls, calls, agreeing * 100, seen.takes)};
  }
  return {
      .count = seen.takes,
      .uncertainty = 1,
      .confidence = Confidence::low,
      .evidence = fmt::format("the main thread paused at least {:.0f} times after it had taken something", seen.takes)};
}

/// One that never pauses.
Steps by_looks(const std::map<std::uint32_t, std::uint32_t>& jumps, const Counted& seen) {
  double agreeing = 0;
  const std::uint32_t calls = calls_per_batch(jumps, agreeing);
  if (calls == 0) return {};
  return {.count = seen.looked / calls,
          .uncertainty = 0.05 + (1 - agreeing) / 2,
          .calls = static_cast<double>(calls),
          .confidence = calls > 1 && agreeing >= kSure ? Confidence::medium : Confidence::low,
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
  for (std::uint32_t calls = kMostCalls; calls >= 1; --calls) {
    std::uint32_t fitting = 0;
    for (const auto& [jump, times] : jumps)
      if (jump % calls == 0) fitting += times;
    agreeing = static_cast<double>(fitting) / all;
    if (agreeing >= kAgreeing) return calls;
  }
  return 0;
}

Steps count_steps(const Recording& recording, const Roles& roles, const std::vector<const Slice*>& slices) {
  if (roles.consumers.empty()) return {};
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
      }
  std::map<std::uint32_t, std::uint32_t> jumps, by_pause;
  for (const HandOvers& one : recording.hand_overs)
    if (roles.is_consumer(one.process)) {
      for (const auto& [jump, times] : one.jumps) jumps[jump] += times;
      for (const auto& [jump, times] : one.by_pause) by_pause[jump] += times;
    }
  Steps steps;
  if (!roles.in_process) steps = seen.takes >= kFewest ? by_pauses(by_pause, jumps, seen) : by_looks(jumps, seen);
  if (steps.count < kFewest && seen.pauses >= kFewest)
    steps = {.count = seen.pauses,
             .uncertainty = 0.1,
             .confidence = Confidence::low,
             .evidence = fmt::format("the main thread paused {:.0f} times; if each was a step", seen.pauses)};
  if (steps.count < kFewest) return {};
  steps.count /= consumers;
  steps.uncertainty += 2 / steps.count;  // one too many or too few at either end
  return steps;
}

}  // namespace headrace::observe
