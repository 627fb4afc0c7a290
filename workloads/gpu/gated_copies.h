// A batch of copies that all wait behind a gate, so that copying is timed and not queueing.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "harness/backends/gpu.h"
#include "harness/record/params.h"
#include "harness/record/recorder.h"

namespace headrace::gpu {

/// One stream with the buffers that its copies go between.
struct Route {
  GpuStream* stream = nullptr;
  unsigned char* to = nullptr;
  const unsigned char* from = nullptr;
  bool by_cores = false;  // by a kernel, not by the copy engines
  void copy(std::uint64_t size, CopyKind kind) const {
    by_cores ? stream->copy_by_cores(to, from, size) : stream->copy(to, from, size, kind);
  }
};

/// `by:`, of copies between memories of GPUs.
inline bool declare_by_cores(Params& p) {
  return p.choice("by", "engine", {"engine", "cores"},
                  "engine: the GPU's copy engines; cores: a kernel on its multiprocessors, as NCCL copies") == "cores";
}

struct BatchTimes {
  double device_s = 0;                        // from the gate's opening to the last copy's end, by the device's clock
  std::uint64_t opened_ns = 0, ended_ns = 0;  // the same by the host's clock [CLOCK_MONOTONIC]
};

/// Queues `copies` copies of `size` bytes on each of `routes` behind the first one's gate, opens
/// it, and waits. `opposite`: twice as many copies the other way, so that they outlast those that
/// are timed. `submitted(ns)` gets how long each submitting call took.
template <class Submitted>
BatchTimes gated_batch(std::span<const Route> routes, std::uint64_t size, CopyKind kind, std::uint64_t copies,
                       std::span<const Route> opposite, Submitted&& submitted) {
  constexpr unsigned kBegin = 0, kEnd = 1;
  GpuStream& lead = *routes.front().stream;
  HeldStream gate(lead);
  lead.mark(kBegin);
  for (const Route& route : routes.subspan(1)) route.stream->after(lead, kBegin);
  for (const Route& route : opposite) {
    route.stream->after(lead, kBegin);
    const CopyKind back = kind == CopyKind::d2d ? kind : kind == CopyKind::h2d ? CopyKind::d2h : CopyKind::h2d;
    for (std::uint64_t i = 0; i < 2 * copies; ++i) route.copy(size, back);
  }
  for (std::uint64_t i = 0; i < copies; ++i) {
    for (const Route& route : routes) {
      const std::uint64_t begin = now_ns();
      route.copy(size, kind);
      submitted(now_ns() - begin);
    }
  }
  for (const Route& route : routes.subspan(1)) {
    route.stream->mark(kEnd);
    lead.after(*route.stream, kEnd);
  }
  lead.mark(kEnd);
  BatchTimes times;
  times.opened_ns = now_ns();
  gate.release();
  lead.wait_mark(kEnd);
  times.ended_ns = now_ns();
  times.device_s = lead.seconds(kBegin, lead, kEnd);
  for (const Route& route : opposite) route.stream->wait();
  return times;
}

}  // namespace headrace::gpu
