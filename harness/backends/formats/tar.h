// Headers of tar files (POSIX ustar and pax, GNU's long names): taken apart and made.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/backends/formats/bad_sample.h"
#include "harness/backends/formats/bytes_at.h"

namespace headrace::formats {

inline constexpr std::uint64_t kTarBlock = 512;  // [B]: a header, and the alignment of members

using TarBlock = std::span<const unsigned char, kTarBlock>;

/// The content of one header.
struct TarHeader {
  char type = '0';         // '0' a file's bytes; 'x' and 'g' pax records, 'L' and 'K' long names; others hold no bytes
  std::uint64_t size = 0;  // of the content after it [B], without its padding
  bool has_prefix = false;
};
/// Nothing: no header, or its checksum is wrong.
std::optional<TarHeader> tar_header(TarBlock block) noexcept;
/// The end of an archive.
bool is_zero(TarBlock block) noexcept;
/// The name in a header, `room` bytes of which are written to `out`. Its length, or 0 when there is no room.
std::size_t tar_name(TarBlock block, bool has_prefix, std::span<char> out) noexcept;

/// The value of one pax record (path, size); nothing when there is none.
std::optional<std::string_view> pax_value(std::string_view records, std::string_view key) noexcept;

/// The name that pax records give a member: of a sparse file the one that GNU tar keeps apart.
std::optional<std::string_view> pax_path(std::string_view records) noexcept;
/// Do pax records say that the member is a sparse file? The archive then has the bytes between its holes.
bool is_sparse(std::string_view records) noexcept;
/// GNU's 'S': in the header and each further block of its map, does another block follow?
inline constexpr std::size_t kSparseGoesOn = 482, kMapGoesOn = 504;

/// WebDataset's split of a member's name: key up to the first dot of its last part, then the part's name.
struct SampleName {
  std::string_view key, part;  // "n01/a", "seg.png"; an empty key: no sample has it
};
/// Of a hidden file in a folder, as in "n01/.a", the key is "n01/".
SampleName sample_name(std::string_view path) noexcept;
/// Is it of a file "._NAME" in a folder? macOS's tar adds one to each file.
bool is_apple_double(const SampleName& name) noexcept;
/// Images of any format are one part: a data set may mix them.
bool is_image(std::string_view part) noexcept;

/// A file of an archive; of a sparse one the bytes between its holes.
struct TarFile {
  std::string_view name;
  std::uint64_t offset = 0, bytes = 0;
  bool sparse = false;
};
/// Calls `each` for the files of an archive of `size` bytes, until it returns false. It reads header by header. Returns
/// why an archive cannot be read to its end.
Flaw each_file(const BytesAt& from, std::uint64_t size, const std::function<bool(const TarFile&)>& each);

/// Parts (extensions; "image" for any image) in more than half of the first 64 samples of a tar file. It has `size`
/// bytes. none when it has no samples.
std::vector<std::string> parts_of_first_samples(const BytesAt& from, std::uint64_t size);

// Writing.

/// Appends the headers of a file's member: a ustar header. A pax header precedes it where the name or the size does not
/// fit.
void put_tar_header(std::string_view name, std::uint64_t size, std::string& out);
/// Appends an optional start of an archive: a global pax header of two blocks, with a comment below 400 bytes.
void put_tar_comment(std::string_view comment, std::string& out);
constexpr std::uint64_t tar_padding(std::uint64_t size) { return (kTarBlock - size % kTarBlock) % kTarBlock; }
/// Ends an archive: two blocks of zeros.
inline constexpr std::uint64_t kTarEnd = 2 * kTarBlock;

}  // namespace headrace::formats
