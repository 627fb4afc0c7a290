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
/// Of "SHA256", "SHA1"; nothing where OpenSSL has none.
std::optional<std::string> hex_digest_of(const char* algorithm, std::string_view text);

/// The ETag, without quotes, of an object that was uploaded in these parts.
std::optional<std::string> etag_of(std::span<const Md5> parts);

}  // namespace headrace::s3
