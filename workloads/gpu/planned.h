// The time of a point on GPUs, for plans. A plan needs no GPU, so it assumes a usual node with eight of them.
#pragma once

#include <cstdint>

#include "harness/base/footprint.h"

namespace headrace::gpu {

/// A node that is slower than those that training is planned for today.
struct PlannedNode {
  static constexpr unsigned gpus = 8;
  static constexpr unsigned pairs = gpus * (gpus - 1);
  static constexpr double link = 25e9;     // host to GPU and back, pinned [B/s]
  static constexpr double pageable = 6e9;  // by one thread
  static constexpr double peer = 200e9;    // between two GPUs
  static constexpr double memory = 600e9;  // copies within one
  static constexpr double pinning = 2e9;   // for all GPUs of a process
  static constexpr double patterns = 2e9;  // made or checked by one processor
  static constexpr double call_s = 5e-6;   // of a copy, however small
  static constexpr const char* words = "eight GPUs behind PCI Express 4, joined by NVLink";
};

/// For one GPU after the other, each with buffers of `bytes` that are pinned, filled and checked.
inline Footprint planned(Footprint f, double repetition_s, std::uint64_t bytes_of_a_gpu) {
  const auto bytes = static_cast<double>(bytes_of_a_gpu);
  f.repetition_s = repetition_s;
  f.around_s = 1 + PlannedNode::gpus * bytes * (1 / PlannedNode::pinning + 2 / PlannedNode::patterns);
  f.reckoned_with = PlannedNode::words;
  return f;
}

}  // namespace headrace::gpu
