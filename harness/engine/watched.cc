#include "harness/engine/watched.h"

#include <fmt/format.h>

#include <atomic>
#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "harness/base/start_thread.h"
#include "harness/engine/engine.h"
#include "harness/engine/watch_time.h"
#include "harness/engine/worker_threads.h"

namespace headrace::engine {
namespace {

/// Shared with the thread, which may outlive the wait.
struct WatchedStep {
  std::function<void(const DataProgress&)> body;
  std::mutex mutex;
  std::condition_variable changed;
  bool ended = false, left = false;  // under the mutex
  bool alive = false;                // a sign of life since the last look
  std::exception_ptr failure;
};

/// Passes on what it gets; news is a sign of life.
DataProgress listening(const std::shared_ptr<WatchedStep>& step, const DataProgress& progress) {
  struct Last {
    std::uint64_t done = UINT64_MAX;
    std::string what;
  };
  return [step, progress, last = std::make_shared<Last>()](std::uint64_t done, std::uint64_t total,
                                                           std::string_view what) {
    const std::lock_guard lock(step->mutex);
    if (step->left) throw RunError("left behind");  // the caller is gone
    if (done != last->done || what != last->what) {
      *last = {done, std::string(what)};
      step->alive = true;
    }
    if (progress) progress(done, total, what);
  };
}

void run(const std::shared_ptr<WatchedStep>& step, const DataProgress& progress) {
  std::exception_ptr failure;
  try {
    step->body(progress);
  } catch (...) {
    failure = std::current_exception();
  }
  step->body = nullptr;  // its own objects are destroyed on this thread
  const std::lock_guard lock(step->mutex);
  step->failure = failure;
  step->ended = true;
  step->changed.notify_all();
}

}  // namespace

WatchedEnd run_watched(const std::string& what, const EngineLimits& limits, const DataProgress& progress,
                       std::function<void(const DataProgress&)> body) {
  const auto step = std::make_shared<WatchedStep>();
  step->body = std::move(body);
  std::thread thread = start_thread<std::thread>(run, step, listening(step, progress));
  WatchTime time(WatchTime::Clock::now());
  double alive_s = 0;
  std::optional<double> signalled_s, lost_s;
  std::unique_lock lock(step->mutex);
  while (!step->changed.wait_for(lock, WatchTime::kLook, [&] { return step->ended; })) {
    time.look(WatchTime::Clock::now());
    const double now_s = time.seconds();
    if (std::exchange(step->alive, false)) alive_s = now_s;
    if (stop_signal.load() != 0 && !signalled_s) signalled_s = now_s;
    std::string why;
    const std::string gone = limits.lost ? limits.lost() : "";
    if (!gone.empty() && now_s - lost_s.value_or(now_s) > limits.lost_grace_s) {
      why = fmt::format("was given up because {}", gone);
    } else if (signalled_s && now_s - *signalled_s > limits.grace_s) {
      why = fmt::format("did not end within {:g} s of a signal", limits.grace_s);
    } else if (now_s - alive_s > limits.stall_s) {
      why = fmt::format("did not go on for {:g} s", limits.stall_s);
    }
    if (!gone.empty() && !lost_s) lost_s = now_s;
    if (why.empty()) continue;
    step->left = true;
    lock.unlock();
    leave_behind(thread);
    return {true, fmt::format("TIMEOUT: {} {}; storage or device does not answer", what, why)};
  }
  lock.unlock();
  thread.join();
  if (step->failure) std::rethrow_exception(step->failure);
  return {};
}

}  // namespace headrace::engine
