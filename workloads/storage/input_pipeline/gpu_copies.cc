#include "workloads/storage/input_pipeline/gpu_copies.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <exception>

#include "harness/base/units.h"
#include "harness/machine/numa.h"

namespace headrace::input_pipeline {
namespace {

constexpr unsigned kBegin = 0, kEnd = 1;  // marks

}  // namespace

GpuCopies::GpuCopies(GpuBackend& backend, unsigned gpus, std::uint64_t bytes) : bytes_(bytes) {
  const std::vector<NumaNode> nodes = numa_nodes();
  for (unsigned i = 0; i < gpus; ++i) {
    Gpu& gpu = backend.gpu(i % backend.count());
    std::string why;
    const NumaNode* const near = choose_numa_node(NumaChoice::local, gpu.facts().numa_node, nodes, why);
    Lane& lane = lanes_.emplace_back();
    lane.host = std::make_unique<gpu::HostArea>(gpu, gpu::HostMemory::pinned, bytes, near);
    lane.device = gpu.allocate(bytes);
    lane.stream = gpu.stream();
  }
  note_ = fmt::format("batches of {} are copied from pinned memory to {} GPU{}, before each computes",
                      format_quantity(static_cast<double>(bytes), Dimension::bytes), std::min(gpus, backend.count()),
                      std::min(gpus, backend.count()) == 1 ? "" : "s");
  if (gpus > backend.count()) note_ += fmt::format("; {} emulated ones share them", gpus);
}

GpuCopies::~GpuCopies() {
  for (Lane& lane : lanes_) {
    try {
      if (lane.under_way) lane.stream->wait();
    } catch (const std::exception&) {  // the GPU is lost; its memory is not given back to it
    }
  }
}

void GpuCopies::attach() {
  // The first copy is slower: it was made before any is timed.
  for (Lane& lane : lanes_) {
    lane.stream->attach();
    lane.stream->copy(lane.device->begin(), lane.host->begin(), bytes_, CopyKind::h2d);
    lane.stream->wait();
    lane.under_way = false;
  }
  sum_s_ = 0;
  copies_ = 0;
}

void GpuCopies::begin(std::size_t gpu) noexcept {
  Lane& lane = lanes_[gpu];
  try {
    lane.stream->mark(kBegin);
    lane.stream->copy(lane.device->begin(), lane.host->begin(), bytes_, CopyKind::h2d);
    lane.stream->mark(kEnd);
    lane.under_way = true;
  } catch (const std::exception& e) {
    if (failure_.empty()) failure_ = e.what();
  }
}

std::optional<std::uint64_t> GpuCopies::arrived(std::size_t gpu) noexcept {
  Lane& lane = lanes_[gpu];
  if (!lane.under_way) return 0;  // it failed, which take_failure() reports
  try {
    if (!lane.stream->reached(kEnd)) return std::nullopt;
    lane.under_way = false;
    const double took_s = lane.stream->seconds(kBegin, *lane.stream, kEnd);
    sum_s_ += took_s;
    ++copies_;
    return static_cast<std::uint64_t>(std::llround(1e9 * took_s));
  } catch (const std::exception& e) {
    lane.under_way = false;
    if (failure_.empty()) failure_ = e.what();
    return 0;
  }
}

}  // namespace headrace::input_pipeline
