// This process's communicators of one group, and the calls that are made of them.
#pragma once

#include <cuda_runtime_api.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "harness/backends/nccl.h"
#include "harness/backends/nccl/api.h"
#include "harness/backends/nccl/group.h"

namespace headrace::nccl {

/// Everything that a group's thread touches; outlives the group where one of its calls hangs. What fails throws RunError.
class Members {
 public:
  Members(const Api& api, unsigned size, std::span<const NcclMember> members, Complaints complaints);

  // On the group's thread.

  /// Communicators, streams, and a word of memory each. Where none waits for them any more, they are ended at once.
  void join(const ncclUniqueId& id);
  void run(const NcclCalls& calls, const std::vector<NcclBuffers>& buffers);
  void register_buffers(const std::vector<NcclMemory>& buffers, NcclRegistration how);
  /// Gives everything back, all being well.
  void leave();
  /// Ends the communicators. Streams and memory stay: an operation may hang in them for ever.
  void abort() noexcept;

  // From any thread.

  /// What runs ends soon, unless it hangs in a call.
  void give_up() noexcept { given_up_ = true; }
  bool given_up() const noexcept { return given_up_; }
  bool joined() const noexcept { return joined_; }
  /// Has a call come back before it was done?
  bool in_progress() const noexcept { return in_progress_; }
  /// Has the library a handle for each buffer that it was given?
  bool took_all() const;
  std::uint64_t done() const noexcept { return done_.load(std::memory_order_relaxed); }
  unsigned size() const noexcept { return size_; }
  /// "rank 0 (gpu0)", "ranks 0 to 7 (gpu0 to gpu7)".
  std::string names() const;
  [[noreturn]] void fail(const std::string& who, const char* what, const std::string& why);

  // Between two runs.

  void make_room(const NcclCalls& calls);
  NcclTimes times() { return std::move(times_); }

 private:
  /// One GPU's communicator and the stream that its operations are queued on.
  struct Member {
    NcclMember who{};
    ncclComm_t comm = nullptr;
    cudaStream_t stream = nullptr;
    float* word = nullptr;            // in the GPU's memory: what the ranks wait for each other with
    std::vector<void*> registered{};  // handles of its buffers; none with NCCL_LOCAL_REGISTER=0
    NcclRegistration how = NcclRegistration::none;
    std::string name() const;
  };

  void use(const Member& m);
  void prepare(Member& m);
  template <class Calls>
  void together(const char* what, Calls calls);
  /// One operation on every member.
  void queue(const NcclCalls& calls, const std::vector<NcclBuffers>& buffers);
  /// `times` operations on every member as a graph each, which is launched by launch().
  class Graphs;
  void queue_one(Member& m, const NcclCalls& calls, const NcclBuffers& b);
  /// Until the GPUs have done everything that was queued.
  void drain();
  void settle(const char* what);
  bool check(Member& m, const char* what);
  void go_on() const;
  void expect(ncclResult_t code, const char* what);
  void expect(const Member& m, cudaError_t code, const char* what);
  std::string words(ncclResult_t code, ncclComm_t comm) const;
  std::string complained() const;

  const Api api_;
  const Complaints complaints_;
  const unsigned size_;
  std::vector<Member> all_;
  NcclTimes times_;
  bool adds_bytes_ = false;  // numbers of 8 bits are calculated with: not by every GPU
  std::atomic<std::uint64_t> done_{0};
  std::atomic<bool> given_up_{false}, aborted_{false}, joined_{false}, in_progress_{false};
};

}  // namespace headrace::nccl
