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
  Steps steps;
  if (roles.consumers.empty()) return steps;
  double reads = 0, pauses = 0;
  for (const Slice* slice : slices)
    for (const ProcessSlice& one : slice->processes)
      if (roles.is_consumer(one.process)) {
        reads += static_cast<double>(one.counted.read_calls);
        pauses += one.pauses;
      }
  const double consumers = static_cast<double>(roles.consumers.size());
  std::map<std::uint32_t, std::uint32_t> jumps;
  for (const HandOvers& one : recording.hand_overs)
    if (roles.is_consumer(one.process))
      for (const auto& [jump, times] : one.jumps) jumps[jump] += times;
  double agreeing = 0;
  std::uint32_t calls = roles.in_process ? 0 : calls_per_batch(jumps, agreeing);
  if (calls > 0) {
    std::string halved;
    // Batches that come together, two at a time, look like one of twice the calls; each has a pause of its own.
    const double each = pauses / (reads / calls);
    const auto times = static_cast<std::uint32_t>(std::lround(each));
    if (times >= 2 && times <= 4 && calls % times == 0 && std::abs(each - times) < 0.15 * times) {
      calls /= times;
      halved = fmt::format("; {} came at once", times);
    }
    steps.count = reads / calls / consumers;
    // One too many or too few at either end; calls that fit no batch.
    steps.uncertainty = 1 / std::max(1.0, steps.count) + (1 - agreeing) / 2;
    steps.confidence = !halved.empty() || agreeing < kSure ? Confidence::medium : Confidence::high;
    steps.evidence = fmt::format(
        "{:.0f} batches were taken: reads of what workers hand over grew by {} a batch in {:.0f} % "
        "of the looks{}",
        steps.count * consumers, calls, agreeing * 100, halved);
    if (steps.count >= kFewest) return steps;
  }
  if (pauses / consumers >= kFewest) {
    steps.count = pauses / consumers;
    steps.uncertainty = 0.1;
    steps.confidence = Confidence::low;
    steps.evidence = fmt::format("the main thread paused {:.0f} times; if each was a step", pauses);
    return steps;
  }
  return {};
}

}  // namespace headrace::observe
