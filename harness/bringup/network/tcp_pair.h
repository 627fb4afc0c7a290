// Two hosts over TCP, alone: latency first, then each direction at full speed over several streams. Then each at a
// third of that, where nothing should have to be resent. One end opens a door and answers, the other one calls.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "harness/base/error.h"
#include "harness/bringup/network/pair_latency.h"
#include "harness/workload/network/tcp_door.h"

namespace headrace {

/// Begins the reason of a pair whose connection works until it carries full-size packets.
inline constexpr std::string_view kFullPacketsLost = "small packets arrive, and full-size packets are lost";

/// The same at both ends, but for the interface.
struct TcpPairPlan {
  double time_s = 1;  // of one way
  unsigned streams = 4;
  double meet_s = 5;      // for the other end to come, and as long as it may take to try its addresses
  std::string interface;  // bound to this one; "" = by the routes
  double spare_s = 20;    // for a slow end, beyond the plan; then this end gives up, however the other one behaves
};

/// One end's results.
struct TcpPairEnd {
  double received = 0;                            // of the other's payload [B/s], without the first fifth of the time
  std::uint64_t segments = 0, retransmitted = 0;  // that this end sent at a third of the speed
  std::optional<PairLatency> latency;             // of the calling end
  std::string back;  // of the end that was called: why it cannot call the other one; "" = it can, or was not to
};

/// The end that is called.
class TcpPairListener {
 public:
  /// Throws RunError where it cannot listen.
  explicit TcpPairListener(const TcpPairPlan& plan);
  const TcpDoor& door() const { return door_; }
  /// Waits for the other end, and measures with it. `back`: the other end's listener, to try this direction, too.
  /// Throws RunError: the end that does not connect or goes silent.
  TcpPairEnd answer(const TcpDoor* back = nullptr);
  /// Welcomes the other end's call back, until that reports on the connection `fd` that it has tried. Throws RunError.
  void await_call_back(int fd) const;

 private:
  const TcpPairPlan plan_;
  TcpDoor door_;
  system::UniqueFd listener_;
};

/// The other end cannot be called.
struct NotConnected : RunError {
  using RunError::RunError;
};

/// The end that calls. `own`: where the other end calls back, as its answer() does with a door. Throws NotConnected:
/// which addresses do not answer, and why; RunError: it went silent.
TcpPairEnd call_pair(const TcpDoor& door, const TcpPairPlan& plan, const TcpPairListener* own = nullptr);

}  // namespace headrace
