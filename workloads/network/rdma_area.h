// Memory that an RDMA device reaches: the host's, in huge pages and near the device, with what is sent and what comes.
#pragma once

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "harness/backends/buffers.h"
#include "harness/backends/rdma.h"
#include "harness/numa.h"
#include "workloads/pattern.h"

namespace headrace::network {

/// `count` slots of `size` bytes to send from, and as many to receive into. Slots begin on cache lines.
class RdmaArea {
 public:
  RdmaArea(std::uint32_t count, std::uint64_t size, bool huge_pages, const NumaNode* node)
      : count_(count), size_(size), stride_(round_up(size, 64)), half_(round_up(stride_ * count, kPage)) {
    const OnNumaNode there(node);
    memory_ = std::make_unique<Buffers>(1, 2 * half_, huge_pages);
    refused_ = there.refused();
    std::memset(memory_->begin(), 0, 2 * half_);
    node_ = numa_node_of(memory_->begin() + half_);
  }

  void enroll(RdmaEndpoint& endpoint) { enrolled_ = endpoint.enroll({memory_->begin(), 2 * half_}); }

  std::uint32_t count() const noexcept { return count_; }
  std::uint64_t length() const noexcept { return 2 * half_; }
  std::uint64_t address() const noexcept { return reinterpret_cast<std::uint64_t>(memory_->begin()); }
  unsigned char* source(std::uint64_t slot) const noexcept { return memory_->begin() + slot * stride_; }
  unsigned char* sink(std::uint64_t slot) const noexcept { return source(slot) + half_; }
  /// The same places of an area of the same shape that begins at `address`.
  std::uint64_t source_at(std::uint64_t address, std::uint64_t slot) const noexcept { return address + slot * stride_; }
  std::uint64_t sink_at(std::uint64_t address, std::uint64_t slot) const noexcept {
    return address + half_ + slot * stride_;
  }
  std::uint32_t local_key() const noexcept { return enrolled_->local_key(); }
  std::uint32_t remote_key() const noexcept { return enrolled_->remote_key(); }

  /// Each slot's data tells the slot and `key`.
  void fill(std::uint64_t key) noexcept {
    for (std::uint32_t s = 0; s < count_; ++s) fill_pattern(source(s), size_, key + s);
    std::memset(memory_->begin() + half_, 0, half_);
  }
  /// Does slot `slot`, up to `bytes`, hold what an area filled with `key` sent? The first wrong place goes to `wrong`.
  void check(std::uint32_t slot, std::uint64_t bytes, std::uint64_t key, std::vector<WrongBlock>& wrong) const {
    check_pattern(sink(slot), bytes, key + slot, "message buffer " + std::to_string(slot), wrong);
  }

  /// "on NUMA node 1, in huge pages".
  std::string placement() const {
    return (node_ >= 0 ? "on NUMA node " + std::to_string(node_) : std::string("on a NUMA node that is not told")) +
           (memory_->pages() == Buffers::Pages::ordinary ? ", in ordinary pages" : ", in huge pages");
  }
  const std::string& refused() const { return refused_; }

 private:
  std::uint32_t count_;
  std::uint64_t size_, stride_, half_;
  std::unique_ptr<Buffers> memory_;
  std::unique_ptr<RdmaMemory> enrolled_;  // goes before the memory
  int node_ = -1;
  std::string refused_;
};

}  // namespace headrace::network
