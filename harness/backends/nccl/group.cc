#include "harness/backends/nccl/group.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "harness/backends/nccl/expendable.h"
#include "harness/backends/nccl/members.h"
#include "harness/base/deadline.h"
#include "harness/base/error.h"

namespace headrace::nccl {
namespace {

class Group final : public NcclGroup {
 public:
  Group(const Api& api, const ncclUniqueId& id, unsigned size, std::span<const NcclMember> members, double timeout_s,
        Complaints complaints)
      : members_(std::make_shared<Members>(api, size, members, std::move(complaints))) {
    thread_.start([m = members_, id] { m->join(id); });
    try {
      if (!thread_.ended_within(timeout_s))
        members_->fail(members_->names(), "join", fmt::format("did not end within {:g} s", timeout_s));
    } catch (...) {
      abort();
      throw;
    }
  }
  ~Group() override {
    if (members_->given_up()) {
      abort();
      return;
    }
    try {
      thread_.start([m = members_] { m->leave(); });
      if (!thread_.ended_within(kFinish_s)) members_->give_up();
    } catch (...) {
      members_->give_up();
    }
  }

  unsigned size() const override { return members_->size(); }
  std::uint64_t done() const override { return members_->done(); }
  std::string mode() const override {
    return members_->in_progress() ? "not blocking (NCCL_COMM_BLOCKING=0): small messages are slower than in nccl-tests"
                                   : "blocking, as in nccl-tests; called by a thread of their own on any processor";
  }

  void start(const NcclCalls& calls, std::span<const NcclBuffers> buffers) override {
    if (members_->given_up()) throw RunError("NCCL: the group was given up before");
    patience_s_ = calls.patience_s;
    running_ = true;
    members_->make_room(calls);
    thread_.start([m = members_, calls, own = std::vector(buffers.begin(), buffers.end())] { m->run(calls, own); });
  }

  void register_buffers(std::span<const NcclBuffers> buffers, std::uint64_t bytes) override {
    if (members_->given_up()) throw RunError("NCCL: the group was given up before");
    thread_.start(
        [m = members_, own = std::vector(buffers.begin(), buffers.end()), bytes] { m->register_buffers(own, bytes); });
    if (!thread_.ended_within(kFinish_s))
      members_->fail(members_->names(), "register buffers", fmt::format("did not end within {:g} s", kFinish_s));
  }

  NcclTimes wait() override {
    if (!std::exchange(running_, false)) throw RunError("NCCL: the group was given up before");
    std::uint64_t done = 0, since_ns = now_ns();
    while (!thread_.ended_within(kLook_s)) {
      if (const std::uint64_t now = members_->done(); now != done) {
        done = now;
        since_ns = now_ns();
      } else if (seconds_since(since_ns) > patience_s_) {
        members_->fail(members_->names(), "operation", fmt::format("did not end within {:g} s", patience_s_));
      }
    }
    return members_->times();
  }

  void abort() noexcept override {
    members_->give_up();
    if (std::exchange(aborted_, true)) return;
    try {
      if (came_back()) {
        thread_.start([m = members_] { m->abort(); });
        ended(thread_, kFinish_s);
      } else if (members_->joined()) {
        // It hangs in a call of NCCL, which ends when its communicator is aborted from outside. Of one that is being joined
        // there is nothing yet that could be: it is left behind, and ends what it has made should it ever come back.
        Expendable other;
        other.start([m = members_] { m->abort(); });
        ended(other, kFinish_s);
        came_back();
      }
    } catch (...) {  // no thread to be had: the communicators stay
    }
  }

 private:
  static constexpr double kFinish_s = 30, kComeBack_s = 1, kLook_s = 0.05;

  /// Whatever the job threw: it was reported before, or is what aborting makes.
  static bool ended(Expendable& thread, double s) {
    try {
      return thread.ended_within(s);
    } catch (...) {
      return true;
    }
  }
  bool came_back() { return ended(thread_, kComeBack_s); }

  const std::shared_ptr<Members> members_;
  Expendable thread_;
  double patience_s_ = 0;
  bool running_ = false, aborted_ = false;
};

}  // namespace

std::unique_ptr<NcclGroup> make_group(const Api& api, const ncclUniqueId& id, unsigned size,
                                      std::span<const NcclMember> members, double timeout_s, Complaints complaints) {
  return std::make_unique<Group>(api, id, size, members, timeout_s, std::move(complaints));
}

}  // namespace headrace::nccl
