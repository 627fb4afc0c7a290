// The state of one queue pair's messages while they move, and the total that one end moved.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace headrace::network {

/// The messages that one end moved, and the time. Sent to the other end as in memory.
struct RdmaMoved {
  std::uint64_t messages = 0, elapsed_ns = 0;
  std::uint64_t least = 0;                       // messages of the queue pair that moved the fewest
  std::uint64_t arrived = 0, arrived_in_ns = 0;  // of a stream of datagrams: that came here, from the first to the last

  double per_s() const noexcept { return rate(messages, elapsed_ns); }
  double arrived_per_s() const noexcept { return arrived > 1 ? rate(arrived - 1, arrived_in_ns) : 0; }

 private:
  static double rate(std::uint64_t count, std::uint64_t ns) noexcept {
    return ns > 0 ? static_cast<double>(count) * 1e9 / static_cast<double>(ns) : 0;
  }
};

/// One queue pair's messages. In order: received <= receives posted; acknowledged <= posted.
struct RdmaLane {
  /// `moments`: messages in flight that have completions.
  explicit RdmaLane(unsigned moments) : posted_at(moments) {}
  /// Receives stay posted from one time to the next, so both ends continue with the next slot.
  void restart(bool goes_on) {
    posted = acknowledged = since_signal = signals = reaped = 0;
    ended = stopped = answered = false;
    first_stop_ns = next_stop_ns = 0;
    if (!goes_on) next = 0;
    first = goes_on ? received : 0;
  }
  std::uint64_t posted = 0, acknowledged = 0;
  std::uint64_t next = 0;  // number of the next message: gives its slot
  std::uint64_t since_signal = 0, signals = 0, reaped = 0;
  std::uint64_t first = 0;  // received before this time
  std::uint64_t receives = 0, received = 0;
  bool stopped = false;                  // the word that ends the stream is posted
  bool ended = false;                    // the partner's has come
  std::vector<std::uint64_t> posted_at;  // of messages with completions, in turn [ns]

  // For datagrams, whose words may be lost.
  unsigned words = 0;     // without a completion yet
  bool answered = false;  // the partner knows that the stream has ended
  std::uint64_t first_stop_ns = 0, next_stop_ns = 0;
};

/// The data of a datagram's immediate value: the turn it is of, and the slot it was sent from. Without a payload, its
/// word.
struct RdmaTag {
  static constexpr std::uint64_t kMostSlots = 1u << 24;
  enum Word : std::uint32_t { stop = 0, heard = 1 };

  void next_turn() noexcept { turn_ += kMostSlots; }
  std::uint32_t of(std::uint32_t slot_or_word) const noexcept { return turn_ | slot_or_word; }
  bool is_of_turn(std::uint32_t tag) const noexcept { return ((tag ^ turn_) >> 24) == 0; }
  static std::uint32_t slot_or_word(std::uint32_t tag) noexcept { return tag & (kMostSlots - 1); }

 private:
  std::uint32_t turn_ = 0;
};

/// The arrivals of a stream of datagrams.
class RdmaArrivals {
 public:
  /// `slots`: that they come to; 0 = it is no such stream.
  explicit RdmaArrivals(std::uint64_t slots) : from_(slots, kNothing) {}

  RdmaTag tag;

  void restart() noexcept {
    tag.next_turn();
    std::fill(from_.begin(), from_.end(), kNothing);
  }
  void nothing(std::uint64_t slot) noexcept { from_[slot] = kNothing; }
  void came(std::uint64_t slot, std::uint32_t from, std::uint64_t now, RdmaMoved& moved) noexcept {
    from_[slot] = from;
    if (moved.arrived++ == 0) first_ns_ = now;
    moved.arrived_in_ns = now - first_ns_;
  }
  /// The slot here and the partner's, of each message here.
  std::vector<std::pair<std::uint32_t, std::uint32_t>> all() const {
    std::vector<std::pair<std::uint32_t, std::uint32_t>> pairs;
    for (std::uint32_t slot = 0; slot < from_.size(); ++slot)
      if (from_[slot] != kNothing) pairs.emplace_back(slot, from_[slot]);
    return pairs;
  }

 private:
  static constexpr std::uint32_t kNothing = UINT32_MAX;
  std::vector<std::uint32_t> from_;  // the partner's slot, by the slot here
  std::uint64_t first_ns_ = 0;
};

}  // namespace headrace::network
