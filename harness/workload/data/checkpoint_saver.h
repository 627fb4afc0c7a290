// Saves a checkpoint as training frameworks do. Each rank writes its shard next to the old one, makes it durable, and
// replaces the old one.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "harness/backends/buffers.h"
#include "harness/base/footprint.h"
#include "harness/record/params.h"
#include "harness/record/recorder.h"
#include "harness/workload/data/block_loop.h"
#include "harness/workload/data/checkpoint/place.h"
#include "harness/workload/data/data_set.h"

namespace headrace::checkpoint {

enum class Durability { fsync, fdatasync, none };

struct SaveParams {
  std::string engine;
  bool objects = false;  // into an object store
  unsigned retries = 0;  // of objects: how often a part is sent again whose failure may pass
  unsigned ranks = 1;
  std::uint64_t shard_size = 0;  // [B], each rank
  std::uint64_t block_size = 0;  // [B], each write
  std::uint32_t queue_depth = 1;
  bool direct = false, preallocate = false, shared_file = false, async = false;
  Durability durability = Durability::fsync;
  double save_within_s = 0;  // shards are cut to the size that is saved in this time; 0: never

  /// Declares its keys, each with `prefix` in front, so that a workload can have others of the same
  /// name.
  static SaveParams declare(Params& params, const std::string& prefix = "");
  std::optional<Skip> check(Node& node) const;
  /// Reports combinations that objects do not allow.
  void check_parts(Params& params, const std::string& prefix) const;
  std::uint64_t total_bytes() const { return ranks * shard_size; }
  /// State, and the staging copy of asynchronous saves [B].
  std::uint64_t memory_bytes() const { return total_bytes() * (async ? 2 : 1); }
};

/// When a rank's save reached each stage [ns, CLOCK_MONOTONIC]; 0 = it did not.
struct SaveTimes {
  std::uint64_t begin_ns = 0;
  std::uint64_t staged_ns = 0;   // asynchronous: training can continue
  std::uint64_t written_ns = 0;  // the last write returned
  std::uint64_t durable_ns = 0;  // synced, renamed, and the folder synced
};

/// Latency channels that save() fills, besides the writes themselves: opening, syncing, renaming.
std::vector<std::string> save_parts();

/// Called on a rank's thread when training can continue, before its asynchronous save is written.
class Staged {
 public:
  virtual void staged() noexcept = 0;

 protected:
  ~Staged() = default;
};

class Saver {
 public:
  /// Makes the folder and every rank's state in memory; cuts shards that this storage would not save in time. Throws
  /// RunError.
  Saver(const SaveParams& params, Node& node, const DataProgress& progress);
  ~Saver();

  /// As they were asked for, but with shards as large as they are.
  const SaveParams& params() const { return params_; }
  /// The open question of shards smaller than requested; "" = they are as requested.
  const std::string& unproven() const { return unproven_; }

  /// Untimed, before each save: gives the state new content, which has its rank, offset and generation.
  void fill(std::uint64_t generation);
  /// On the rank's thread, untimed.
  void attach(unsigned rank) { place_->attach(rank); }
  /// On the rank's thread, timed. All ranks must take part. Throws RunError that names the file. Then, and when the
  /// recorder stops it, only the already published files of this save stay.
  SaveTimes save(unsigned rank, Recorder& recorder, Staged* staged = nullptr);
  /// After all ranks saved, so that they can once more: the same content. Lets go of the checkpoint before the last.
  void again() noexcept;
  /// Requests that could not be met.
  const std::vector<std::string>& notes() const { return notes_; }
  /// Reads back the content of the last fill() and save(), and reports differences.
  std::vector<WrongBlock> verify(const DataProgress& progress, std::size_t most = 8) const;

 private:
  class Attempt;
  const unsigned char* state(unsigned rank) const noexcept { return (*state_)[rank]; }

  SaveParams params_;
  std::string unproven_;
  std::vector<std::string> notes_;
  std::unique_ptr<Place> place_;
  std::unique_ptr<Buffers> state_, staging_;
  std::uint64_t key_ = 0;  // of the generation, in the blocks' labels
};

}  // namespace headrace::checkpoint
