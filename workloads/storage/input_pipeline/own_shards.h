// The user's own shards, read sample by sample as they really are. It finds shards, and one worker's path through its
// shards.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/backends/codec.h"
#include "harness/backends/file_io.h"
#include "harness/backends/formats/format.h"
#include "harness/backends/formats/mds.h"
#include "harness/backends/formats/payload.h"
#include "harness/backends/formats/sample_parser.h"
#include "harness/record/file_table.h"
#include "harness/workload/data/data_set.h"
#include "harness/workload/data/mds_index.h"
#include "workloads/storage/input_pipeline/sample_source.h"

namespace headrace {

/// What of a data set can be parsed.
struct OwnShards {
  formats::Format format = formats::Format::none;  // none: its bytes are read for what they are
  std::vector<std::uint32_t> files;                // in the data set: all where the format is none
  std::uint32_t others = 0;                        // files that are no shards of that format
  std::vector<std::string> empty;                  // shards by their names, of no byte
  formats::Foreign foreign;                        // what the files are where the format is none, if that is known
  std::vector<std::string> parts;                  // tar: what each sample has to have, as the first ones have it
  std::optional<formats::MdsColumns> columns;      // MDS: of the first shard whose head is whole
  std::vector<MdsIndexFault> faults;               // MDS: where an index.json is missing, or contradicts the files
  std::uint32_t packed = 0;                        // MDS: shards that are unpacked first
  const Codec* unpacks = nullptr;                  // by it

  /// Was this shard reported as a fault already? Its lost samples are then the same fault.
  bool describe(std::uint32_t file) const noexcept {
    return std::any_of(faults.begin(), faults.end(), [file](const MdsIndexFault& one) { return one.shard == file; });
  }

  /// Those of one worker of all nodes' workers: split over nodes first, as WebDataset does.
  std::vector<std::uint32_t> of(unsigned worker, unsigned workers, unsigned node, unsigned nodes) const;
};

/// shard_files(), and what parsing them takes. Untimed; opens a few files. `zstd`: unpacks MDS shards; nullptr: it cannot be used, and `why_not`. Throws
/// RunError if compressed MDS shards cannot be unpacked. Objects are none of MDS: StreamingDataset reads those out of copies in a
/// local folder.
OwnShards own_shards(const DataSet& data, const Codec* zstd = nullptr, const std::string& why_not = "");

/// For one worker. `keep`: of samples that are to be decoded, outlives the parser; nullptr: they are not.
std::unique_ptr<formats::SampleParser> parser_of(const OwnShards& all, formats::Payload* keep);

/// For shards as they are, and compressed ones.
class ShardParsers {
 public:
  ShardParsers(const OwnShards& all, formats::Payload* keep);
  /// A new shard of that name begins.
  formats::SampleParser* begin(std::string_view name) noexcept;

 private:
  std::unique_ptr<formats::SampleParser> plain_, packed_;
};

/// Parses `shards`, each from front to back by `block_size`, in a shuffled order. Bytes that are no sample give an
/// error kBadSample with their flaw; the next read continues behind them. `reader`: over `shards`. With `keep`, a
/// sample comes with its part to decode. `continued`: each phase continues where the one before ended, and around.
std::unique_ptr<SampleSource> own_shards_source(std::unique_ptr<BlockReader> reader, const FileTable& files,
                                                std::vector<std::uint32_t> shards, std::uint64_t block_size,
                                                const OwnShards& all, std::unique_ptr<formats::Payload> keep = nullptr,
                                                bool continued = false);

/// The samples of files that are small shards and were read whole. Of one worker.
class FileSamples {
 public:
  FileSamples(const OwnShards& all, std::unique_ptr<formats::Payload> keep);
  /// `file` stays where it is until next() is false. `name`: its path.
  void begin(std::span<const unsigned char> file, std::string_view name) noexcept;
  /// The next sample, or in its place `flaw`. `offset`: of bytes() in the file, or of the flaw. False: there is no
  /// more.
  bool next(formats::Flaw& flaw, std::uint64_t& offset) noexcept;
  /// To be decoded, of the sample that next() found; until the next call.
  std::span<const unsigned char> bytes() const noexcept { return keep_->bytes(); }

 private:
  std::unique_ptr<formats::Payload> keep_;  // outlives the parser
  ShardParsers parsers_;
  formats::SampleParser* parser_;
  std::span<const unsigned char> rest_;
  bool lost_ = false;
};

/// Untimed: the part to decode of each decodable sample, with its file and offset. It goes shard after shard until
/// `seen` returns false. Of each shard the first 64 MiB.
void first_samples(const DataSet& data, const OwnShards& all, std::unique_ptr<formats::Payload> keep,
                   const std::function<bool(std::span<const unsigned char>, std::uint32_t, std::uint64_t)>& seen);

}  // namespace headrace
