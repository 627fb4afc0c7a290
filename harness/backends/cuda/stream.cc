#include "harness/backends/cuda/stream.h"

#include <chrono>
#include <new>

#include "harness/backends/cuda/status.h"

namespace headrace::cuda {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::array kKinds{cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost, cudaMemcpyDeviceToDevice};
constexpr unsigned kAsksPerLook = 1024;  // between two looks at the clock

}  // namespace

Stream::Stream(Device& device) : device_(device) {
  device_.use();
  try {
    expect(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "make a stream on");
    for (cudaEvent_t& mark : marks_) expect(cudaEventCreate(&mark), "make an event on");
    void* gate = nullptr;
    expect(cudaHostAlloc(&gate, sizeof(Gate), cudaHostAllocPortable | cudaHostAllocMapped), "make a gate on");
    gate_ = new (gate) Gate;
    // The driver loads a kernel when it is first used: not later, in a timed region.
    expect(launch_gate(gate_, 0, 0, stream_), "load the gate on");
    expect(launch_busy(0, stream_), "load the busy kernel on");
    void* last = nullptr;
    expect(cudaMalloc(&last, sizeof *last_), "make room on");
    last_ = static_cast<const void**>(last);
    expect(launch_copy(last, last, 0, stream_), "load the copying kernel on");
    expect(launch_follow(last_, 0, last_, stream_), "load the loading kernel on");
    expect(cudaStreamSynchronize(stream_), "start");
  } catch (...) {
    free();
    throw;
  }
}

Stream::~Stream() { free(); }

void Stream::free() noexcept {
  if (Device::any_given_up() || !device_.used()) return;
  if (stream_) cudaStreamDestroy(stream_);
  for (const cudaEvent_t mark : marks_) {
    if (mark) cudaEventDestroy(mark);
  }
  if (gate_) cudaFreeHost(gate_);
  if (last_) cudaFree(last_);
}

void Stream::expect(cudaError_t code, const char* operation) const {
  if (code != cudaSuccess) throw device_.failed(operation, code);
}

void Stream::copy(void* to, const void* from, std::uint64_t bytes, CopyKind kind) {
  device_.check();
  expect(cudaMemcpyAsync(to, from, bytes, kKinds[static_cast<std::size_t>(kind)], stream_), "copy on");
}

void Stream::copy_by_cores(void* to, const void* from, std::uint64_t bytes) {
  device_.check();
  device_.use();  // kernels run on the calling thread's GPU
  expect(launch_copy(to, from, bytes, stream_), "copy on");
}

void Stream::fill(void* to, std::uint64_t bytes, const GpuPattern& pattern) {
  device_.check();
  device_.use();
  expect(launch_pattern(static_cast<std::uint64_t*>(to), bytes / sizeof(std::uint64_t), nullptr, pattern, nullptr,
                        stream_),
         "fill memory of");
}

void Stream::check_and_fill(void* at, std::uint64_t bytes, const GpuPattern& is, const GpuPattern& next,
                            GpuWrongWords& found) {
  device_.check();
  device_.use();
  expect(launch_pattern(static_cast<std::uint64_t*>(at), bytes / sizeof(std::uint64_t), &is, next, &found, stream_),
         "check memory of");
}

void Stream::bring(void* in, const ExpectedSums& data, bool in_place) {
  device_.check();
  device_.use();
  expect(launch_bring(in, data, in_place, stream_), "fill memory of");
}

void Stream::check(const void* out, const ExpectedSums& data, GpuWrongElements& found) {
  device_.check();
  device_.use();
  expect(launch_check(out, data, &found, stream_), "check memory of");
}

void Stream::follow(const void* const* at, std::uint64_t loads) {
  device_.check();
  device_.use();
  expect(launch_follow(at, loads, last_, stream_), "load on");
}

void Stream::hold() {
  device_.check();
  device_.use();  // the thread may have queued on another GPU since
  expect(launch_gate(gate_, ++ticket_, static_cast<std::uint64_t>(kGateTime_s * 1e9), stream_), "hold back");
}

void Stream::release() noexcept { __atomic_store_n(&gate_->opened, ticket_, __ATOMIC_RELEASE); }

void Stream::keep_busy(std::uint64_t ns) {
  device_.check();
  device_.use();
  expect(launch_busy(ns, stream_), "keep busy");
}

void Stream::mark(unsigned mark) {
  device_.check();
  expect(cudaEventRecord(marks_[mark], stream_), "mark on");
}

void Stream::after(const GpuStream& other, unsigned mark) {
  device_.check();
  expect(cudaStreamWaitEvent(stream_, static_cast<const Stream&>(other).marks_[mark], 0), "order work on");
}

bool Stream::reached(unsigned mark) {
  device_.check();
  const cudaError_t code = cudaEventQuery(marks_[mark]);
  if (code == cudaErrorNotReady) return false;
  expect(code, "work on");
  return true;
}

template <class Query>
void Stream::await(Query query) {
  device_.check();
  const Clock::time_point begin = Clock::now();
  for (unsigned asked = 1;; ++asked) {
    const cudaError_t code = query();
    if (code == cudaSuccess) break;
    if (code != cudaErrorNotReady) expect(code, "work on");
    if (asked % kAsksPerLook != 0) continue;
    if (std::chrono::duration<double>(Clock::now() - begin).count() < kPatience_s) continue;
    const std::string why =
        "TIMEOUT: its work did not end within " + std::to_string(static_cast<int>(kPatience_s)) + " s";
    device_.give_up(why, cudaSuccess);
    device_.check();
  }
  if (gate_->gave_up != 0) {
    gate_->gave_up = 0;
    throw RunError(device_.name() + ": the gate before the copies opened by itself after " +
                   std::to_string(static_cast<int>(kGateTime_s)) + " s: they were not queued in time");
  }
}

void Stream::wait_mark(unsigned mark) {
  await([&] { return cudaEventQuery(marks_[mark]); });
}

void Stream::wait() {
  await([&] { return cudaStreamQuery(stream_); });
}

double Stream::seconds(unsigned from, const GpuStream& other, unsigned to) {
  float ms = 0;
  expect(cudaEventElapsedTime(&ms, marks_[from], static_cast<const Stream&>(other).marks_[to]), "time work on");
  return static_cast<double>(ms) * 1e-3;
}

}  // namespace headrace::cuda
