// The queue pairs between this end and one other: messages in flight, or one to and fro. The timed part of rdma_write,
// rdma_read and rdma_send.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "harness/backends/rdma.h"
#include "harness/base/error.h"
#include "harness/machine/network/rdma_wire.h"
#include "harness/record/ranks/ranks.h"
#include "harness/record/recorder.h"
#include "workloads/network/link_error.h"
#include "workloads/network/rdma_area.h"
#include "workloads/network/rdma_lane.h"
#include "workloads/network/rdma_traffic.h"
#include "workloads/network/stall_watch.h"

namespace headrace::network {

/// Several links share an endpoint and its memory, and only one of them is in use at a time. All live as long as the
/// link, which belongs to one thread at a time.
class RdmaLink {
 public:
  /// To rank `partner`, by `traffic.queue_pairs` queue pairs of `endpoint` from `first_queue` on. `patience_s`: the
  /// partner is given up when nothing came from it for this time.
  RdmaLink(const RdmaTraffic& traffic, const Ranks& ranks, RdmaEndpoint& endpoint, RdmaArea& area, unsigned partner,
           unsigned first_queue, bool inlined, double patience_s);

  unsigned partner() const noexcept { return partner_; }

  /// `other`: the partner's end, whose queue pairs from `others_first` on lead here. Throws RunError, LinkError.
  void connect(const RdmaCard& other, unsigned others_first);

  /// Untimed, before the partner may send anything. `leads`: this end begins.
  void make_ready(bool leads);

  /// Timed. Throws LinkError: nothing gets through, or comes from the partner; RunError: the device failed, or a rank is
  /// gone.
  void move(Recorder& recorder);
  const RdmaMoved& moved() const noexcept { return moved_; }

  /// Untimed: is what came here what an area filled with `others_key` sent? `others`: what the partner moved.
  void check(const RdmaMoved& others, std::uint64_t others_key, std::vector<WrongBlock>& wrong);

  /// Untimed, when nothing got through: the link is not used again. Other links of the endpoint continue.
  void give_up();

 private:
  void check_post(int code) const {
    if (code != 0) throw system_error("post to", ranks_.who(partner_), code);
  }
  void check_done(const RdmaCompletion& done) const {
    if (done.status != 0) failed(done.status);
  }
  [[noreturn]] void failed(int status) const;
  [[noreturn]] void receive_failed(int status);
  int check_poll(int count) const {
    if (count < 0) throw system_error("poll", "a completion queue", -count);
    return count;
  }

  bool is_own(const RdmaCompletion& done) const noexcept { return done.queue - first_queue_ < traffic_.queue_pairs; }

  void post_receive(unsigned q) {
    RdmaLane& lane = lanes_[q];
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
    if (traffic_.counts_arrivals()) work.immediate = arrivals_.tag.of(slot);
    if (traffic_.reads()) {
      work.local = area_.sink(slot);
      work.remote = area_.source_at(others_memory_, slot);
    } else {
      work.local = area_.source(slot);
      work.remote = area_.sink_at(others_memory_, slot);
    }
    return work;
  }

  // Messages in flight.
  void stream(Recorder& recorder);
  void post(unsigned q, unsigned count, bool last);
  unsigned reap(Recorder& recorder);
  unsigned take_received();
  bool all_ended() const noexcept;
  bool words_left() const noexcept;
  bool drained(unsigned q);

  // Datagrams.
  void take_datagram(unsigned q, const RdmaCompletion& done);
  void put_back(const RdmaCompletion& done);
  void say(unsigned q, RdmaTag::Word word);
  bool reported_end(unsigned q);

  // One message at a time.
  void ping(Recorder& recorder);
  void pong();
  void to_and_fro(std::uint64_t number, StallWatch& watch);
  void send_marked(unsigned char mark, StallWatch& watch);
  unsigned char wait_for(std::uint64_t number, StallWatch& watch);
  void wait(StallWatch& watch);
  void collect_now();
  void collect_some(StallWatch& watch);
  void collect(StallWatch& watch);

  const RdmaTraffic& traffic_;
  const Ranks& ranks_;
  RdmaEndpoint& endpoint_;
  RdmaArea& area_;
  const unsigned partner_, first_queue_;
  const double patience_s_;
  const std::uint64_t slots_each_;
  std::uint64_t others_memory_ = 0, waits_ = 0;
  RdmaWork sample_;
  std::vector<RdmaLane> lanes_;
  RdmaArrivals arrivals_;  // of a stream of datagrams
  bool leads_ = false, receives_ = false;
  std::uint64_t last_ns_ = 0;  // the last completion
  RdmaMoved moved_;
};

}  // namespace headrace::network
