#include "harness/backends/formats/mds.h"

#include <unistd.h>

#include <array>
#include <cstring>
#include <nlohmann/json.hpp>

#include "harness/backends/formats/little_endian.h"

namespace headrace::formats {
namespace {

constexpr std::uint64_t kLongestSettings = 1 << 20;   // [B]
constexpr std::uint64_t kLargestColumn = 0xffffffff;  // of 4 bytes [B]

/// `read`: fills memory from an offset of the shard; false: it has fewer bytes.
template <class Read>
std::optional<MdsColumns> columns_by(const Read& read, std::uint64_t size) {
  std::array<unsigned char, 8> head{};
  if (!read(head.data(), head.size(), 0)) return std::nullopt;
  const std::uint64_t count = little_endian_32(head.data()), first = little_endian_32(head.data() + 4);
  const std::uint64_t begin = 8 + 4 * count;
  if (count > kMostMdsSamples || first < begin || first > size || first - begin > kLongestSettings) return std::nullopt;
  std::string settings(first - begin, '\0');
  if (!read(settings.data(), settings.size(), begin)) return std::nullopt;
  return mds_columns(settings);
}

/// A list of `count` words; else none.
std::vector<std::string> words_of(const nlohmann::json& settings, const char* key, std::size_t count) {
  std::vector<std::string> words;
  if (!settings.contains(key) || !settings[key].is_array() || settings[key].size() != count) return words;
  for (const auto& word : settings[key]) words.push_back(word.is_string() ? word.get<std::string>() : "");
  return words;
}

}  // namespace

std::optional<MdsColumns> mds_columns(std::string_view settings) {
  const auto json = nlohmann::json::parse(settings, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return std::nullopt;
  const auto format = json.find("format");
  const auto sizes = json.find("column_sizes");
  if (format == json.end() || *format != "mds" || sizes == json.end() || !sizes->is_array()) return std::nullopt;
  MdsColumns columns{.settings = std::string(settings), .fixed = 0, .variable = 0};
  for (const auto& size : *sizes) {
    if (size.is_null()) {
      ++columns.variable;
      columns.sizes.emplace_back();
    } else if (size.is_number_unsigned() && size.get<std::uint64_t>() <= kLargestColumn) {
      columns.fixed += size.get<std::uint64_t>();
      columns.sizes.emplace_back(size.get<std::uint32_t>());
    } else {
      return std::nullopt;
    }
  }
  columns.names = words_of(json, "column_names", columns.sizes.size());
  columns.encodings = words_of(json, "column_encodings", columns.sizes.size());
  return columns;
}

std::optional<MdsColumns> mds_columns_of(int fd, std::uint64_t size) {
  return columns_by(
      [fd](void* to, std::size_t length, std::uint64_t offset) {
        return ::pread(fd, to, length, static_cast<off_t>(offset)) == static_cast<ssize_t>(length);
      },
      size);
}

std::optional<MdsColumns> mds_columns_in(std::span<const unsigned char> shard) {
  return columns_by(
      [shard](void* to, std::size_t length, std::uint64_t offset) {
        if (offset > shard.size() || length > shard.size() - offset) return false;
        std::memcpy(to, shard.data() + offset, length);
        return true;
      },
      shard.size());
}

}  // namespace headrace::formats
