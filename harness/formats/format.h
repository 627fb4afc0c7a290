// Which format the shards of a data set have.
#pragma once

#include <cstdint>
#include <string_view>

namespace headrace::formats {

enum class Format : std::uint8_t { none, tar, tfrecord, mds };
std::string_view to_string(Format format);

/// By a name's end; none: it does not tell.
Format format_by_name(std::string_view name) noexcept;

/// By the first bytes of `fd`.
Format format_by_content(int fd) noexcept;

}  // namespace headrace::formats
