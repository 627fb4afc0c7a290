// What the workers of an input pipeline do in the timed region, and what they report on it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "harness/record/worker.h"
#include "harness/workload/data/pipeline.h"
#include "workloads/storage/input_pipeline/bad_samples.h"
#include "workloads/storage/input_pipeline/inputs.h"
#include "workloads/storage/input_pipeline/settings.h"
#include "workloads/storage/input_pipeline/stalls.h"

namespace headrace::input_pipeline {

inline constexpr unsigned kDecode = 1;  // the latency part

/// Where one worker's time went.
struct alignas(128) Tally {
  std::uint64_t reading_ns = 0, decoding_ns = 0, waiting_ns = 0, samples = 0, longest_ns = 0;
  std::uint64_t held = 0;     // samples that were read and stay in its shuffle buffer
  std::uint64_t decoded = 0;  // samples of files that hold several
  BadSamples bad;
  Stalls stalls;
};

class Workers {
 public:
  /// Both outlive it.
  Workers(Settings& settings, Inputs& inputs) : set_(settings), inputs_(inputs) {}

  /// Untimed. `traced`: what each did when is kept.
  void before_phase(std::uint64_t seed, bool traced);
  /// On the worker's thread, until data or time end, or no more are wanted.
  void run(Worker& worker, Pipeline& pipeline) noexcept;

  // After the phase.

  /// All together.
  Tally tally() const;
  /// Samples that could not be used.
  std::uint64_t passed_over() const;
  const std::vector<pipeline::SpanLog>& spans() const { return spans_; }
  /// The bad samples and stalls since the last call.
  void report(std::vector<std::string>& notes);

 private:
  void read_batches(Worker& worker, Pipeline& pipeline, Tally& tally) noexcept;
  /// Decodes a sample that was read. False: it cannot be decoded, and `done` has the reason.
  bool decode(unsigned worker, SampleRead& done) noexcept;
  /// Decodes each sample of a file that was read; unusable ones are counted where they are passed over. False: none can
  /// be decoded, or one cannot and must fail; `done` has the reason.
  bool decode_several(unsigned worker, SampleRead& done, Tally& tally) noexcept;
  /// An error that ends a shard that an index reported already is named, and not counted again.
  void add_bad(Tally& tally, const OperationError& error) const noexcept;
  void collect_bad();

  Settings& set_;
  Inputs& inputs_;
  std::vector<Tally> tallies_;
  std::vector<pipeline::SpanLog> spans_;  // of each worker
  NamedBadSamples bad_;
  Stalls stalls_;  // of all repetitions
};

}  // namespace headrace::input_pipeline
