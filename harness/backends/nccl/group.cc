#include "harness/backends/nccl/group.h"

#include <cuda_runtime_api.h>
#include <fmt/format.h>
#include <sched.h>

#include <utility>
#include <vector>

#include "harness/base/clock.h"
#include "harness/base/error.h"

namespace headrace::nccl {
namespace {

/// One GPU's communicator and the stream that its operations are queued on.
struct Member {
  NcclMember who;
  ncclComm_t comm = nullptr;
  cudaStream_t stream = nullptr;
};

class Group final : public NcclGroup {
 public:
  Group(const Api& api, const ncclUniqueId& id, unsigned size, std::span<const NcclMember> members, double timeout_s,
        Complaints complaints)
      : api_(api), complaints_(std::move(complaints)), size_(size) {
    for (const NcclMember& who : members) members_.push_back({who, nullptr, nullptr});
    try {
      start(id, timeout_s);
    } catch (...) {
      abort();
      throw;
    }
  }
  ~Group() override {
    if (!given_up_) {
      try {
        for (Member& m : members_) api_.finalize(m.comm);
        settle("finish", kFinish_s);
        for (Member& m : members_) api_.destroy(m.comm);
      } catch (const RunError&) {
        abort();
      }
    }
    if (!aborted_)
      for (Member& m : members_)
        if (m.stream) cudaStreamDestroy(m.stream);
  }

  unsigned size() const override { return size_; }

  void queue(Collective what, std::span<const NcclBuffers> buffers, std::uint64_t count) override {
    check_alive();
    together("group", [&] {
      for (std::size_t i = 0; i < members_.size(); ++i) queue_one(members_[i], what, buffers[i], count);
    });
    // A non-blocking communicator may still be at it: the first operation connects the ranks.
    settle("queue an operation", kQueue_s);
  }

  void wait(double timeout_s) override {
    check_alive();
    const std::uint64_t end = end_of(timeout_s);
    for (Member& m : members_) {
      for (unsigned polls = 1;; ++polls) {
        const cudaError_t state = cudaStreamQuery(m.stream);
        if (state == cudaSuccess) break;
        if (state != cudaErrorNotReady) fail(m, "operation", cudaGetErrorString(state));
        if (polls % kPolls != 0) continue;
        check(m, "operation");
        if (now_ns() > end) fail(m, "operation", fmt::format("did not end within {:g} s", timeout_s));
        ::sched_yield();
      }
      check(m, "operation");
    }
  }

  void abort() noexcept override {
    given_up_ = true;
    if (aborted_) return;
    aborted_ = true;  // streams stay: an operation may hang in them for ever
    for (Member& m : members_)
      if (m.comm) api_.abort(m.comm);
  }

 private:
  static constexpr double kQueue_s = 120, kFinish_s = 30;
  static constexpr unsigned kPolls = 64;

  static std::uint64_t end_of(double timeout_s) { return now_ns() + static_cast<std::uint64_t>(timeout_s * 1e9); }

  void start(const ncclUniqueId& id, double timeout_s) {
    for (Member& m : members_) {
      if (const cudaError_t code = cudaSetDevice(static_cast<int>(m.who.gpu)); code != cudaSuccess)
        fail(m, "use", cudaGetErrorString(code));
      if (const cudaError_t code = cudaStreamCreateWithFlags(&m.stream, cudaStreamNonBlocking); code != cudaSuccess)
        fail(m, "make a stream", cudaGetErrorString(code));
    }
    together("join", [&] {
      for (Member& m : members_) {
        ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
        config.blocking = 0;
        cudaSetDevice(static_cast<int>(m.who.gpu));
        expect(api_.init(&m.comm, static_cast<int>(size_), id, static_cast<int>(m.who.rank), &config), "join");
      }
    });
    settle("join", timeout_s);
  }

  /// `calls` as one of NCCL's groups, which is ended whatever they throw: NCCL counts per thread how many are open, and
  /// with one left open everything later would only be queued, an abort too.
  template <class Calls>
  void together(const char* what, Calls calls) {
    expect(api_.group_start(), what);
    try {
      calls();
    } catch (...) {
      api_.group_end();
      throw;
    }
    expect(api_.group_end(), what);
  }

