// Worker threads, their common start, and the watch over them.
#include "harness/engine/worker_threads.h"

#include <fmt/format.h>
#include <pthread.h>
#include <sched.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>

#include "harness/base/deadline.h"
#include "harness/engine/engine.h"
#include "harness/engine/watch_time.h"
#include "harness/machine/near_cpus.h"
#include "harness/workload/workload.h"

namespace headrace {

std::atomic<int> stop_signal{0};

namespace {
std::atomic<unsigned> abandoned{0};
}

unsigned abandoned_threads() { return abandoned.load(); }

}  // namespace headrace

namespace headrace::engine {
namespace {

using Clock = std::chrono::steady_clock;

std::uint64_t nanoseconds(double s) { return static_cast<std::uint64_t>(s * 1e9); }

/// Everything that worker threads touch. Shared with each of them. A thread that hangs in the kernel and returns after
/// the engine went on still finds it.
struct Workers {
  std::shared_ptr<Workload> workload;
  std::vector<std::unique_ptr<Recorder>> recorders;
  unsigned phase = 0, repetition = 0;
  std::uint64_t seed = 0;

  std::atomic<bool> stop{false};
  std::atomic<int> released{0};
  std::uint64_t origin_ns = 0, deadline_ns = 0;  // written before the release

  std::mutex mutex;
  std::condition_variable changed;
  unsigned ready = 0, ended = 0, failures = 0;  // under the mutex
  std::string error;                            // first one thrown

  unsigned size() const { return static_cast<unsigned>(recorders.size()); }

  void failed(const char* what) {
    const std::lock_guard lock(mutex);
    if (error.empty()) error = what;
    ++failures;
    stop = true;
  }
  void count(unsigned Workers::*counter) {
    const std::lock_guard lock(mutex);
    ++(this->*counter);
    changed.notify_all();
  }
};

/// Calls `step`; its exception is the worker's error.
template <class Step>
bool guarded(Workers& workers, Step step) {
  try {
    step();
    return true;
  } catch (const std::exception& e) {
    workers.failed(e.what());
  } catch (...) {
    workers.failed("a workload threw something that is no std::exception");
  }
  return false;
}

void work(const std::shared_ptr<Workers>& workers, unsigned index) {
  Recorder& recorder = *workers->recorders[index];
  Worker worker{.index = index,
                .count = workers->size(),
                .phase = workers->phase,
                .repetition = workers->repetition,
                .seed = workers->seed,
                .recorder = recorder};
  const bool set_up = guarded(*workers, [&] { workers->workload->before_run(worker); });
  workers->count(&Workers::ready);
  workers->released.wait(0);
  if (set_up && !workers->stop) {
    recorder.start(workers->deadline_ns, &workers->stop, workers->origin_ns);
    guarded(*workers, [&] { workers->workload->run(worker); });
    recorder.finish();
  }
  workers->count(&Workers::ended);
}

std::vector<int> allowed_cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> cpus;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &set)) cpus.push_back(cpu);
  }
  return cpus;
}

void pin(std::thread& thread, int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  pthread_setaffinity_np(thread.native_handle(), sizeof set,
                         &set);  // not pinned is slower, not wrong
}

/// Waits for the workers, shows the progress, and requests a stop by time, signal or stall.
class Watch {
 public:
  Watch(Workers& workers, const EngineLimits& limits, const PhaseHooks& hooks)
      : workers_(workers), limits_(limits), hooks_(hooks) {}

  /// False: it hung; why() has the reason.
  bool until(unsigned Workers::*counter, double expected_s) {
    const Clock::time_point start = Clock::now();
    Clock::time_point reported = start;
    WatchTime time(start);
    double moved_s = 0;
    std::optional<double> asked_s;
    std::uint64_t last_operations = 0, reported_bytes = 0, reported_operations = 0;
    for (;;) {
      bool all = false;
      {
        std::unique_lock lock(workers_.mutex);
        all = workers_.changed.wait_for(lock, WatchTime::kLook, [&] { return workers_.*counter == workers_.size(); });
      }
      // From look to look, not only the sleep between: a process may be stopped while it shows how it goes.
      if (const double since = time.look(Clock::now()); since > kStandstill_s) stood_still_s_ += since;
      if (all) return true;
      std::uint64_t bytes = 0, operations = 0;
      for (const auto& r : workers_.recorders) {
        bytes += r->progress_bytes();
        operations += r->progress_operations();
      }
      if (operations != last_operations) moved_s = time.seconds();
      last_operations = operations;
      if (const double since = seconds_since(reported); hooks_.live && since >= limits_.live_s) {
        hooks_.live({.bytes_per_s = static_cast<double>(bytes - reported_bytes) / since,
                     .operations_per_s = static_cast<double>(operations - reported_operations) / since},
                    seconds_since(start));
        reported = Clock::now();
        reported_bytes = bytes;
        reported_operations = operations;
      }
      if (!asked_s) {
        // A repetition without one operation has no rate: the first is waited for, unless nothing moves at all.
        const bool is_over = expected_s > 0 && seconds_since(start) > expected_s && operations > 0;
        why_ = reason_to_stop(is_over, time.seconds() - moved_s);
        if (!why_.empty()) {
          asked_s = time.seconds();
          workers_.stop = true;
        }
      } else if (time.seconds() - *asked_s > (gone().empty() ? limits_.grace_s : limits_.lost_grace_s)) {
        return false;
      }
    }
  }
  const std::string& why() const { return why_; }
  double stood_still_s() const { return stood_still_s_; }
  bool interrupted() const { return interrupted_; }

