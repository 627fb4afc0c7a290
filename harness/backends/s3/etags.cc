#include "harness/backends/s3/etags.h"

#include <algorithm>
#include <charconv>
#include <vector>

#include "harness/backends/s3/digest.h"

namespace headrace::s3 {
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
