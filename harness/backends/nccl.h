// Collective operations of GPUs, as workloads see them. This process's GPUs are members of one group, with operations
// queued on all of them, and a wait that ends. No vendor's header is here; harness/backends/nccl implements it.
// Header-only, so that plugins can use it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "harness/backends/expected_sums.h"
#include "harness/backends/gpu.h"

namespace headrace {

/// A GPU of this process in a group.
struct NcclMember {
  unsigned rank = 0;  // in the group
  unsigned gpu = 0;   // as GpuBackend counts them
};

/// What one member brings to an operation, and where it goes; both in its GPU's memory. The same: in place.
struct NcclBuffers {
  const void* in = nullptr;
  void* out = nullptr;
};

/// What of a member is registered: whole allocations.
using NcclMemory = std::vector<std::span<unsigned char>>;
/// `windows`: all ranks' buffers as one symmetric memory, which kernels of their own use.
enum class NcclRegistration { none, buffers, windows };

/// Operations in a row.
struct NcclCalls {
  Collective what = Collective::all_reduce;
  NcclElement element = NcclElement::f32;
  NcclReduction reduction = NcclReduction::sum;
  /// Elements of one operation. The whole buffer of size() parts, for operations with parts. In place, all_gather sends
  /// and reduce_scatter leaves a member's own part of it. send_recv sends to the next rank and receives from the one
  /// before. Broadcast is from rank 0, scatter too. Reduce and gather are to it.
  std::uint64_t count = 0;
  /// For all_to_all_v, in elements: where the part for each rank begins in the sent elements, and the end. The same of
  /// all ranks.
  std::vector<std::uint64_t> parts{};
  std::uint64_t times = 1;
  std::uint64_t batch = 1;  // queued before they are waited for
  double patience_s = 30;   // for a batch to end
  bool graph = false;       // a batch is recorded once, untimed, and launched as one CUDA graph each time
  bool meet = false;        // before the first, all ranks of the group wait for each other by an operation of their own
};

/// When a start()'s operations were done.
struct NcclTimes {
  std::uint64_t begin_ns = 0;               // when the ranks had met
  std::vector<std::uint64_t> batch_end_ns;  // of each batch
};

/// The members that this process has of one group (a communicator each). Belongs to one thread at a time. What fails
/// throws RunError and gives the group up: every later call throws. A member elsewhere that died is reported by the library,
/// or never: so every wait has a deadline.
class NcclGroup {
 public:
  virtual ~NcclGroup() = default;
  virtual unsigned size() const = 0;  // ranks of all processes
  /// Begins operations on every member, and returns; `buffers` in the order of the members.
  virtual void start(const NcclCalls& calls, std::span<const NcclBuffers> buffers) = 0;
  /// Untimed, once, by all ranks: the library learns the buffers in the order of the members. It then moves them
  /// without its own copies where it can. They must outlive the group. False: it took none of some member's.
  virtual bool register_buffers(std::span<const NcclMemory> buffers, NcclRegistration how) = 0;
  /// Until all of them are done on every member.
  virtual NcclTimes wait() = 0;
  /// How many of them are, reported at any time.
  virtual std::uint64_t done() const = 0;
  /// Ends whatever hangs, without waiting for others. Every process of the group must do so.
  virtual void abort() noexcept = 0;
  /// How the library is called: "blocking, ...".
  virtual std::string mode() const { return ""; }
};

class NcclBackend {
 public:
  virtual ~NcclBackend() = default;
  /// Why it cannot be used ("libnccl.so.2 not found ..."), or nothing.
  virtual std::optional<std::string> unusable() const = 0;
  /// The version of the loaded library: "2.28.9".
  virtual std::string version() const = 0;
  /// Why the library that is loaded cannot calculate with such numbers, or "".
  virtual std::string why_not(NcclElement) const { return ""; }
  /// Why the library that is loaded registers no buffers in this way, or "".
  virtual std::string why_not(NcclRegistration) const { return ""; }
  /// Why the library that is loaded has no memory of its own kind (ncclMemAlloc), or "".
  virtual std::string why_no_memory() const { return ""; }
  /// Memory of this kind, on a GPU as GpuBackend counts them. Throws RunError.
  virtual std::unique_ptr<GpuMemory> allocate(unsigned gpu, std::uint64_t bytes) = 0;
  /// Names a new group: made by one process, handed to all by other means.
  virtual std::string make_id() = 0;
  /// Has NCCL write down what it decides: before join(), until heard(), which must come before anything is timed.
  virtual void listen() {}
  /// What it wrote, by lines as harness/backends/nccl_log.h reads them.
  virtual std::string heard() { return ""; }
  /// Why it writes nothing down, or "".
  virtual std::string why_deaf() const { return ""; }
  /// NCCL_* variables in force, "NAME=VALUE", sorted; without those that listen() needs.
  virtual std::vector<std::string> settings() const { return {}; }
  /// Joins `members` to the group of `size` ranks; the other processes join theirs at the same time. Throws RunError when
  /// they are not all there within `timeout_s`.
  virtual std::unique_ptr<NcclGroup> join(const std::string& id, unsigned size, std::span<const NcclMember> members,
                                          double timeout_s) = 0;
};

}  // namespace headrace
