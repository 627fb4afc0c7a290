// The queue pairs between this end and one other: messages in flight, or one to and fro. The timed part of rdma_write,
// rdma_read and rdma_send.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "harness/backends/ranks.h"
#include "harness/backends/rdma.h"
#include "harness/base/clock.h"
#include "harness/network/rdma_wire.h"
#include "harness/record/recorder.h"
#include "workloads/network/rdma_area.h"
#include "workloads/network/rdma_traffic.h"
#include "workloads/network/stall_watch.h"

namespace headrace::network {

/// What one end moved, and in which time. Told to the other end as it lies in memory.
struct RdmaMoved {
  std::uint64_t messages = 0, elapsed_ns = 0;
  std::uint64_t least = 0;  // messages of the queue pair that moved the fewest

  double per_s() const noexcept {
    return elapsed_ns > 0 ? static_cast<double>(messages) * 1e9 / static_cast<double>(elapsed_ns) : 0;
  }
};

/// Several links share an endpoint and its memory, and only one of them is in use at a time. All live as long as the
/// link, which belongs to one thread at a time.
class RdmaLink {
 public:
  /// To rank `partner`, by `traffic.queue_pairs` queue pairs of `endpoint` from `first_queue` on. `patience_s`: the
  /// partner is given up when nothing came from it for so long.
  RdmaLink(const RdmaTraffic& traffic, const Ranks& ranks, RdmaEndpoint& endpoint, RdmaArea& area, unsigned partner,
           unsigned first_queue, bool inlined, double patience_s)
      : traffic_(traffic),
        ranks_(ranks),
        endpoint_(endpoint),
        area_(area),
        partner_(partner),
        first_queue_(first_queue),
        patience_s_(patience_s),
        slots_each_(traffic.slots_per_queue_pair()),
        lanes_(traffic.queue_pairs, Lane(traffic.tx_depth / traffic.moderation + 4)) {
    sample_ = {
        .op = traffic.op, .signaled = false, .inlined = inlined, .length = static_cast<std::uint32_t>(traffic.size)};
  }

  unsigned partner() const noexcept { return partner_; }

  /// `other`: the partner's end, whose queue pairs from `others_first` on lead here. Throws RunError.
  void connect(const RdmaCard& other, unsigned others_first) {
    if (other.length != area_.length()) throw RunError("the two ends' buffers differ: is `buffer` the same on both?");
    endpoint_.connect(other.address, first_queue_, others_first, traffic_.queue_pairs);
    others_memory_ = other.memory;
    sample_.local_key = area_.local_key();
    sample_.remote_key = other.key;
  }

  /// Untimed, before the partner may send anything. `leads`: this end begins.
  void make_ready(bool leads) {
    leads_ = leads;
    moved_ = {};
    for (Lane& lane : lanes_) lane.restart(traffic_.sends());
    if (traffic_.latency && !traffic_.reads()) area_.sink(0)[traffic_.size - 1] = 0;
    receives_ = !traffic_.latency && traffic_.sends() && (traffic_.both() || !leads);
    const bool posts = traffic_.sends() && (traffic_.latency || receives_);
    for (unsigned q = 0; posts && q < traffic_.queue_pairs; ++q)
      while (lanes_[q].receives - lanes_[q].received < traffic_.rx_depth) post_receive(q);
  }

  /// Timed. Throws RunError: the device failed, or nothing came from the partner, or a rank is gone.
  void move(Recorder& recorder) {
    if (!traffic_.latency)
      stream(recorder);
    else if (leads_)
      ping(recorder);
    else
      pong();
    moved_.least = lanes_.front().acknowledged;
    for (const Lane& lane : lanes_) moved_.least = std::min(moved_.least, lane.acknowledged);
  }
  const RdmaMoved& moved() const noexcept { return moved_; }

