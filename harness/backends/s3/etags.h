// ETags as stores report them, and what they say of an object.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace headrace::s3 {

std::string_view without_quotes(std::string_view etag);

/// Does it look like the MD5 of what was put? Quotes or not.
bool is_md5(std::string_view etag);

/// Does it look like S3's of an object that was uploaded in so many parts: MD5 of MD5s, a dash, their number? Some stores
/// number their objects as they like.
bool is_of_parts(std::string_view etag, std::size_t parts);

/// The ETag, without quotes, of an object that is made of parts with these; nothing where one of them is no MD5.
std::optional<std::string> etag_of_parts(std::span<const std::string> etags);

}  // namespace headrace::s3
