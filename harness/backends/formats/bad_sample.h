// An unusable sample: its place and its fault.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace headrace::formats {

enum class Flaw : std::uint8_t {
  none,
  bad_header,         // no header where one belongs, or one whose checksum is wrong
  unsupported,        // a member that is no plain file's bytes, or a name or header of no sensible length
  truncated,          // the shard ends in the middle
  length_crc,         // of a record's length
  data_crc,           // of a record's bytes
  missing_part,       // a part that the data set's other samples have
  duplicate_part,     // two parts of one name
  no_sample,          // a shard that holds none
  compressed,         // a shard as a whole
  undecodable,        // by the codec of its declared kind
  nothing_to_decode,  // no part of it begins as the codec's files do
  too_large,          // to be held in memory
  bad_table,          // of where the samples of an MDS shard begin
  column_sizes,       // of an MDS sample: they do not add up to its size
  cannot_unpack,      // a compressed shard
  apple_double,       // a file that macOS's tar adds for each sample
  webp,               // from here on: a format of images that is not decoded here
  gif,
  bmp,
  tiff,
  jpeg_xl,
  jpeg_2000,
  heif,
};

/// In words, to be put behind "FILE at offset N: ".
std::string_view to_string(Flaw flaw);

/// The format of an image that is not decoded here, by its first bytes; none: it is not known.
Flaw other_image(std::span<const unsigned char> bytes) noexcept;
/// Nothing is wrong with such a sample.
constexpr bool is_other_image(Flaw flaw) { return flaw >= Flaw::webp; }
/// How to measure with such images.
inline constexpr std::string_view kOtherImages =
    "dataset.codec: none reads without decoding, rehearse --calibrate pillow measures the job's decoder";

/// Whether nothing after it can be found. A record whose bytes are wrong has the right length, and the next one
/// follows.
constexpr bool rest_is_lost(Flaw flaw) {
  return flaw == Flaw::bad_header || flaw == Flaw::unsupported || flaw == Flaw::truncated || flaw == Flaw::length_crc ||
         flaw == Flaw::compressed || flaw == Flaw::bad_table || flaw == Flaw::cannot_unpack;
}

struct BadSample {
  std::uint32_t file = 0;    // in the data set
  std::uint64_t offset = 0;  // where the bad bytes begin [B]
  Flaw what = Flaw::none;

  bool operator==(const BadSample&) const = default;
};

}  // namespace headrace::formats
