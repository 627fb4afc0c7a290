// Queue pairs of datagrams (UD): a message is one packet to the named receiver, and is not acknowledged.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "harness/backends/verbs/endpoint.h"

namespace headrace::verbs {

class Datagrams final : public Endpoint {
 public:
  Datagrams(const Device& device, const RdmaPort& port, const RdmaSettings& settings);
  ~Datagrams() override { queues_.clear(); }  // before the memory that their receives write to
  void connect(const RdmaAddress& other, unsigned first, unsigned others_first, unsigned count) override;
  int post(unsigned queue, std::span<const RdmaWork> work) noexcept override;
  int receive(unsigned queue, void* to, std::uint32_t length, std::uint32_t local_key,
              std::uint32_t id) noexcept override;
  int poll_received(std::span<RdmaCompletion> done) noexcept override;

 private:
  static constexpr std::uint32_t kHeader = 40;  // a global route header lies before each message that comes

  struct Target {
    std::shared_ptr<ibv_ah> way;  // of all queue pairs of one other end
    std::uint32_t number = 0;
  };
  std::vector<Target> targets_;  // by queue pair
  alignas(64) unsigned char header_[64]{};
  Held<ibv_mr> header_region_;
};

}  // namespace headrace::verbs
