// MD5 as S3 uses it: in Content-MD5, and in most ETags; and other digests as text.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace headrace::s3 {

using Md5 = std::array<unsigned char, 16>;

/// Nothing where OpenSSL has no MD5 (FIPS).
std::optional<Md5> md5_of(std::span<const unsigned char> bytes);
std::string base64_of(std::span<const unsigned char> bytes);
std::string hex_of(const Md5& digest);
/// The digest by "SHA256" or "SHA1"; nothing where OpenSSL has none.
std::optional<std::string> hex_digest_of(const char* algorithm, std::string_view text);

/// The ETag, without quotes, of an object that was uploaded in these parts.
std::optional<std::string> etag_of(std::span<const Md5> parts);

// ETags as stores report them, and their meaning for an object.

std::string_view without_quotes(std::string_view etag);

/// Does it look like the MD5 of what was put? Quotes or not.
bool is_md5(std::string_view etag);

/// Does it look like S3's ETag of that many parts: MD5 of MD5s, a dash, their number? Some stores number their objects
/// as they like.
bool is_of_parts(std::string_view etag, std::size_t parts);

/// The ETag, without quotes, of an object that is made of parts with these. Nothing where one of them is no MD5.
std::optional<std::string> etag_of_parts(std::span<const std::string> etags);

}  // namespace headrace::s3
