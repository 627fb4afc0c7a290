// The kept part of a sample: the first part that begins like a file of the codec. Or all of it.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "harness/backends/formats/bad_sample.h"

namespace headrace::formats {

/// For one worker, filled by its parser. Its memory grows to the largest sample's size.
class Payload {
 public:
  static constexpr std::uint64_t kMost = std::uint64_t{1} << 30;  // of one sample [B]

  /// `beginnings`: a file of the codec has one of them; each at least a byte. `room`: made now [B]. `others`: of codecs that
  /// decode a sample without such a part, such as a PNG where the others are JPEGs.
  Payload(std::vector<std::string_view> beginnings, std::uint64_t room, std::vector<std::string_view> others = {});
  /// All parts of a sample are kept, one behind the other.
  explicit Payload(std::uint64_t room);

  /// The flaw of the parsed sample: Flaw::none, nothing_to_decode or too_large.
  Flaw flaw() const noexcept;
  /// Where there is no flaw: the kept bytes; valid until the next bytes of the shard are parsed.
  std::span<const unsigned char> bytes() const noexcept {
    if (takes_spare()) return {memory_.get(), spare_size_};
    return {memory_.get() + first_, size_};
  }
  std::uint64_t offset() const noexcept { return takes_spare() ? spare_at_ : at_ + first_; }  // of these in the shard

  // For parsers.

  /// A new sample.
  void begin() noexcept { chosen_ = passes_by_ = too_large_ = is_spare_ = false, size_ = first_ = spare_size_ = 0; }
  /// A part begins at `at` of the shard. It is kept if none is yet and it begins as it should.
  void begin_part(std::uint64_t at) noexcept;
  void add(std::span<const unsigned char> bytes) noexcept;
  /// All of the sample is kept, from `at` on; then choose() selects the part.
  void begin_whole(std::uint64_t at) noexcept;
  /// `part` of bytes(); an empty one: there is none.
  void choose(std::span<const unsigned char> part) noexcept;
  /// Does `part` begin as a file of the codec?
  bool fits(std::span<const unsigned char> part) const noexcept { return all_ || begins(part, beginnings_); }
  /// As one of another codec?
  bool fits_others(std::span<const unsigned char> part) const noexcept { return begins(part, others_); }

 private:
  static bool begins(std::span<const unsigned char> part, const std::vector<std::string_view>& with) noexcept;
  bool make_room(std::uint64_t wanted) noexcept;
  bool is_own() const noexcept { return chosen_ || (size_ > 0 && fits({memory_.get() + first_, size_})); }
  bool takes_spare() const noexcept { return spare_size_ > 0 && !all_ && !is_own(); }

  const std::vector<std::string_view> beginnings_, others_;
  const bool all_ = false;
  std::size_t longest_ = 1;  // of beginnings_ and others_
  std::unique_ptr<unsigned char[]> memory_;
  std::uint64_t room_ = 0, first_ = 0, size_ = 0, at_ = 0;
  std::uint64_t spare_size_ = 0, spare_at_ = 0;  // of a part of another codec, before the one at hand in the memory
  bool chosen_ = false, passes_by_ = false, too_large_ = false;
  bool is_spare_ = false;  // the part at hand is one of another codec
};

}  // namespace headrace::formats
