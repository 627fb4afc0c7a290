// Hands items to threads, one at a time, until all are done or one fails.
#include "harness/base/parallel.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "harness/base/start_thread.h"

namespace headrace {

void parallel_for(std::uint64_t count, unsigned threads, const std::function<void(unsigned, std::uint64_t)>& body,
                  const std::function<void()>& tick) {
  threads = static_cast<unsigned>(std::min<std::uint64_t>(std::max(threads, 1u), count));
  std::atomic<std::uint64_t> next{0};
  std::mutex mutex;
  std::condition_variable changed;
  unsigned working = threads;
  std::exception_ptr failure;

  const auto fail = [&](std::exception_ptr what) {
    next.store(count, std::memory_order_relaxed);
    const std::lock_guard lock(mutex);
    if (!failure) failure = std::move(what);
  };
  const auto work = [&](unsigned worker) {
    try {
      for (std::uint64_t item; (item = next.fetch_add(1, std::memory_order_relaxed)) < count;) body(worker, item);
    } catch (...) {
      fail(std::current_exception());
    }
    const std::lock_guard lock(mutex);
    --working;
    changed.notify_all();
  };

  std::vector<std::jthread> pool = threads > 0 ? start_threads(threads, work) : std::vector<std::jthread>{};
  {
    const std::lock_guard lock(mutex);
    working -= threads - static_cast<unsigned>(pool.size());
  }
  const auto done = [&] { return working == 0; };
  for (bool finished = false; !finished;) {
    {
      std::unique_lock lock(mutex);
      finished = changed.wait_for(lock, std::chrono::milliseconds(100), done);
      if (failure) continue;
    }
    try {
      if (tick) tick();
    } catch (...) {
      fail(std::current_exception());
    }
  }
  pool.clear();
  if (failure) std::rethrow_exception(failure);
}

}  // namespace headrace