  /// Untimed: is what came here what an area filled with `others_key` sent? `others`: what the partner moved.
  void check(const RdmaMoved& others, std::uint64_t others_key, std::vector<WrongBlock>& wrong) {
    area_.fetch();
    if (traffic_.latency) {
      if (traffic_.size > 1 && (!traffic_.reads() || leads_)) area_.check(0, traffic_.size - 1, others_key, wrong);
      return;
    }
    const std::uint64_t came = traffic_.reads() ? moved_.least : others.least;
    for (unsigned q = 0; q < traffic_.queue_pairs; ++q)
      for (std::uint64_t n = 0; n < std::min(came, slots_each_) && wrong.empty(); ++n)
        area_.check(slot_of(q, lanes_[q].first + n), traffic_.size, others_key, wrong);
  }

 private:
  static constexpr unsigned char kStop = 255;  // the marker of the last ping

  /// One queue pair's messages. In order: received <= receives posted; acknowledged <= posted.
  struct Lane {
    explicit Lane(unsigned moments) : posted_at(moments) {}
    /// Receives stay posted from one time to the next, so both ends go on with the slot that is next.
    void restart(bool goes_on) {
      posted = acknowledged = since_signal = signals = reaped = 0;
      ended = stopped = false;
      if (!goes_on) next = 0;
      first = goes_on ? received : 0;
    }
    std::uint64_t posted = 0, acknowledged = 0;
    std::uint64_t next = 0;  // number of the next message: says its slot
    std::uint64_t since_signal = 0, signals = 0, reaped = 0;
    std::uint64_t first = 0;  // received before this time
    std::uint64_t receives = 0, received = 0;
    bool stopped = false;                  // the word that ends the stream is posted
    bool ended = false;                    // the partner's has come
    std::vector<std::uint64_t> posted_at;  // of messages with completions, in turn [ns]
  };

  // ---- The timed region: nothing below allocates, unless it throws.

  void check_post(int code) const {
    if (code != 0) throw system_error("post to", ranks_.who(partner_), code);
  }
  void check_done(const RdmaCompletion& done) const {
    if (done.status != 0) throw RunError("to " + ranks_.who(partner_) + ": " + endpoint_.why(done.status));
  }
  int check_poll(int count) const {
    if (count < 0) throw system_error("poll", "a completion queue", -count);
    return count;
  }

  void post_receive(unsigned q) {
    Lane& lane = lanes_[q];
    const std::uint32_t slot = slot_of(q, lane.receives);
    check_post(endpoint_.receive(first_queue_ + q, area_.sink(slot), static_cast<std::uint32_t>(traffic_.size),
                                 area_.local_key(), slot));
    ++lane.receives;
  }

  std::uint32_t slot_of(unsigned q, std::uint64_t number) const noexcept {
    return static_cast<std::uint32_t>(q * slots_each_ + number % slots_each_);
  }
  RdmaWork message(unsigned q, std::uint64_t number) const noexcept {
    const std::uint32_t slot = slot_of(q, number);
    RdmaWork work = sample_;
    if (traffic_.reads()) {
      work.local = area_.sink(slot);
      work.remote = area_.source_at(others_memory_, slot);
    } else {
      work.local = area_.source(slot);
      work.remote = area_.sink_at(others_memory_, slot);
    }
    return work;
  }

  /// So many more on queue pair `q`; `last`: the last of them has a completion whatever its turn.
  void post(unsigned q, unsigned count, bool last) {
    Lane& lane = lanes_[q];
    RdmaWork list[RdmaEndpoint::kMostPosted];
    for (unsigned i = 0; i < count; ++i) {
      list[i] = message(q, lane.next++);
      ++lane.posted;
      if (++lane.since_signal < traffic_.moderation && !(last && i + 1 == count)) continue;
      list[i].signaled = true;
      list[i].id = lane.since_signal;
      lane.posted_at[lane.signals++ % lane.posted_at.size()] = now_ns();
      lane.since_signal = 0;
    }
    check_post(endpoint_.post(first_queue_ + q, {list, count}));
  }

