// An image folder packed into shards: planned, written shard by shard, each read back before it gets its name. After
// any end, shards with names are whole, and the same packing continues behind them.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <string>
#include <vector>

#include "harness/backends/formats/format.h"
#include "harness/base/files/marked_folder.h"
#include "harness/pack/encoder.h"
#include "harness/pack/image_folder.h"
#include "harness/record/data_report.h"

namespace headrace::pack {

/// The kind of the mark in a folder of shards.
inline constexpr const char* kShardsKind = "shards";
/// Shards that are removed after their measurement.
inline constexpr const char* kRehearsalKind = "pack_rehearsal";

struct Options {
  std::string source, target;
  formats::Format format = formats::Format::tar;
  std::uint64_t shard_size = 1 << 30;  // most of one [B]; a single larger sample has one of its own
  bool shuffled = true;                // the samples' order; else by name
  bool follow_links = false;           // of the source; else one is an error
  const char* kind = kShardsKind;      // of the mark in the target
  ObjectStore* store = nullptr;        // of a source that is "s3://bucket/prefix"
};

struct Shard {
  std::uint64_t first = 0, samples = 0;  // in Plan::order
  std::uint64_t bytes = 0;               // of TFRecord at least its size, else its size
};

struct Plan {
  Options options;
  ImageFolder from;
  Encoding as;
  std::string settings;              // of MDS, as its shards have them
  std::vector<std::uint32_t> order;  // numbers of samples
  std::vector<Shard> shards;
  std::uint64_t bytes = 0;

  /// "shard-000003.tar"; of MDS "shard.00003.mds"
  std::string name(std::size_t shard) const;
};

/// Cuts `plan.order` into shards of at most options.shard_size; throws UsageError, which names a sample that is too large.
void cut_into_shards(Plan& plan);

/// Is this file of `folder` a shard as its manifest has it? Reads a shard whose time differs.
bool known_shard(const MarkedFolder& folder, const std::string& name, const struct stat& status);

/// Only reads. Throws UsageError (one folder is in the other, the target holds something else) and RunError.
Plan plan(const Options& options, const DataProgress& progress);

struct Packed {
  std::uint64_t samples = 0, bytes = 0;  // written and read back now
  std::uint64_t shards = 0, kept = 0;    // now, and by an earlier try
  double seconds = 0;
};

/// Throws RunError: too little space (reported before anything is written), a file that changed, storage that failed.
/// So is a shard that was changed since it was packed: none is overwritten.
/// UsageError: the target has shards of another packing, or of a folder that changed since. `progress`: bytes of all shards.
Packed pack(const Plan& plan, const DataProgress& progress);

}  // namespace headrace::pack
