// The gain of packing before it is done. A sample of the images is packed, and read as files and as shards by turns.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "harness/judge/statistics/comparison.h"
#include "harness/pack/pack.h"

namespace headrace::pack {

struct GainOptions {
  std::uint64_t bytes = 256 << 20;  // of the sample, at most; one sample for each worker at least [B]
  unsigned workers = 8;             // threads that read, each a file or a shard at a time
  unsigned turns = statistics::kFirstLook;
  std::function<void(const std::string& why)> stays = {};  // called where the sample cannot be removed
};

struct Gain {
  std::uint64_t samples = 0, of = 0, bytes = 0, shards = 0;
  unsigned workers = 0;
  std::vector<double> as_files, as_shards;  // of each turn [samples/s]
  std::string in_memory;                    // how much memory gave of it; "" = nothing that is seen
  std::string not_seen;                     // why more of it may have been there than is seen; "" = all is seen
};

/// Packs a sample of what `whole` would pack, next to its target (TARGET.rehearsal), reads it, and removes it. Files
/// are opened, read to their end and closed in random order. Shards are read from front to back by 10 KiB (tar) or 256
/// KiB (TFRecord), as WebDataset and tf.data do. Nothing is decoded, no header parsed. Before each turn both are put
/// out of the page cache. Throws as pack() does.
Gain rehearse_gain(Plan whole, const GainOptions& options, const DataProgress& progress);

/// In a sentence or two: rates, and the ratio of samples from shards with 97.5 % bounds. Also whether that is a gain.
std::vector<std::string> describe(const Gain& gain);

}  // namespace headrace::pack
