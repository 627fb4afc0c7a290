#include "harness/backends/formats/format.h"

#include <array>

#include "harness/backends/formats/tar.h"
#include "harness/backends/formats/tfrecord.h"

namespace headrace::formats {

std::string_view to_string(Format format) {
  switch (format) {
    case Format::none:
      return "raw";
    case Format::tar:
      return "tar";
    case Format::tfrecord:
      return "tfrecord";
    case Format::mds:
      return "mds";
  }
  return "";
}

Format format_by_name(std::string_view name) noexcept {
  for (const char* end : {".tar", ".tar.gz", ".tgz", ".tar.zst"})
    if (name.ends_with(end)) return Format::tar;
  for (const char* end : {".tfrecord", ".tfrecords", ".tfrec", ".tfrecord.gz"})
    if (name.ends_with(end)) return Format::tfrecord;
  for (const char* end : {".mds", ".mds.zstd", ".mds.gz", ".mds.bz2", ".mds.br", ".mds.snappy"})
    if (name.ends_with(end)) return Format::mds;
  return Format::none;
}

Format format_by_content(const BytesAt& from) {
  std::array<unsigned char, kTarBlock> first{};
  const std::int64_t got = from(0, first.data(), first.size());
  std::uint64_t length = 0;
  if (got >= static_cast<std::int64_t>(kTarBlock) && !is_zero(first) && tar_header(first)) return Format::tar;
  if (got >= static_cast<std::int64_t>(kRecordHead) && record_head(std::span(first).first<kRecordHead>(), length) &&
      length > 0)
    return Format::tfrecord;
  return Format::none;
}

}  // namespace headrace::formats
