// Copies of batches to the GPUs that compute with them, as a training loop makes them before each batch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

namespace headrace::pipeline {

/// On the one thread that hands batches over. Nothing here waits, allocates or throws; what fails is the implementer's to keep.
class BatchCopies {
 public:
  virtual ~BatchCopies() = default;
  /// Begins the copy of one batch to `gpu`, which has none under way.
  virtual void begin(std::size_t gpu) noexcept = 0;
  /// How long the copy took [ns], once it has arrived, or failed; nothing before.
  virtual std::optional<std::uint64_t> arrived(std::size_t gpu) noexcept = 0;
};

}  // namespace headrace::pipeline
