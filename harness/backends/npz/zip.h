// The members of a zip file by its directory (PKWARE's APPNOTE.TXT 6.3.10, with zip64), checked as Python's zipfile checks them.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "harness/backends/codec.h"

namespace headrace::npz {

struct ZipMember {
  std::string_view name;
  std::span<const unsigned char> packed;  // as it is stored
  std::uint64_t offset = 0;               // of that in the file
  std::uint64_t size = 0;                 // unpacked
  std::uint32_t crc = 0;                  // CRC-32 of the unpacked bytes
  bool deflated = false;                  // else it is packed
};

/// Goes through the directory of a file in memory. Nothing here allocates.
class ZipDirectory {
 public:
  /// `file` stays where it is. False: it is no zip file, or a cut one; `error` has the place.
  bool open(std::span<const unsigned char> file, DecodeError& error) noexcept;
  enum class Next { member, end, wrong };
  Next next(ZipMember& member, DecodeError& error) noexcept;

 private:
  /// Finds the `packed` bytes of the current entry, whose header should be at `header`.
  bool locate(ZipMember& member, std::uint64_t header, std::uint64_t packed, DecodeError& error) const noexcept;

  std::span<const unsigned char> file_;
  std::uint64_t at_ = 0, end_ = 0;  // in the directory: the next entry; behind the last
  std::uint64_t before_ = 0;        // bytes before the zip file
};

// Writing.

/// The bytes before and behind the only member of a zip file, which is stored uncompressed.
struct ZipFrame {
  std::vector<unsigned char> before, behind;
};
/// Throws RunError where `size` is 4 GiB or more.
ZipFrame zip_frame(std::string_view name, std::uint64_t size, std::uint32_t crc);

}  // namespace headrace::npz
