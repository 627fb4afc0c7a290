// Headers of tar files (POSIX ustar and pax, GNU's long names): taken apart and made.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/backends/formats/bytes_at.h"

namespace headrace::formats {

inline constexpr std::uint64_t kTarBlock = 512;  // [B]: a header, and what members are padded to

using TarBlock = std::span<const unsigned char, kTarBlock>;

/// What one header says.
struct TarHeader {
  char type = '0';         // '0' a file's bytes; 'x' and 'g' pax records, 'L' and 'K' long names; others hold no bytes
  std::uint64_t size = 0;  // of what follows [B], without its padding
  bool has_prefix = false;
};
/// Nothing: no header, or its checksum is wrong.
std::optional<TarHeader> tar_header(TarBlock block) noexcept;
/// The end of an archive.
bool is_zero(TarBlock block) noexcept;
/// The name in a header, `room` bytes of which are written to `out`; its length, or 0 when there is no room.
std::size_t tar_name(TarBlock block, bool has_prefix, std::span<char> out) noexcept;

/// The value of one pax record (path, size); nothing when there is none.
std::optional<std::string_view> pax_value(std::string_view records, std::string_view key) noexcept;

/// The name that pax records give a member: of a sparse file the one that GNU tar keeps apart.
std::optional<std::string_view> pax_path(std::string_view records) noexcept;
/// Do pax records say that the member is a sparse file, whose bytes in the archive are those between its holes?
bool is_sparse(std::string_view records) noexcept;
/// Of GNU's type 'S': in its header, and in each further block of its map before its bytes, says whether one more follows.
inline constexpr std::size_t kSparseGoesOn = 482, kMapGoesOn = 504;

/// How WebDataset cuts a member's name: key up to the first dot of its last part, then what part of the sample it is.
struct SampleName {
  std::string_view key, part;  // "n01/a", "seg.png"; an empty key: no sample has it
};
SampleName sample_name(std::string_view path) noexcept;
/// Images of any format are one part: a data set may mix them.
bool is_image(std::string_view part) noexcept;

/// Parts (extensions; "image" for any image) that more than half of the first samples of a tar file have, of up to 64,
/// read header by header of `size` bytes; none when it has no samples.
std::vector<std::string> parts_of_first_samples(const BytesAt& from, std::uint64_t size);

// Writing.

/// Appends the headers of a file's member: a ustar header, with a pax header before it where the name or the size does
/// not fit.
void put_tar_header(std::string_view name, std::uint64_t size, std::string& out);
/// Appends what an archive may begin with: a global pax header with a comment of less than 400 bytes, two blocks.
void put_tar_comment(std::string_view comment, std::string& out);
constexpr std::uint64_t tar_padding(std::uint64_t size) { return (kTarBlock - size % kTarBlock) % kTarBlock; }
/// Ends an archive: two blocks of zeros.
inline constexpr std::uint64_t kTarEnd = 2 * kTarBlock;

}  // namespace headrace::formats
