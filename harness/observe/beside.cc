#include "harness/observe/beside.h"

#include <signal.h>

#include <chrono>

#include "harness/base/start_thread.h"
#include "harness/observe/sampling/sampler_watched.h"

namespace headrace::observe {
namespace {

constexpr std::chrono::seconds kPatience{2};

}  // namespace

bool Beside::Life::over() {
  const std::lock_guard lock(mutex_);
  return over_;
}

void Beside::Life::pause(double seconds) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, std::chrono::duration<double>(seconds), [this] { return over_; });
}

void Beside::Life::count_cpu() { cpu_s_ = thread_cpu_s(); }

Beside::Beside(std::function<void(Life&)> work) : life_(std::make_shared<Life>()) {
  // Signals are for the thread that looks at processes: they end its sleep.
  sigset_t all, before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  const auto restore = [&before](void*) { ::pthread_sigmask(SIG_SETMASK, &before, nullptr); };
  const std::unique_ptr<void, decltype(restore)> at_end(&before, restore);
  thread_ = start_thread<std::thread>([life = life_, work = std::move(work)] {
    work(*life);
    const std::lock_guard lock(life->mutex_);
    life->ended_ = true;
    life->changed_.notify_all();
  });
}

Beside::~Beside() {
  bool ended = false;
  {
    std::unique_lock lock(life_->mutex_);
    life_->over_ = true;
    life_->changed_.notify_all();
    ended = life_->changed_.wait_for(lock, kPatience, [this] { return life_->ended_; });
  }
  if (ended)
    thread_.join();
  else
    thread_.detach();
}

}  // namespace headrace::observe
