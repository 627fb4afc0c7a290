// Common to the workloads that read blocks of large files: the imitated loader, the engine, the rate.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "harness/backends/read_profiles.h"
#include "harness/workload/data/block_loop.h"
#include "harness/workload/data/loader.h"
#include "harness/workload/data/open_loop.h"
#include "harness/workload/data/storage_params.h"
#include "harness/workload/data/tuning.h"
#include "harness/workload/workload.h"
#include "workloads/storage/object_metrics.h"

namespace headrace {

class BlockReads : public Workload, public ReadsFiles, public SearchesSettings {
 public:
  std::optional<Skip> check(Node& node) final { return io_.check(node); }
  unsigned workers() const final { return io_.workers; }
  std::vector<CacheState> cache_states() const final { return io_.cache_states(); }
  void prepare(Node& node, const DataProgress& progress) final;
  void search(const RunTrial& trial) final;
  const DataSet* data() const final { return data_.get(); }
  void before_run(Worker& worker) final { readers_[worker.index].io->attach(); }
  std::vector<WrongBlock> verify(const DataProgress& progress) final { return data_->verify(progress); }
  std::vector<std::string> notes() final;
  void cleanup(Node&) final;

 protected:
  /// Where the workloads differ.
  struct Keys {
    std::vector<std::string> profiles;  // of read_profile, the default first
    const char* profile_help;
    StorageParams::Defaults (*io)(ReadProfile);  // the engine follows from the loader where none is named
    bool tunes_block_size;
    Advice advice;  // advice to the kernel about the order
  };
  struct Reader {
    std::unique_ptr<BlockReader> io;
    BlockLoop loop;
  };

  /// Declares the keys that come before a workload's own.
  BlockReads(Params& params, const Keys& keys);
  /// Declares the keys that come after, and reports contradictions.
  void declare_rate(Params& params);

  /// Which files of the data set the workers read: once it is open.
  virtual void choose_files() = 0;
  virtual std::span<const std::uint32_t> files_of(unsigned worker) const = 0;
  /// The files that were not read, or the workers without files; "" = all is well.
  virtual std::string left_out() const = 0;

  /// How many reads a batch of the loader is.
  std::uint64_t reads_in_batch() const;

  Loader loader_;
  const ReadProfile profile_;
  StorageParams io_;
  Tuning tuning_;
  const DataSetSpec spec_;
  std::uint64_t sample_size_ = 1;  // set by the workload before declare_rate()
  OpenLoop open_loop_;
  ObjectRequests requests_;
  unsigned team_index_ = 0, team_size_ = 1;  // processes that read the same data set
  std::shared_ptr<DataSet> data_;
  std::vector<Reader> readers_;  // of each worker

 private:
  void open_readers();

  const Advice advice_;
  Backends* backends_ = nullptr;
};

}  // namespace headrace
