// A shuffle buffer between the shards that a worker reads and its batches. It holds undecoded samples, and hands over a
// random one.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "harness/base/footprint.h"
#include "harness/base/random.h"
#include "harness/record/params.h"
#include "workloads/storage/input_pipeline/sample_source.h"

namespace headrace {

class Node;

/// How one worker mixes what it reads.
struct Shuffling {
  std::uint64_t samples = 0;  // that are kept at most; 0: none, they are passed on as they come
  std::uint64_t initial = 0;  // that are held before the first one is handed over

  /// Declares `shuffle_buffer` and `shuffle_initial`. `usual`: the latter's default, where there are that many.
  static Shuffling declare(Params& params, std::uint64_t usual);
  bool active() const { return samples > 0; }
  /// The result of one operation is kept as a whole: samples of a row group.
  Shuffling in_operations(double samples_per_operation) const;
  /// Room for `bytes` each of `workers`; a reason where this node's memory has none.
  std::optional<Skip> check(Node& node, std::uint64_t workers, std::uint64_t bytes) const;
};

/// For one worker, over what it reads. Each read() reads one sample of `from` at most. It draws one of the held
/// samples, like WebDataset's shuffle(). Two are read for each one that goes until the buffer is full, then one. At the
/// end of the data it runs empty. Unusable samples are reported as they come.
class ShuffleBuffer final : public SampleSource {
 public:
  /// Untimed. `sample_bytes`: room that each has from the begin; it grows where a sample is larger. `number`: the
  /// worker's, which draws otherwise than the others.
  ShuffleBuffer(std::unique_ptr<SampleSource> from, const Shuffling& shuffling, std::uint64_t sample_bytes,
                unsigned number);

  void attach() override { from_->attach(); }
  void detach() noexcept override { from_->detach(); }
  void rewind(std::uint64_t seed) override;
  bool has(std::uint64_t batch) noexcept override { return held_ > 0 || from_->has(batch); }
  SampleRead read(std::uint64_t batch, std::uint64_t number) noexcept override;
  void pass_over() noexcept override { from_->pass_over(); }

  // Since rewind(), after the phase.

  /// Samples that are held now: read, and not handed over.
  std::uint64_t held() const noexcept { return held_; }
  std::uint64_t most_held() const noexcept { return most_held_; }
  std::uint64_t most_bytes() const noexcept { return most_bytes_; }
  /// Did the data end before the buffer was full? Then nothing was read any more while samples went.
  bool took_all() const noexcept { return ended_ && most_held_ < slots_.size(); }

 private:
  struct Slot {
    std::unique_ptr<unsigned char[]> memory;
    std::uint64_t room = 0, size = 0, offset = 0;
    std::uint32_t file = 0;
  };
  /// False: there is no memory for it.
  bool keep(const SampleRead& read) noexcept;
  void hand_over(SampleRead& done) noexcept;

  std::unique_ptr<SampleSource> from_;
  const std::uint64_t initial_;
  const unsigned number_;
  std::vector<Slot> slots_;  // the first held_ ones are held
  Random random_{0};
  std::uint64_t held_ = 0, held_bytes_ = 0, most_held_ = 0, most_bytes_ = 0;
  std::uint64_t to_read_ = 0;  // before the next one is handed over
  bool ended_ = false;         // there is no more to read
};

}  // namespace headrace
