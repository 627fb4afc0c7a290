#include "harness/backends/formats/bad_sample.h"

#include <algorithm>
#include <cstddef>

namespace headrace::formats {

std::string_view to_string(Flaw flaw) {
  switch (flaw) {
    case Flaw::none:
      return "nothing is wrong";
    case Flaw::bad_header:
      return "no tar header, or a damaged one; the rest of the shard is lost";
    case Flaw::unsupported:
      return "a member that tar files of samples do not have; the rest of the shard is lost";
    case Flaw::truncated:
      return "the shard ends in the middle of a sample";
    case Flaw::length_crc:
      return "wrong CRC of a record's length; the rest of the shard is lost";
    case Flaw::data_crc:
      return "wrong CRC of a record's bytes";
    case Flaw::missing_part:
      return "a sample without a part that the others have (its label?)";
    case Flaw::duplicate_part:
      return "a sample with two parts of one name";
    case Flaw::no_sample:
      return "the shard holds no sample";
    case Flaw::compressed:
      return "the shard is compressed, which is not read";
    case Flaw::undecodable:
      return "it cannot be decoded";
    case Flaw::nothing_to_decode:
      return "no part of the sample begins as files of the codec do";
    case Flaw::too_large:
      return "there is no memory for the sample";
    case Flaw::bad_table:
      return "no table of samples as MDS shards have it, a damaged one, or one of more than 1048576; the rest of the "
             "shard is lost";
    case Flaw::column_sizes:
      return "sizes of a sample's columns that do not add up to the sample's";
    case Flaw::cannot_unpack:
      return "the compressed shard cannot be unpacked; all of it is lost";
    case Flaw::apple_double:
      return "an AppleDouble file of macOS's tar (._NAME in a folder), which WebDataset takes for a sample: pack with "
             "COPYFILE_DISABLE=1 tar";
    case Flaw::webp:
      return "WebP images are not decoded";
    case Flaw::gif:
      return "GIF images are not decoded";
    case Flaw::bmp:
      return "BMP images are not decoded";
    case Flaw::tiff:
      return "TIFF images are not decoded";
    case Flaw::jpeg_xl:
      return "JPEG XL images are not decoded";
    case Flaw::jpeg_2000:
      return "JPEG 2000 images are not decoded";
    case Flaw::heif:
      return "HEIF and AVIF images are not decoded";
  }
  return "";
}

Flaw other_image(std::span<const unsigned char> bytes) noexcept {
  using namespace std::string_view_literals;
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (text.starts_with("RIFF"sv) && text.substr(std::min<std::size_t>(8, text.size())).starts_with("WEBP"sv))
    return Flaw::webp;
  if (text.starts_with("GIF8"sv)) return Flaw::gif;
  if (text.starts_with("BM"sv)) return Flaw::bmp;
  if (text.starts_with("II*\0"sv) || text.starts_with("MM\0*"sv)) return Flaw::tiff;
  if (text.starts_with("\xff\x0a"sv) || text.starts_with("\0\0\0\x0cJXL "sv)) return Flaw::jpeg_xl;
  if (text.starts_with("\0\0\0\x0cjP  "sv)) return Flaw::jpeg_2000;
  if (text.size() > 4 && text.substr(4).starts_with("ftyp"sv)) return Flaw::heif;
  return Flaw::none;
}

}  // namespace headrace::formats
