// Frames between the hub and the ranks: a kind, a length, and that many bytes, over one TCP
// connection each.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "harness/base/system/unique_fd.h"

namespace headrace::ranks {

enum class Kind : std::uint32_t {
  hello,    // rank -> hub: token, rank
  welcome,  // hub -> rank: it is one of ours
  gather,   // rank -> hub: Contribution
  result,   // hub -> rank: key, everyone's bytes
  failure,  // hub -> rank: key, why
  ping,     // hub -> rank, some times a second; answered with the same kind
  lost,     // hub -> rank: the lost ranks
  bye,      // rank -> hub: leaves as it should
  step,     // leader -> follower (harness/workload/peer): what to do next
  refused,  // hub -> rank, instead of welcome: why no rank is let in
};

/// Longer than any message between ranks [bytes].
inline constexpr std::uint64_t kLongestFrame = std::uint64_t{1} << 32;

struct Frame {
  Kind kind = Kind::ping;
  std::string bytes;
};

/// A connection that frames go over. Reads as much as there is; writes all, or fails.
class Connection {
 public:
  Connection() = default;
  /// A frame of more than `longest` bytes is none of ours.
  explicit Connection(system::UniqueFd socket, std::uint64_t longest = kLongestFrame);

  int fd() const { return socket_.get(); }
  /// From now on frames of that many bytes are taken.
  void take_up_to(std::uint64_t longest) { longest_ = longest; }
  /// False: it is closed, or broken.
  bool read_some();
  /// The next whole frame among the read bytes. Closes the connection when it is none of ours.
  std::optional<Frame> next();
  /// False: it is broken, or does not take the bytes within `timeout_s`.
  bool write(Kind kind, std::string_view bytes, double timeout_s);
  void close() { socket_ = system::UniqueFd(); }

 private:
  system::UniqueFd socket_;
  std::uint64_t longest_ = 0;
  std::string input_;
  std::size_t used_ = 0;
};

}  // namespace headrace::ranks
