// A thread next to the one that looks at processes, for long work. No other thread waits for it.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

namespace headrace::observe {

class Beside {
 public:
  /// Belongs to both threads; the one that works may outlive the object.
  class Life {
   public:
    /// The work is no longer needed.
    bool over();
    /// Waits for this time, or until it is over.
    void pause(double seconds);
    /// Its processor time, as of just now.
    void count_cpu();

   private:
    friend class Beside;
    std::mutex mutex_;
    std::condition_variable changed_;
    bool over_ = false, ended_ = false;
    std::atomic<double> cpu_s_ = 0;
  };
  /// `work` keeps its own objects alive. Throws RunError where the system refuses a thread.
  explicit Beside(std::function<void(Life&)> work);
  /// Waits for two seconds at most, then lets go of it.
  ~Beside();
  Beside(const Beside&) = delete;

  /// Processor time of the thread so far [s].
  double cpu_s() const { return life_->cpu_s_; }

 private:
  std::shared_ptr<Life> life_;
  std::thread thread_;
};

}  // namespace headrace::observe
