// Batches of an input pipeline copied to real GPUs before each computes, from pinned memory, as `.to(device)` does.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "harness/backends/gpu.h"
#include "harness/workload/data/pipeline.h"
#include "workloads/gpu/host_area.h"

namespace headrace::input_pipeline {

/// Copies a buffer of a batch's size, not the samples. The time of a copy does not depend on its content. Emulated GPU
/// i is real GPU i modulo their number.
class GpuCopies final : public pipeline::BatchCopies {
 public:
  /// Untimed. `bytes`: of each batch. Throws RunError when there is no memory for two of them on a GPU and its host.
  GpuCopies(GpuBackend& backend, unsigned gpus, std::uint64_t bytes);
  ~GpuCopies() override;

  /// Untimed, on the thread that is going to copy.
  void attach();
  void begin(std::size_t gpu) noexcept override;
  std::optional<std::uint64_t> arrived(std::size_t gpu) noexcept override;
  /// The first error since the last call; "" = none.
  std::string take_failure() { return std::exchange(failure_, ""); }
  /// The mean time of a copy since attach() [s].
  double mean_s() const noexcept { return copies_ > 0 ? sum_s_ / static_cast<double>(copies_) : 0; }
  const std::string& note() const noexcept { return note_; }

 private:
  struct Lane {
    std::unique_ptr<gpu::HostArea> host;
    std::unique_ptr<GpuMemory> device;
    std::unique_ptr<GpuStream> stream;
    bool under_way = false;
  };
  const std::uint64_t bytes_;
  std::vector<Lane> lanes_;  // of each emulated GPU
  std::string failure_, note_;
  double sum_s_ = 0;
  std::uint64_t copies_ = 0;
};

}  // namespace headrace::input_pipeline