  /// Messages that are done, as completions tell.
  unsigned reap(Recorder& recorder) {
    std::array<RdmaCompletion, 16> done;
    const int count = check_poll(endpoint_.poll(done));
    if (count == 0) return 0;
    const std::uint64_t now = now_ns();
    for (int i = 0; i < count; ++i) {
      const RdmaCompletion& c = done[static_cast<unsigned>(i)];
      check_done(c);
      if (c.id == 0) continue;  // the word that ended a stream
      Lane& lane = lanes_[c.queue - first_queue_];
      const std::uint64_t begin = lane.posted_at[lane.reaped++ % lane.posted_at.size()];
      lane.acknowledged += c.id;
      moved_.messages += c.id;
      last_ns_ = now;
      recorder.op(begin, now, c.id * traffic_.size);
    }
    return static_cast<unsigned>(count);
  }

  unsigned take_received() {
    std::array<RdmaCompletion, 32> done;
    const int count = check_poll(endpoint_.poll_received(done));
    for (int i = 0; i < count; ++i) {
      const RdmaCompletion& c = done[static_cast<unsigned>(i)];
      check_done(c);
      const unsigned q = c.queue - first_queue_;
      ++lanes_[q].received;
      if (c.length == 0)
        lanes_[q].ended = true;
      else if (c.length != traffic_.size)
        throw RunError("a message of " + std::to_string(c.length) + " bytes came, not of message_size");
      post_receive(q);
    }
    return static_cast<unsigned>(count);
  }

  void stream(Recorder& recorder) {
    const unsigned queue_pairs = traffic_.queue_pairs;
    const std::uint64_t begin = now_ns(), end = begin + static_cast<std::uint64_t>(traffic_.time_s * 1e9);
    last_ns_ = begin;
    StallWatch watch(ranks_, partner_, patience_s_);
    enum class Stage { sending, draining, over } stage = leads_ || traffic_.both() ? Stage::sending : Stage::over;
    while (stage != Stage::over || (receives_ && !all_ended())) {
      unsigned moved = receives_ ? take_received() : 0;
      if (stage == Stage::sending) {
        for (unsigned q = 0; q < queue_pairs; ++q)
          while (lanes_[q].posted - lanes_[q].acknowledged + traffic_.post_list <= traffic_.tx_depth)
            post(q, traffic_.post_list, false);
        if (const unsigned reaped = reap(recorder)) {
          moved += reaped;
          if (last_ns_ >= end || !recorder.running()) stage = Stage::draining;
        }
      } else if (stage == Stage::draining) {
        moved += reap(recorder);
        bool done = true;
        for (unsigned q = 0; q < queue_pairs; ++q) done = drained(q) && done;
        if (done) stage = Stage::over;
      }
      moved > 0 ? watch.moved() : watch.waited();
    }
    moved_.elapsed_ns = last_ns_ - begin;
  }

  bool all_ended() const noexcept {
    return std::all_of(lanes_.begin(), lanes_.end(), [](const Lane& lane) { return lane.ended; });
  }

  /// Everything of queue pair `q` has been acknowledged; what is without a completion gets one, and the partner of a
  /// stream of sends is told that it was the last.
  bool drained(unsigned q) {
    Lane& lane = lanes_[q];
    if (lane.since_signal > 0) {
      if (lane.posted - lane.acknowledged < traffic_.tx_depth) post(q, 1, true);
      return false;
    }
    if (lane.posted != lane.acknowledged) return false;
    if (traffic_.sends() && !lane.stopped) {
      const RdmaWork stop{.op = RdmaOp::send, .signaled = true, .local_key = area_.local_key(), .id = 0};
      check_post(endpoint_.post(first_queue_ + q, {&stop, 1}));
      ++lane.next;
      lane.stopped = true;
    }
    return true;
  }

  // ---- One message at a time.

  void ping(Recorder& recorder) {
    const std::uint64_t first = now_ns(), end = first + static_cast<std::uint64_t>(traffic_.time_s * 1e9);
    std::uint64_t begin = first, number = 0;
    StallWatch watch(ranks_, partner_, patience_s_);
    while (begin < end && (number == 0 || recorder.running())) {
      to_and_fro(number, watch);
      const std::uint64_t now = now_ns(), took = now - begin;
      // Half of the way to and fro; a read's data comes back by itself.
      recorder.op(traffic_.reads() ? begin : now - took / 2, now, traffic_.size);
      begin = now;
      ++number;
    }
    moved_.messages = number;
    moved_.elapsed_ns = begin - first;
    if (!traffic_.reads()) send_marked(kStop, watch);
    collect(watch);
  }

