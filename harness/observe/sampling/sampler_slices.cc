// The sampler's counts since the last slice of time, made into one.
#include <algorithm>
#include <utility>

#include "harness/observe/sampling/sampler.h"
#include "harness/observe/sampling/sampler_watched.h"

namespace headrace::observe {
namespace {

constexpr double kMostScale = 100;
constexpr double kMostSlicing = 0.01;  // of a processor, which ending slices may take: then they are longer
constexpr double kLongestSlice = 4.0;  // [s], unless there are too many
constexpr std::size_t kMostProcessSlices = 200000;  // then slices become twice as long

}  // namespace

/// Since the last slice of a process that has ended: bytes and calls as of the last look. Their processor time is that
/// of its earlier reads.
ProcessCounters Sampler::last_counted(const Watched& one) const {
  ProcessCounters counted = difference(one.last_quick, one.last);
  if (one.last.read_calls_bytes > 0) {
    const double more = static_cast<double>(counted.read_calls_bytes) / static_cast<double>(one.last.read_calls_bytes);
    counted.user_s = one.last.user_s * more;
    counted.system_s = one.last.system_s * more;
  }
  return counted;
}

void Sampler::end_slice(std::uint64_t now) {
  const double began_s = thread_cpu_s();
  Slice slice;
  slice.begin_s = seconds(slice_ns_);
  slice.end_s = seconds(now);
  std::string file;
  std::uint32_t most = 0;
  for (const FileSeen& seen : recording_.files)
    if (seen.read > most) {
      most = seen.read;
      file = seen.path;
    }
  slice.machine = machine_.next(slice.seconds(), file, slice.devices);
  take_paces(slice.devices);
  if (gpus_) slice.gpus = gpus_->take(recording_.gpus);
  for (const auto& one : watched_) {
    ProcessCounters counted;
    bool refused = false;
    if (one->files.read_counters(counted, refused)) {
      ProcessCounters before = one->last;
      one->ended.major_faults = 0;  // those counters are of the process alone
      one->ended.user_s = one->ended.system_s = one->ended.queued_s = 0;
      add_counters(before, one->ended);
      one->slice.counted = difference(counted, before);
      one->last = counted;
    }
    one->ended = {};
    end_threads(*one);
    slice.processes.push_back(one->slice);
    one->slice = {};
    one->slice.process = one->index;
  }
  recording_.slices.push_back(std::move(slice));
  merge_slices();
  slice_ns_ = now;
  // How much of a processor this took decides how often the next looks are.
  const double cpu = thread_cpu_s(), share = (cpu - cpu_s_) / std::max(1e-3, recording_.slices.back().seconds());
  recording_.sampler_cpu_s += cpu - cpu_s_;
  // Threads that ask others do so less often by themselves.
  const double beside = (gpus_ ? gpus_->cpu_s() : 0) + (nccl_ ? nccl_->cpu_s() : 0);
  recording_.sampler_cpu_s += beside - std::exchange(beside_cpu_s_, beside);
  cpu_s_ = cpu;
  if (share > options_.most_cpu)
    scale_ = std::min(kMostScale, scale_ * std::min(4.0, share / options_.most_cpu * 1.1));
  else if (share < options_.most_cpu * 0.7)
    scale_ = std::max(1.0, scale_ * std::max(0.7, share / options_.most_cpu * 1.2));
  // Looks that are seldom make no longer slices: a job may be over after a few.
  slice_due_ = now + ns(std::max(slice_s_, std::min(kLongestSlice, (cpu - began_s) / kMostSlicing)));
}

void Sampler::take_paces(std::map<std::string, DeviceSlice>& devices) {
  std::map<std::string, std::uint64_t> reads;
  for (auto& [number, device] : devices) {
    device.pace = paces_.take(number);
    reads[number] = device.reads;
  }
  paces_.follow(reads);
}

void Sampler::merge_slices() {
  std::size_t all = 0;
  for (const Slice& slice : recording_.slices) all += slice.processes.size() + 8;
  if (all < kMostProcessSlices) return;
  std::vector<Slice> merged;
  for (std::size_t i = 0; i < recording_.slices.size(); i += 2) {
    Slice one = std::move(recording_.slices[i]);
    if (i + 1 < recording_.slices.size()) add_slice(one, recording_.slices[i + 1]);
    merged.push_back(std::move(one));
  }
  recording_.slices = std::move(merged);
  slice_s_ *= 2;
}

Recording Sampler::finish(std::uint64_t now) {
  for (const auto& one : watched_)
    if (one->saving) end_save(*one);
  if (now > slice_ns_ + ns(0.02)) end_slice(now);
  for (const auto& one : watched_) recording_.processes[one->index].last_s = seconds(now);
  recording_.began_s = static_cast<double>(began_ns_) * 1e-9;
  recording_.elapsed_s = seconds(now);
  recording_.samples_per_s = recording_.elapsed_s > 0 ? static_cast<double>(looks_) / recording_.elapsed_s : 0;
  if (nccl_) recording_.nccl = nccl_->take();
  return std::move(recording_);
}

}  // namespace headrace::observe
