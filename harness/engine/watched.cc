#include "harness/engine/watched.h"

#include <fmt/format.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "harness/base/deadline.h"
#include "harness/base/start_thread.h"
#include "harness/engine/engine.h"
#include "harness/engine/worker_threads.h"

namespace headrace::engine {
namespace {

using Clock = std::chrono::steady_clock;

/// Shared with the thread, which may outlive the wait.
struct WatchedStep {
  std::function<void(const DataProgress&)> body;
  std::mutex mutex;
  std::condition_variable changed;
  bool ended = false, left = false;  // under the mutex
  std::exception_ptr failure;
  Clock::time_point alive = Clock::now();
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
      step->alive = Clock::now();
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
  Clock::time_point signalled{};
  std::optional<Clock::time_point> lost_since;
  std::unique_lock lock(step->mutex);
  while (!step->changed.wait_for(lock, std::chrono::milliseconds(50), [&] { return step->ended; })) {
    if (stop_signal.load() != 0 && signalled == Clock::time_point{}) signalled = Clock::now();
    const bool stopping = signalled != Clock::time_point{};
    std::string why;
    const std::string gone = limits.lost ? limits.lost() : "";
    if (!gone.empty() && seconds_since(lost_since.value_or(Clock::now())) > limits.lost_grace_s) {
      why = fmt::format("was given up because {}", gone);
    } else if (stopping && seconds_since(signalled) > limits.grace_s) {
      why = fmt::format("did not end within {:g} s of a signal", limits.grace_s);
    } else if (seconds_since(step->alive) > limits.stall_s) {
      why = fmt::format("did not go on for {:g} s", limits.stall_s);
    }
    if (!gone.empty() && !lost_since) lost_since = Clock::now();
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
