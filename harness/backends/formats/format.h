// Which format the shards of a data set have.
#pragma once

#include <cstdint>
#include <string_view>

#include "harness/backends/formats/bytes_at.h"

namespace headrace::formats {

enum class Format : std::uint8_t { none, tar, tfrecord, mds };
std::string_view to_string(Format format);

/// By a name's end; none: it does not tell.
Format format_by_name(std::string_view name) noexcept;

/// By the first bytes.
Format format_by_content(const BytesAt& from);

}  // namespace headrace::formats
