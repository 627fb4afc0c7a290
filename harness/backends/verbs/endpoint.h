// Queue pairs of one port with common completion queues: the common part of those of connections and of datagrams.
#pragma once

#include <infiniband/verbs.h>

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "harness/backends/rdma.h"
#include "harness/backends/verbs/domain.h"
#include "harness/backends/verbs/ports.h"

namespace headrace::verbs {

/// An endpoint of the kind in `settings`. Throws RunError; Unsupported where this machine cannot make one.
std::unique_ptr<RdmaEndpoint> make_endpoint(const Device& device, const RdmaPort& port, const RdmaSettings& settings);

class Endpoint : public RdmaEndpoint {
 public:
  Endpoint(const Device& device, const RdmaPort& port, const RdmaSettings& settings);

  const RdmaAddress& address() const override { return address_; }
  unsigned mtu() const override { return mtu_; }
  void give_up(unsigned first, unsigned count) override;
  std::unique_ptr<RdmaMemory> enroll(std::span<unsigned char> memory) override;
  std::unique_ptr<RdmaMemory> enroll_dma_buf(int fd, std::uint64_t offset, std::uint64_t length,
                                             std::uint64_t address) override;
  int receive(unsigned queue, void* to, std::uint32_t length, std::uint32_t local_key,
              std::uint32_t id) noexcept override;
  int poll(std::span<RdmaCompletion> done) noexcept override { return poll(sent_.get(), done); }
  int poll_received(std::span<RdmaCompletion> done) noexcept override { return poll(received_.get(), done); }
  bool cut_off(int status) const override;
  std::string why(int status) const override;

 protected:
  /// All queue pairs, put in their first state with `attributes` and `mask` in addition to the common ones.
  void make_queue_pairs(ibv_qp_type type, unsigned receive_parts, const ibv_qp_attr& attributes, int mask);
  /// How many queue pairs a call of connect() is for. Settles mtu(). Throws RunError where the two ends do not fit.
  unsigned check_fits(const RdmaAddress& other, unsigned first, unsigned others_first, unsigned count);
  ibv_ah_attr route_to(const RdmaAddress& other) const;
  /// One whose other end is known, of a reliable transport: from now on it sends.
  void start_sending(ibv_qp* queue, const RdmaAddress& other, const std::string& what) const;
  void change(ibv_qp* queue, ibv_qp_attr& attributes, int mask, const std::string& what) const;

  /// The identity of a completion, successful or not: the caller's word, and its queue pair.
  static constexpr std::uint64_t tagged(unsigned queue, std::uint32_t id) noexcept {
    return std::uint64_t{queue} << 32 | id;
  }
  /// Posts each of `work`; `direct(request, w)` fills in where to.
  template <class Direct>
  int post_all(unsigned queue, std::span<const RdmaWork> work, const Direct& direct) noexcept {
    const std::size_t count = work.size();
    for (std::size_t i = 0; i < count; ++i) {
      const RdmaWork& w = work[i];
      ibv_send_wr& request = requests_[i];
      parts_[i] = {reinterpret_cast<std::uint64_t>(w.local), w.length, w.local_key};
      request.wr_id = tagged(queue, w.id);
      request.next = i + 1 < count ? &requests_[i + 1] : nullptr;
      request.sg_list = &parts_[i];
      request.num_sge = w.length > 0 ? 1 : 0;
      request.opcode = opcode(w.op);
      request.send_flags =
          (w.signaled ? unsigned{IBV_SEND_SIGNALED} : 0u) | (w.inlined ? unsigned{IBV_SEND_INLINE} : 0u);
      request.imm_data = w.immediate;
      direct(request, w);
    }
    ibv_send_wr* bad = nullptr;
    return ibv_post_send(queues_[queue].get(), requests_, &bad);
  }

  const RdmaPort port_;
  const RdmaSettings settings_;
  std::shared_ptr<Domain> domain_;
  Held<ibv_cq> sent_, received_;
  std::vector<Held<ibv_qp>> queues_;  // go before the completion queues
  RdmaAddress address_;
  unsigned mtu_ = 0;

 private:
  static constexpr ibv_wr_opcode opcode(RdmaOp op) {
    constexpr ibv_wr_opcode kCodes[] = {IBV_WR_RDMA_WRITE, IBV_WR_RDMA_WRITE_WITH_IMM, IBV_WR_RDMA_READ, IBV_WR_SEND,
                                        IBV_WR_SEND_WITH_IMM};
    return kCodes[static_cast<unsigned>(op)];
  }

  int access() const noexcept;
  Held<ibv_cq> completion_queue(std::uint64_t entries);
  void describe();
  int poll(ibv_cq* queue, std::span<RdmaCompletion> done) noexcept;

  ibv_send_wr requests_[kMostPosted]{};
  ibv_sge parts_[kMostPosted]{};
};

}  // namespace headrace::verbs
