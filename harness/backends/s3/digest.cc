#include "harness/backends/s3/digest.h"

#include <openssl/evp.h>

#include <algorithm>
#include <charconv>
#include <vector>

namespace headrace::s3 {

std::optional<Md5> md5_of(std::span<const unsigned char> bytes) {
  Md5 digest{};
  if (EVP_Q_digest(nullptr, "MD5", nullptr, bytes.data(), bytes.size(), digest.data(), nullptr) != 1)
    return std::nullopt;
  return digest;
}

std::string base64_of(std::span<const unsigned char> bytes) {
  std::vector<unsigned char> text((bytes.size() + 2) / 3 * 4 + 1);
  const int length = EVP_EncodeBlock(text.data(), bytes.data(), static_cast<int>(bytes.size()));
  return {reinterpret_cast<const char*>(text.data()), static_cast<std::size_t>(length)};
}

namespace {

std::string hex_of_bytes(std::span<const unsigned char> bytes) {
  constexpr const char* kDigits = "0123456789abcdef";
  std::string text;
  for (const unsigned char byte : bytes) {
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

}  // namespace

std::string hex_of(const Md5& digest) { return hex_of_bytes(digest); }

std::optional<std::string> hex_digest_of(const char* algorithm, std::string_view text) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  std::size_t length = 0;
  if (EVP_Q_digest(nullptr, algorithm, nullptr, text.data(), text.size(), digest.data(), &length) != 1)
    return std::nullopt;
  return hex_of_bytes(std::span(digest).first(length));
}

std::optional<std::string> etag_of(std::span<const Md5> parts) {
  std::vector<unsigned char> all;
  for (const Md5& part : parts) all.insert(all.end(), part.begin(), part.end());
  const auto whole = md5_of(all);
  if (!whole) return std::nullopt;
  return hex_of(*whole) + "-" + std::to_string(parts.size());
}

namespace {

constexpr std::size_t kDigits = 2 * sizeof(Md5);

bool is_hex(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

}  // namespace

std::string_view without_quotes(std::string_view etag) {
  if (etag.size() >= 2 && etag.front() == '"' && etag.back() == '"') etag = etag.substr(1, etag.size() - 2);
  return etag;
}

bool is_md5(std::string_view etag) {
  const std::string_view text = without_quotes(etag);
  return text.size() == kDigits && is_hex(text);
}

bool is_of_parts(std::string_view etag, std::size_t parts) {
  const std::string_view text = without_quotes(etag);
  return text.size() > kDigits && is_hex(text.substr(0, kDigits)) &&
         text.substr(kDigits) == "-" + std::to_string(parts);
}

std::optional<std::string> etag_of_parts(std::span<const std::string> etags) {
  std::vector<Md5> parts;
  for (const std::string& etag : etags) {
    if (!is_md5(etag)) return std::nullopt;
    const std::string_view text = without_quotes(etag);
    Md5& part = parts.emplace_back();
    for (std::size_t i = 0; i < part.size(); ++i)
      std::from_chars(text.data() + 2 * i, text.data() + 2 * i + 2, part[i], 16);
  }
  return etag_of(parts);
}

}  // namespace headrace::s3
