#include "harness/observe/sampling/gpus.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "harness/observe/learning/shares.h"
#include "harness/observe/sampling/sampler_watched.h"

namespace headrace::observe {
namespace {

bool is_of_the_job(const Recording& recording, int pid) {
  return std::any_of(recording.processes.begin(), recording.processes.end(),
                     [pid](const ProcessSeen& one) { return one.pid == pid; });
}

PartAndWhole busy_in(const Slice& slice, std::uint32_t gpu) {
  for (const GpuSlice& one : slice.gpus)
    if (one.gpu == gpu) return {.part = one.busy, .whole = static_cast<double>(one.looks)};
  return {};
}

GpuSummary describe(const Recording& recording, const std::vector<const Slice*>& slices, std::uint32_t gpu) {
  const GpuSeen& seen = recording.gpus[gpu];
  GpuSummary one{.pci_address = seen.pci_address, .name = seen.name, .busy = {}, .memory_busy = {}, .own_busy = {}};
  double own = 0, memory_busy = 0, looks = 0;
  bool own_reported = false;
  for (const GpuUserSeen& user : seen.users) {
    if (!is_of_the_job(recording, user.pid)) {
      one.shared = true;
      continue;
    }
    one.memory += user.memory;
    if (user.busy_looks == 0) continue;
    own += user.busy / user.busy_looks;
    own_reported = true;
  }
  if (own_reported) one.own_busy = std::min(1.0, own);
  for (const Slice* slice : slices)
    for (const GpuSlice& part : slice->gpus)
      if (part.gpu == gpu) {
        memory_busy += part.memory_busy;
        looks += part.looks;
      }
  one.busy = share_over(slices, "busy", [gpu](const Slice& slice) { return busy_in(slice, gpu); });
  one.busy_known = looks > 0;
  if (looks > 0) one.memory_busy = memory_busy / looks;
  return one;
}

}  // namespace

void find_gpus(const Recording& recording, const std::vector<const Slice*>& slices, Observation& seen) {
  for (std::uint32_t g = 0; g < recording.gpus.size(); ++g) {
    const std::vector<GpuUserSeen>& users = recording.gpus[g].users;
    if (std::any_of(users.begin(), users.end(),
                    [&](const GpuUserSeen& user) { return is_of_the_job(recording, user.pid); }))
      seen.gpus.push_back(describe(recording, slices, g));
  }
  if (!recording.gpus.empty() && seen.gpus.empty())
    seen.notes.push_back(
        fmt::format("{} GPU{} here, and their driver names no process of the job on them: it uses none, or runs in a "
                    "container, whose processes the driver knows by other numbers",
                    recording.gpus.size(), recording.gpus.size() == 1 ? " is" : "s are"));
}

std::optional<Share> gpus_busy(const Observation& seen) {
  Share mean{.name = "busy"};
  double known = 0;
  for (const GpuSummary& one : seen.gpus) {
    if (!one.busy_known) continue;
    mean.value += one.busy.value;
    mean.low += one.busy.low;
    mean.high += one.busy.high;
    ++known;
  }
  if (known == 0) return std::nullopt;
  mean.value /= known;
  mean.low /= known;
  mean.high /= known;
  return mean;
}

std::optional<Share> lone_gpu_busy(const Observation& seen) {
  if (seen.gpus.size() != 1 || seen.roles.consumers.size() != 1 || seen.gpus.front().shared) return std::nullopt;
  return gpus_busy(seen);
}

namespace {

constexpr std::size_t kMostLooks = 1000;  // that are kept until take()
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
