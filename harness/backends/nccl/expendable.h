// A thread for calls that may never come back: it does one job after another, and who waits for it can leave it behind.
#pragma once

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

namespace headrace::nccl {

/// Jobs must own what they touch: one that hangs outlives this object. It runs on every processor that the process may
/// use, whatever thread made it, and so do the threads that its jobs start.
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

}  // namespace headrace::nccl
