// The data set of an input pipeline, and each worker's way through it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "harness/workload/data/data_set.h"
#include "workloads/storage/block_places.h"
#include "workloads/storage/input_pipeline/own_shards.h"
#include "workloads/storage/input_pipeline/settings.h"
#include "workloads/storage/whole_files.h"

namespace headrace::input_pipeline {

class Inputs {
 public:
  /// `settings` outlives it; what decodes is prepared there.
  explicit Inputs(Settings& settings) : set_(settings) {}

  /// Untimed. Throws RunError: the data cannot be used.
  void prepare(Node& node, const DataProgress& progress);
  /// Untimed: a new order.
  void before_phase(std::uint64_t seed);
  void clear();

  SampleSource& source(unsigned worker) noexcept { return *sources_[worker]; }
  /// The samples of the file that a worker read; nullptr: a file is one sample.
  FileSamples* several(unsigned worker) noexcept { return several_.empty() ? nullptr : &several_[worker]; }
  const DataSet* data() const { return data_.get(); }
  /// nullptr: samples are no files.
  const FileTable* files() const { return data_ ? &data_->files() : nullptr; }
  /// The mean size of files that are a sample each, or hold a few. 0: all samples are of one size, as far as is known.
  double mean_file_bytes() const;
  const OwnShards& shards() const { return shards_; }
  /// Shards and files that could not be used, reported before anything was read; nothing where none are parsed.
  std::optional<std::uint64_t> bad_shards() const;
  /// That no shard was left for.
  unsigned idle_workers() const { return idle_workers_; }
  unsigned team_index() const { return team_index_; }

  bool shuffles() const { return !shuffles_.empty(); }
  /// Samples that stay in a worker's shuffle buffer.
  std::uint64_t held(unsigned worker) const { return shuffles() ? shuffles_[worker]->held() : 0; }
  /// The most bytes in all of the buffers together.
  double shuffle_bytes() const;
  /// Why a first sample never came; "" = that is not why.
  std::string still_filling() const;
  /// `first_wait_s`: for the first step's data, where there was a step.
  void report_shuffling(std::optional<double> first_wait_s, std::vector<std::string>& notes) const;
  void report_engine(std::vector<std::string>& notes);
  /// Once.
  void report_shards(std::vector<std::string>& notes);
  std::vector<WrongBlock> verify(const DataProgress& progress);

 private:
  void prepare_decoding(Node& node, const DataProgress& progress);
  /// Which files are shards to be parsed. Throws RunError where there is too little and that is to fail.
  void find_shards();
  void find_several();
  /// Throws RunError: the part to decode cannot be distinguished.
  OwnShards parsed_shards() const;
  std::unique_ptr<SampleSource> make_source(unsigned number) const;
  /// The part that one worker keeps of each sample that it parses; nullptr: none.
  std::unique_ptr<formats::Payload> payload() const;

  Settings& set_;
  unsigned team_index_ = 0, team_size_ = 1;  // processes that share the files
  std::shared_ptr<DataSet> data_;
  StorageEngine* engine_ = nullptr;
  const Codec* zstd_ = nullptr;  // unpacks shards
  std::string why_no_zstd_;
  std::optional<BlockPlaces> places_;
  OwnShards shards_;
  std::vector<FileSamples> several_;  // of each worker, where files hold several samples that are decoded
  unsigned idle_workers_ = 0;
  std::vector<std::string> shard_notes_;
  std::vector<unsigned char> memory_;
  FileQueue order_;
  std::vector<std::unique_ptr<SampleSource>> sources_;
  std::vector<ShuffleBuffer*> shuffles_;  // of each worker, among them, where there is one
};

}  // namespace headrace::input_pipeline