  void queue_one(Member& m, Collective what, const NcclBuffers& b, std::uint64_t count) {
    const std::uint64_t part = count / size_;
    const auto at = [&](const void* base, std::uint64_t parts) {
      return static_cast<const float*>(base) + parts * part;
    };
    const auto to = [&](void* base, std::uint64_t parts) { return static_cast<float*>(base) + parts * part; };
    const bool in_place = b.in == b.out;
    const unsigned rank = m.who.rank;
    const auto next = static_cast<int>((rank + 1) % size_), before = static_cast<int>((rank + size_ - 1) % size_);
    switch (what) {
      case Collective::all_reduce:
        return expect(api_.all_reduce(b.in, b.out, count, ncclFloat, ncclSum, m.comm, m.stream), "all_reduce");
      case Collective::all_gather:
        return expect(api_.all_gather(in_place ? at(b.in, rank) : b.in, b.out, part, ncclFloat, m.comm, m.stream),
                      "all_gather");
      case Collective::reduce_scatter:
        return expect(
            api_.reduce_scatter(b.in, in_place ? to(b.out, rank) : b.out, part, ncclFloat, ncclSum, m.comm, m.stream),
            "reduce_scatter");
      case Collective::broadcast:
        return expect(api_.broadcast(b.in, b.out, count, ncclFloat, 0, m.comm, m.stream), "broadcast");
      case Collective::all_to_all:
        for (unsigned r = 0; r < size_; ++r) {
          expect(api_.send(at(b.in, r), part, ncclFloat, static_cast<int>(r), m.comm, m.stream), "send");
          expect(api_.receive(to(b.out, r), part, ncclFloat, static_cast<int>(r), m.comm, m.stream), "receive");
        }
        return;
      case Collective::send_recv:
        expect(api_.send(b.in, count, ncclFloat, next, m.comm, m.stream), "send");
        return expect(api_.receive(b.out, count, ncclFloat, before, m.comm, m.stream), "receive");
    }
  }

  /// Until no member is in progress any more.
  void settle(const char* what, double timeout_s) {
    const std::uint64_t end = end_of(timeout_s);
    for (Member& m : members_) {
      while (!check(m, what)) {
        if (now_ns() > end) fail(m, what, fmt::format("did not end within {:g} s", timeout_s));
        ::sched_yield();
      }
    }
  }
  /// False: in progress. Throws what the library found meanwhile: a network that failed, a peer that is gone.
  bool check(Member& m, const char* what) {
    ncclResult_t state = ncclSuccess;
    const ncclResult_t asked = api_.async_error(m.comm, &state);
    if (asked != ncclSuccess) state = asked;
    if (state == ncclInProgress) return false;
    if (state != ncclSuccess) fail(m, what, words(state, m.comm));
    return true;
  }
  void expect(ncclResult_t code, const char* what) {
    if (code == ncclSuccess || code == ncclInProgress) return;
    given_up_ = true;
    throw RunError(fmt::format("NCCL: {}: {}{}", what, words(code, nullptr), complained()));
  }
  std::string words(ncclResult_t code, ncclComm_t comm) const {
    const char* more = api_.last_error(comm);
    return fmt::format("{}{}{}", api_.error_text(code), more && *more ? ": " : "", more ? more : "");
  }
  [[noreturn]] void fail(const Member& m, const char* what, const std::string& why) {
    given_up_ = true;
    throw RunError(fmt::format("NCCL: rank {} (gpu{}): {}: {}{}", m.who.rank, m.who.gpu, what, why, complained()));
  }
  std::string complained() const {
    const std::string said = complaints_();
    return said.empty() ? said : "; NCCL warned: " + said;
  }
  void check_alive() const {
    if (given_up_) throw RunError("NCCL: the group was given up before");
  }

  const Api& api_;
  const Complaints complaints_;
  const unsigned size_;
  std::vector<Member> members_;
  bool given_up_ = false, aborted_ = false;
};

}  // namespace

std::unique_ptr<NcclGroup> make_group(const Api& api, const ncclUniqueId& id, unsigned size,
                                      std::span<const NcclMember> members, double timeout_s, Complaints complaints) {
  return std::make_unique<Group>(api, id, size, members, timeout_s, std::move(complaints));
}

}  // namespace headrace::nccl
