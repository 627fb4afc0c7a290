// The parameters of a point of input_pipeline, and values that follow from them before anything is read.
#pragma once

#include <cmath>
#include <cstdint>
#include <optional>
#include <string>

#include "harness/backends/read_profiles.h"
#include "harness/base/footprint.h"
#include "harness/workload/data/checkpoint_saver.h"
#include "harness/workload/data/loader.h"
#include "harness/workload/data/storage_params.h"
#include "harness/workload/workload.h"
#include "workloads/storage/input_pipeline/row_groups.h"
#include "workloads/storage/input_pipeline/sample_decoding.h"
#include "workloads/storage/input_pipeline/shuffle_buffer.h"

namespace headrace::input_pipeline {

enum class Layout { files, shards, indexed };

/// An operation is what a worker reads at once: a file, a sample, or the samples of a row group.
struct Settings {
  /// Declares all parameters, and reports contradictions.
  explicit Settings(Params& p);
  Settings(const Settings&) = delete;

  /// Why this node cannot run it.
  std::optional<Skip> check(Node& node) const;
  Footprint footprint() const;

  /// Does a worker keep several requests in flight?
  bool flies() const { return loader.kind() == Loader::Kind::in_flight; }
  bool saves() const { return save_every > 0 && !saves_left_out; }
  std::uint64_t operations_per_batch() const { return loader.operations_per_batch(samples_per_operation()); }
  /// That a worker hands over at once.
  std::uint64_t operations_at_once() const { return loader.operations(samples_per_operation()); }
  std::uint64_t pieces() const { return std::max<std::uint64_t>(1, operations_per_batch() / operations_at_once()); }
  /// What each worker may be ahead by: batches of its own, or its part of those that all prepare together.
  unsigned ahead() const;
  /// A file may hold several; of a row group that was read a loader takes all rows.
  double samples_per_operation() const;
  std::uint64_t operation_bytes() const;
  double samples_per_batch() const { return static_cast<double>(operations_per_batch()) * samples_per_operation(); }
  double samples_per_step() const { return samples_per_batch() * gpus * batches_per_step; }
  /// The time of one batch, which may have other samples than batch_size where files hold several.
  std::uint64_t compute_ns() const;
  /// That are copied to a GPU before it computes [B]; 0 = none.
  std::uint64_t copied_bytes() const {
    return step_time_s > 0 ? static_cast<std::uint64_t>(std::ceil(static_cast<double>(gpu_copy) * samples_per_batch()))
                           : 0;
  }
  /// `shuffling` as operations count.
  Shuffling shuffled() const { return shuffling.in_operations(samples_per_operation()); }
  /// Batches that a worker hands over while its buffer still grows.
  std::uint64_t growing() const { return (shuffled().samples - shuffled().initial) / operations_at_once(); }
  /// Is what the files hold samples, as far as can be known?
  bool has_samples() const { return !spec.path.empty() || spec.holds_samples(); }
  bool decodes_what_is_read() const { return decoding.active() && from == "storage" && has_samples(); }
  /// Files of several samples, which are small shards, read whole.
  bool several_are_decoded() const {
    return decoding.active() && has_samples() && layout == Layout::files && samples_per_file > 1;
  }

  // In the order in which they are declared.
  Loader loader;
  Layout layout;
  ReadProfile profile;
  std::string from;  // storage, memory, none
  StorageParams io;
  DataSetSpec spec;
  double samples_per_file;
  std::uint64_t sample_size;
  unsigned gpus, batches_per_step;
  double step_time_s;
  double stalled_after_s;
  bool settled;  // utilization is of the steps after the start
  std::uint64_t epoch_steps;
  bool passes_over_bad;
  double cpu_time_s;        // of each sample
  double taking_s;          // of each batch, by its GPU's own process
  std::uint64_t gpu_copy;   // bytes of each sample that are copied to its GPU; 0 = none
  SampleDecoding decoding;  // and what decodes, once it is prepared
  RowGroups groups;         // and where they are, once they are found
  Shuffling shuffling;      // in samples
  std::uint64_t save_every;
  bool saves_left_out;
  checkpoint::SaveParams save;

 private:
  void check_params(Params& p) const;
  void check_groups(Params& p) const;
  void check_shuffling(Params& p) const;
  void check_objects(Params& p) const;
  std::optional<Skip> check_files_held(Node& node) const;
};

inline constexpr std::uint64_t kMemory =
    64_MiB;  // that samples of source memory are copied out of: more than processors keep to themselves

}  // namespace headrace::input_pipeline
