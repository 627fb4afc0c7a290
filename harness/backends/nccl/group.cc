#include "harness/backends/nccl/group.h"

#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "harness/backends/nccl/members.h"
#include "harness/base/deadline.h"
#include "harness/base/error.h"

namespace headrace::nccl {
namespace {

// A thread for calls that may never return. It does one job after another, and can be left behind.

/// Jobs must own what they touch: one that hangs outlives this object. It runs on every processor that the process may
/// use, whatever thread made it. So do the threads of its jobs.
class Expendable {
 public:
  Expendable() {
    std::thread([shared = shared_] { serve(*shared); }).detach();
  }
  /// Waits for no job.
  ~Expendable() {
    const std::lock_guard lock(shared_->mutex);
    shared_->quit = true;
    shared_->changed.notify_all();
  }
  Expendable(const Expendable&) = delete;
  Expendable& operator=(const Expendable&) = delete;

  /// The job before must have ended.
  void start(std::function<void()> job) {
    const std::lock_guard lock(shared_->mutex);
    shared_->job = std::move(job);
    shared_->thrown = nullptr;
    shared_->changed.notify_all();
  }
  /// Has the job ended by then? Throws what it threw.
  bool ended_within(double s) {
    std::unique_lock lock(shared_->mutex);
    if (!shared_->changed.wait_for(lock, std::chrono::duration<double>(s), [this] { return !shared_->job; }))
      return false;
    if (const std::exception_ptr thrown = std::exchange(shared_->thrown, nullptr)) std::rethrow_exception(thrown);
    return true;
  }

 private:
  struct Shared {
    std::mutex mutex;
    std::condition_variable changed;
    std::function<void()> job;  // until it has ended
    std::exception_ptr thrown;
    bool quit = false;
  };

  static void serve(Shared& shared) {
    cpu_set_t all;
    if (::sched_getaffinity(::getpid(), sizeof all, &all) == 0) ::sched_setaffinity(0, sizeof all, &all);
    std::unique_lock lock(shared.mutex);
    for (;;) {
      shared.changed.wait(lock, [&] { return shared.quit || shared.job; });
      if (!shared.job) return;
      const std::function<void()> job = shared.job;
      lock.unlock();
      std::exception_ptr thrown;
      try {
        job();
      } catch (...) {
        thrown = std::current_exception();
      }
      lock.lock();
      shared.thrown = std::move(thrown);
      shared.job = nullptr;
      shared.changed.notify_all();
    }
  }

  std::shared_ptr<Shared> shared_ = std::make_shared<Shared>();
};

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

  bool register_buffers(std::span<const NcclMemory> buffers, NcclRegistration how) override {
    if (members_->given_up()) throw RunError("NCCL: the group was given up before");
    thread_.start(
        [m = members_, own = std::vector(buffers.begin(), buffers.end()), how] { m->register_buffers(own, how); });
    if (!thread_.ended_within(kFinish_s))
      members_->fail(members_->names(), "register buffers", fmt::format("did not end within {:g} s", kFinish_s));
    return members_->took_all();
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
        // It hangs in a call of NCCL, which ends when its communicator is aborted from outside. A group that is being
        // joined has nothing to end yet. It is left behind, and ends its own work if it ever returns.
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
