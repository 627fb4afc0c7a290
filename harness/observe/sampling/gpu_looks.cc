#include "harness/observe/sampling/gpu_looks.h"

#include <algorithm>
#include <utility>

#include "harness/observe/sampling/sampler_watched.h"

namespace headrace::observe {
namespace {

constexpr std::size_t kMostLooks = 1000;  // that are kept until somebody takes them
constexpr double kMostCpu = 0.01;         // of one processor

GpuUserSeen& user_of(GpuSeen& gpu, int pid) {
  const auto found =
      std::find_if(gpu.users.begin(), gpu.users.end(), [pid](const GpuUserSeen& one) { return one.pid == pid; });
  if (found != gpu.users.end()) return *found;
  return gpu.users.emplace_back(GpuUserSeen{.pid = pid});
}

}  // namespace

GpuLooks::GpuLooks(const Begin& begin, double every_s)
    : found_(std::make_shared<Found>()), thread_([found = found_, begin, every_s](Beside::Life& life) {
        const std::unique_ptr<GpuActivity> driver = begin();
        life.count_cpu();
        if (!driver) return;
        double cpu_s = thread_cpu_s();
        while (!life.over()) {
          std::vector<GpuLook> look = driver->look();
          const double before_s = std::exchange(cpu_s, thread_cpu_s());
          life.count_cpu();
          {
            const std::lock_guard lock(found->mutex);
            if (found->looks.size() < kMostLooks) found->looks.push_back(std::move(look));
          }
          life.pause(std::max(every_s, (cpu_s - before_s) / kMostCpu));
        }
      }) {}

std::vector<GpuSlice> GpuLooks::take(std::vector<GpuSeen>& gpus) {
  std::vector<std::vector<GpuLook>> looks;
  {
    const std::lock_guard lock(found_->mutex);
    looks.swap(found_->looks);
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
