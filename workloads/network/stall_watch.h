// Waiting for another rank without end is no option: cards may never report a peer that is gone.
#pragma once

#include <fmt/format.h>
#include <sched.h>

#include <cstdint>
#include <string>

#include "harness/base/clock.h"
#include "harness/record/ranks/ranks.h"
#include "workloads/network/link_error.h"

namespace headrace::network {

/// For loops that poll: counts polls that brought nothing, and looks at the clock now and then.
class StallWatch {
 public:
  /// `from`: the rank that something should come from.
  StallWatch(const Ranks& ranks, unsigned from, double patience_s)
      : ranks_(ranks), from_(from), patience_s_(patience_s) {}
  void moved() noexcept { idle_ = 0; }
  /// Throws LinkError when nothing moved for the patience, RunError when a rank is gone; both name it.
  void waited() {
    if (++idle_ % kYield != 0) return;
    ::sched_yield();  // the other end may need this processor
    if (idle_ % kPolls == 0) look();
  }

 private:
  static constexpr std::uint64_t kYield = 512;
  static constexpr std::uint64_t kPolls = 4096;  // much less than a millisecond
  static constexpr double kAsk_s = 0.25;

  void look() {
    const std::uint64_t now = now_ns();
    if (idle_ == kPolls) since_ns_ = asked_ns_ = now;
    const auto seconds = [now](std::uint64_t then) { return static_cast<double>(now - then) * 1e-9; };
    if (seconds(asked_ns_) > kAsk_s) {
      asked_ns_ = now;
      if (const std::string lost = ranks_.lost(); !lost.empty()) throw RunError(lost);
    }
    if (seconds(since_ns_) < patience_s_) return;
    const std::string here = ranks_.host(ranks_.rank());
    throw LinkError(
        fmt::format("nothing came from {} for {:g} s (peer_timeout): it is gone, or the network between it and "
                    "{} passes nothing on",
                    ranks_.who(from_), patience_s_, here));
  }

  const Ranks& ranks_;
  const unsigned from_;
  const double patience_s_;
  std::uint64_t idle_ = 0, since_ns_ = 0, asked_ns_ = 0;
};

}  // namespace headrace::network