  void pong() {
    if (traffic_.reads()) return;  // its memory answers
    StallWatch watch(ranks_, partner_, patience_s_);
    for (std::uint64_t number = 0;; ++number) {
      if (wait_for(number, watch) == kStop) break;
      send_marked(marker(number), watch);
    }
    collect(watch);
  }

  static unsigned char marker(std::uint64_t number) noexcept { return static_cast<unsigned char>(1 + number % 100); }

  void to_and_fro(std::uint64_t number, StallWatch& watch) {
    send_marked(marker(number), watch);
    if (traffic_.reads()) {
      while (lanes_[0].acknowledged < lanes_[0].posted) collect_some(watch);
    } else {
      wait_for(number, watch);
    }
  }

  /// The last byte tells which message it is: the device writes it last.
  void send_marked(unsigned char mark, StallWatch& watch) {
    Lane& lane = lanes_[0];
    while (lane.posted - lane.acknowledged >= traffic_.tx_depth) collect_some(watch);
    RdmaWork work = message(0, 0);
    if (!traffic_.reads()) area_.source(0)[traffic_.size - 1] = mark;
    ++lane.posted;
    ++lane.since_signal;
    if (traffic_.reads() || mark == kStop ||
        lane.since_signal >= std::min(traffic_.moderation, traffic_.tx_depth / 2)) {
      work.signaled = true;
      work.id = lane.since_signal;
      lane.since_signal = 0;
    }
    check_post(endpoint_.post(first_queue_, {&work, 1}));
  }

  /// Until the next message is there; its mark.
  unsigned char wait_for(std::uint64_t number, StallWatch& watch) {
    Lane& lane = lanes_[0];
    const volatile unsigned char* last = area_.sink(0) + traffic_.size - 1;
    if (traffic_.sends()) {
      RdmaCompletion done;
      while (check_poll(endpoint_.poll_received({&done, 1})) == 0) wait(watch);
      check_done(done);
      ++lane.received;
      const unsigned char mark = *last;
      if (lane.receives - lane.received < traffic_.rx_depth) post_receive(0);
      watch.moved();
      return mark;
    }
    unsigned char mark;
    while ((mark = *last) != marker(number) && mark != kStop) wait(watch);
    watch.moved();
    return mark;
  }
  /// Nothing has come yet: looks for what failed, now and then.
  void wait(StallWatch& watch) {
    if (++waits_ % 1024 == 0) collect_now();
    watch.waited();
  }

  void collect_now() {
    std::array<RdmaCompletion, 8> done;
    const int count = check_poll(endpoint_.poll(done));
    for (int i = 0; i < count; ++i) {
      check_done(done[static_cast<unsigned>(i)]);
      lanes_[0].acknowledged += done[static_cast<unsigned>(i)].id;
    }
  }
  void collect_some(StallWatch& watch) {
    const std::uint64_t before = lanes_[0].acknowledged;
    collect_now();
    lanes_[0].acknowledged > before ? watch.moved() : watch.waited();
  }
  /// The rest: the last message had a completion.
  void collect(StallWatch& watch) {
    Lane& lane = lanes_[0];
    while (lane.acknowledged + lane.since_signal < lane.posted) collect_some(watch);
    lane.acknowledged = lane.posted;
  }

  const RdmaTraffic& traffic_;
  const Ranks& ranks_;
  RdmaEndpoint& endpoint_;
  RdmaArea& area_;
  const unsigned partner_, first_queue_;
  const double patience_s_;
  const std::uint64_t slots_each_;
  std::uint64_t others_memory_ = 0, waits_ = 0;
  RdmaWork sample_;
  std::vector<Lane> lanes_;
  bool leads_ = false, receives_ = false;
  std::uint64_t last_ns_ = 0;  // the last completion
  RdmaMoved moved_;
};

}  // namespace headrace::network
