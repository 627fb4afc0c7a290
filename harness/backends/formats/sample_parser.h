// Cuts a shard's bytes, as they come from storage, into samples. Nothing here allocates, locks or keeps bytes; a
// Payload keeps the part to decode.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "harness/backends/formats/bad_sample.h"
#include "harness/backends/formats/mds.h"
#include "harness/backends/formats/payload.h"

namespace headrace::formats {

/// The next finding of a parser.
struct Found {
  enum class Kind : std::uint8_t {
    more,    // nothing yet: all bytes are used
    sample,  // one that is whole
    bad,     // one that is not; rest_is_lost(flaw): nothing more of this shard may be given
    over,    // of end(): that was all
  };
  Kind kind = Kind::more;
  Flaw flaw = Flaw::none;
  std::uint64_t used = 0;    // of the bytes given
  std::uint64_t bytes = 0;   // of the sample's parts, headers not counted
  std::uint64_t offset = 0;  // in the shard, the begin of the sample or of the bad bytes
};

/// For one worker. A parser with a Payload fills it. After a found sample it holds the part to decode, until the next
/// call. The Payload outlives the parser.
class SampleParser {
 public:
  virtual ~SampleParser() = default;
  /// A new shard.
  virtual void begin() noexcept = 0;
  /// Its next bytes, up to the end of a sample at most: the caller gives unused bytes again.
  virtual Found take(std::span<const unsigned char> bytes) noexcept = 0;
  /// It has no more bytes. To be called until `over`.
  virtual Found end() noexcept = 0;
};

/// Parses tar shards: members with one key are a sample, as in WebDataset. The key is the path up to the first dot of
/// the name. `parts`: those that each sample has to have (parts_of_first_samples()); at most 8.
std::unique_ptr<SampleParser> tar_parser(const std::vector<std::string>& parts, Payload* keep = nullptr);

/// Parses TFRecord files: a record is a sample; both CRCs are checked. To be decoded is the first such value of bytes
/// of a tf.train.Example, or the record itself.
std::unique_ptr<SampleParser> tfrecord_parser(Payload* keep = nullptr);

/// Parses MDS shards. `columns`: those of the data set, to hold samples of shards with the same settings to. nothing:
/// only where samples begin and end is reported. To be decoded is the first such column of a sample whose columns are
/// known.
std::unique_ptr<SampleParser> mds_parser(const std::optional<MdsColumns>& columns, Payload* keep = nullptr);

/// A shard that is compressed as a whole, by its first bytes (gzip, zstd, bzip2, xz): neither is read here.
bool looks_compressed(std::span<const unsigned char> first) noexcept;

}  // namespace headrace::formats
