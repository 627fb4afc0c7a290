#include "harness/observe/gpu_looks.h"

#include <signal.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>

#include "harness/base/start_thread.h"
#include "harness/observe/sampler_watched.h"

namespace headrace::observe {
namespace {

constexpr std::size_t kMostLooks = 1000;  // that are kept until somebody takes them
constexpr double kMostCpu = 0.01;         // of one processor
constexpr std::chrono::seconds kPatience{2};

GpuUserSeen& user_of(GpuSeen& gpu, int pid) {
  const auto found =
      std::find_if(gpu.users.begin(), gpu.users.end(), [pid](const GpuUserSeen& one) { return one.pid == pid; });
  if (found != gpu.users.end()) return *found;
  return gpu.users.emplace_back(GpuUserSeen{.pid = pid});
}

}  // namespace

/// Of both threads; the one that asks may outlive the object.
struct GpuLooks::Shared {
  std::mutex mutex;
  std::condition_variable changed;
  bool over = false, ended = false;
  std::vector<std::vector<GpuLook>> looks;  // since the last take()
  std::atomic<double> cpu_s = 0;
};

GpuLooks::GpuLooks(const Begin& begin, double every_s) : shared_(std::make_shared<Shared>()) {
  // Signals are for the thread that looks at processes: they end its sleep.
  sigset_t all, before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  const auto restore = [&before](void*) { ::pthread_sigmask(SIG_SETMASK, &before, nullptr); };
  const std::unique_ptr<void, decltype(restore)> at_end(&before, restore);
  thread_ = start_thread<std::thread>([shared = shared_, begin, every_s] {
    watch(*shared, begin, every_s);
    const std::lock_guard lock(shared->mutex);
    shared->ended = true;
    shared->changed.notify_all();
  });
}

GpuLooks::~GpuLooks() {
  bool ended = false;
  {
    std::unique_lock lock(shared_->mutex);
    shared_->over = true;
    shared_->changed.notify_all();
    ended = shared_->changed.wait_for(lock, kPatience, [this] { return shared_->ended; });
  }
  if (ended)
    thread_.join();
  else
    thread_.detach();
}

double GpuLooks::cpu_s() const { return shared_->cpu_s; }

void GpuLooks::watch(Shared& shared, const Begin& begin, double every_s) {
  const std::unique_ptr<GpuActivity> driver = begin();
  shared.cpu_s = thread_cpu_s();
  if (!driver) return;
  std::unique_lock lock(shared.mutex);
  while (!shared.over) {
    lock.unlock();
    std::vector<GpuLook> look = driver->look();
    const double cpu_s = thread_cpu_s(), took_s = cpu_s - shared.cpu_s.exchange(cpu_s);
    lock.lock();
    if (shared.looks.size() < kMostLooks) shared.looks.push_back(std::move(look));
    const std::chrono::duration<double> pause(std::max(every_s, took_s / kMostCpu));
    shared.changed.wait_for(lock, pause, [&shared] { return shared.over; });
  }
}

std::vector<GpuSlice> GpuLooks::take(std::vector<GpuSeen>& gpus) {
  std::vector<std::vector<GpuLook>> looks;
  {
    const std::lock_guard lock(shared_->mutex);
    looks.swap(shared_->looks);
  }
  std::vector<GpuSlice> slices;
  for (const std::vector<GpuLook>& all : looks) {
    for (std::size_t g = 0; g < all.size(); ++g) {
      const GpuLook& look = all[g];
      if (gpus.size() <= g) gpus.push_back({.pci_address = look.pci_address, .name = look.name});
      for (const GpuUser& user : look.users) {
        GpuUserSeen& seen = user_of(gpus[g], user.pid);
        seen.memory = std::max(seen.memory, user.memory);
        if (user.busy) {
          seen.busy += *user.busy;
          ++seen.busy_looks;
        }
      }
      if (!look.busy) continue;
      const auto gpu = static_cast<std::uint32_t>(g);
      auto slice = std::find_if(slices.begin(), slices.end(), [gpu](const GpuSlice& one) { return one.gpu == gpu; });
      if (slice == slices.end()) slice = slices.insert(slices.end(), GpuSlice{.gpu = gpu});
      ++slice->looks;
      slice->busy += *look.busy;
      slice->memory_busy += look.memory_busy.value_or(0);
    }
  }
  return slices;
}

}  // namespace headrace::observe