 private:
  static constexpr double kStandstill_s = 0.25;  // a look this late was not the scheduler's

  std::string reason_to_stop(bool is_over, double still_s) {
    if (stop_signal.load() != 0) {
      interrupted_ = true;
      return "after a signal";
    }
    if (const std::string who = gone(); !who.empty()) return "because " + who;
    if (workers_.stop) return "after another worker failed";
    if (is_over) return "at the end of the repetition's time";
    if (still_s > limits_.stall_s) return fmt::format("after {:.0f} s without any progress", still_s);
    return "";
  }

  std::string gone() const { return limits_.lost ? limits_.lost() : ""; }

  Workers& workers_;
  const EngineLimits& limits_;
  const PhaseHooks& hooks_;
  std::string why_;
  double stood_still_s_ = 0;
  bool interrupted_ = false;
};

std::string hung_text(unsigned still_running, unsigned all, const EngineLimits& limits, const std::string& why) {
  return fmt::format(
      "TIMEOUT: {} of {} workers did not end within {:.0f} s of being asked to {}; storage or "
      "device does "
      "not answer",
      still_running, all, limits.grace_s, why);
}

}  // namespace

void leave_behind(std::thread& thread) {
  thread.detach();
  ++abandoned;
}

PhaseEnd run_phase(const PhaseRequest& request, const EngineLimits& limits, const PhaseHooks& hooks) {
  auto workers = std::make_shared<Workers>();
  workers->workload = request.workload;
  workers->phase = request.phase;
  workers->repetition = request.repetition;
  workers->seed = request.seed;
  const unsigned count = std::max(1u, request.workload->workers());
  const auto parts = static_cast<unsigned>(request.workload->latency_parts().size());
  for (unsigned w = 0; w < count; ++w) workers->recorders.push_back(std::make_unique<Recorder>(parts));

  std::vector<std::thread> threads;
  const std::vector<int> cpus = system::near_first(allowed_cpus(), request.device);
  try {
    for (unsigned w = 0; w < count; ++w) {
      threads.emplace_back(work, workers, w);
      if (request.pinned && !cpus.empty()) pin(threads.back(), cpus[w % cpus.size()]);
    }
  } catch (const std::system_error& e) {  // a limit on threads
    workers->stop = true;
    workers->released = 1;
    workers->released.notify_all();
    const std::string why = fmt::format("start worker {} of {}: {}", threads.size() + 1, count, e.what());
    for (std::thread& t : threads) t.join();
    return {.kind = PhaseEnd::Kind::failed, .error = why, .recorders = {}, .released_ns = 0};
  }

  const PhaseHooks quiet;
  Watch setting_up(*workers, limits, quiet);
  bool answered = setting_up.until(&Workers::ready, 0);
  if (answered && hooks.ready) {
    std::string error;
    {
      const std::lock_guard lock(workers->mutex);
      error = workers->error;
    }
    if (!hooks.ready(error)) workers->stop = true;
  }
  workers->origin_ns = now_ns();
  workers->deadline_ns = request.duration_s > 0 ? workers->origin_ns + nanoseconds(request.duration_s) : UINT64_MAX;
  workers->released = 1;
  workers->released.notify_all();

  Watch running(*workers, limits, hooks);
  if (answered) answered = running.until(&Workers::ended, request.duration_s);
  if (hooks.ended) hooks.ended();

  PhaseEnd end;
  end.released_ns = workers->origin_ns;
  end.stood_still_s = running.stood_still_s();
  if (!answered) {
    const std::string why = setting_up.why().empty() ? running.why() : setting_up.why();
    const std::lock_guard lock(workers->mutex);
    end.kind = PhaseEnd::Kind::hung;
    end.error = hung_text(count - workers->ended, count, limits, "stop " + why);
    abandoned += count - workers->ended;
    for (std::thread& t : threads) t.detach();
    return end;
  }
  for (std::thread& t : threads) t.join();
  end.recorders = std::move(workers->recorders);
  end.error = workers->error;
  if (!end.error.empty()) {
    end.kind = PhaseEnd::Kind::failed;
    if (count > 1) end.error += fmt::format("; {} of {} workers failed", workers->failures, count);
  } else if (setting_up.interrupted() || running.interrupted()) {
    end.kind = PhaseEnd::Kind::interrupted;
  }
  return end;
}

}  // namespace headrace::engine
