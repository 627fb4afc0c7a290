// Memory that an RDMA device reaches, with sent and received data. It is the host's, in huge pages and near the device,
// or a GPU's.
#pragma once

#include <unistd.h>

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "harness/backends/buffers.h"
#include "harness/backends/gpu.h"
#include "harness/backends/rdma.h"
#include "harness/base/error.h"
#include "harness/machine/numa.h"
#include "workloads/pattern.h"

namespace headrace::network {

/// `count` slots of `size` bytes to send from, and as many to receive into. Slots begin on cache lines.
class RdmaArea {
 public:
  /// In host memory; with `gpu`, in its memory. Throws RunError.
  RdmaArea(std::uint32_t count, std::uint64_t size, bool huge_pages, const NumaNode* node, Gpu* gpu,
           unsigned gpu_index = 0)
      : count_(count),
        size_(size),
        stride_(round_up(size, 64)),
        half_(round_up(stride_ * count, kPage)),
        gpu_(gpu),
        gpu_index_(gpu_index) {
    if (gpu_) {
      device_ = gpu_->allocate(round_up(2 * half_, kHugePage));  // whole pages of the GPU's: dma-buf wants them
      copies_ = gpu_->stream();
      begin_ = device_->begin();
      staged_.resize(half_);
      return;
    }
    const OnNumaNode there(node);
    memory_ = std::make_unique<Buffers>(1, 2 * half_, huge_pages);
    refused_ = there.refused();
    begin_ = memory_->begin();
    std::memset(begin_, 0, 2 * half_);
    node_ = numa_node_of(begin_ + half_);
  }

  /// A GPU's memory by dma-buf, else as if it were the host's, which nvidia-peermem makes true.
  void enroll(RdmaEndpoint& endpoint) {
    if (const int fd = gpu_ ? gpu_->dma_buf(*device_) : -1; fd >= 0) {
      how_ = "by dma-buf";
      try {
        enrolled_ = endpoint.enroll_dma_buf(fd, 0, 2 * half_, address());
      } catch (const RunError&) {
        how_.clear();
      }
      ::close(fd);
      if (enrolled_) return;
    }
    try {
      enrolled_ = endpoint.enroll({begin_, 2 * half_});
      if (gpu_) how_ = "by nvidia-peermem";
    } catch (const RunError& e) {
      if (!gpu_) throw;
      throw Unsupported(
          std::string("the network card does not reach the GPU's memory: ") + e.what() +
          "; dma-buf needs Linux 5.12, the open kernel driver and a GPU that has it, else load nvidia-peermem "
          "(modprobe nvidia-peermem)");
    }
  }

  std::uint32_t count() const noexcept { return count_; }
  std::uint64_t length() const noexcept { return 2 * half_; }
  std::uint64_t address() const noexcept { return reinterpret_cast<std::uint64_t>(begin_); }
  unsigned char* source(std::uint64_t slot) const noexcept { return begin_ + slot * stride_; }
  unsigned char* sink(std::uint64_t slot) const noexcept { return source(slot) + half_; }
  /// The same places of an area of the same shape that begins at `address`.
  std::uint64_t source_at(std::uint64_t address, std::uint64_t slot) const noexcept { return address + slot * stride_; }
  std::uint64_t sink_at(std::uint64_t address, std::uint64_t slot) const noexcept {
    return address + half_ + slot * stride_;
  }
  std::uint32_t local_key() const noexcept { return enrolled_->local_key(); }
  std::uint32_t remote_key() const noexcept { return enrolled_->remote_key(); }

  /// Each slot's data has the slot and `key`; the receive slots are zeroed.
  void fill(std::uint64_t key) {
    unsigned char* to = gpu_ ? staged_.data() : begin_;
    for (std::uint32_t s = 0; s < count_; ++s) fill_pattern(to + s * stride_, size_, key + s);
    if (!gpu_) {
      std::memset(begin_ + half_, 0, half_);
      return;
    }
    copy(begin_, to, CopyKind::h2d);
    std::fill(staged_.begin(), staged_.end(), static_cast<unsigned char>(0));
    copy(begin_ + half_, staged_.data(), CopyKind::h2d);
  }
  /// Makes received data readable for check(): a GPU's is fetched.
  void fetch() {
    if (gpu_) copy(staged_.data(), begin_ + half_, CopyKind::d2h);
  }
  /// Does slot `slot`, up to `bytes`, hold what an area filled with `key` sent? The first wrong place goes to `wrong`.
  void check(std::uint32_t slot, std::uint64_t bytes, std::uint64_t key, std::vector<WrongBlock>& wrong) const {
    const unsigned char* data = gpu_ ? staged_.data() + slot * stride_ : sink(slot);
    check_pattern(data, bytes, key + slot, "message buffer " + std::to_string(slot), wrong);
  }

  /// "on NUMA node 1, in huge pages"; "in the memory of gpu3 (NVIDIA H100), reached by dma-buf".
  std::string placement() const {
    if (gpu_)
      return "in the memory of gpu" + std::to_string(gpu_index_) + " (" + gpu_->facts().name + "), reached " + how_;
    return (node_ >= 0 ? "on NUMA node " + std::to_string(node_) : std::string("on an unknown NUMA node")) +
           (memory_->pages() == Buffers::Pages::ordinary ? ", in ordinary pages" : ", in huge pages");
  }
  const std::string& refused() const { return refused_; }

 private:
  void copy(void* to, const void* from, CopyKind kind) {
    copies_->attach();
    copies_->copy(to, from, half_, kind);
    copies_->wait();
  }

  std::uint32_t count_;
  std::uint64_t size_, stride_, half_;
  Gpu* gpu_;
  unsigned gpu_index_;
  std::unique_ptr<Buffers> memory_;
  std::unique_ptr<GpuMemory> device_;
  std::unique_ptr<GpuStream> copies_;
  std::vector<unsigned char> staged_;     // one half, for a GPU's
  std::unique_ptr<RdmaMemory> enrolled_;  // goes before the memory
  unsigned char* begin_ = nullptr;
  int node_ = -1;
  std::string refused_, how_;
};

}  // namespace headrace::network
