#include <algorithm>
#include <nlohmann/json.hpp>

#include "harness/backends/formats/little_endian.h"
#include "harness/backends/formats/mds.h"

namespace headrace::formats {

std::string mds_settings(const std::vector<MdsColumn>& columns, std::uint64_t most_bytes) {
  using Json = nlohmann::json;  // sorted by keys, as the library's is
  Json encodings = Json::array(), names = Json::array(), sizes = Json::array();
  for (const MdsColumn& column : columns) {
    names.push_back(column.name);
    encodings.push_back(column.encoding);
    sizes.push_back(column.size ? Json(*column.size) : Json(nullptr));
  }
  return Json{{"version", 2},
              {"format", "mds"},
              {"compression", nullptr},
              {"hashes", Json::array()},
              {"size_limit", most_bytes},
              {"column_names", std::move(names)},
              {"column_encodings", std::move(encodings)},
              {"column_sizes", std::move(sizes)}}
      .dump();
}

std::string mds_head(std::span<const std::uint64_t> sizes, std::string_view settings) {
  std::string head;
  head.reserve(4 * (sizes.size() + 2) + settings.size());
  put_little_endian_32(static_cast<std::uint32_t>(sizes.size()), head);
  std::uint64_t at = 4 * (sizes.size() + 2) + settings.size();
  put_little_endian_32(static_cast<std::uint32_t>(at), head);
  for (const std::uint64_t size : sizes) put_little_endian_32(static_cast<std::uint32_t>(at += size), head);
  return head.append(settings);
}

std::string mds_index(std::span<const MdsShard> shards, std::string_view settings) {
  const auto of_all = nlohmann::json::parse(settings);
  nlohmann::ordered_json index{{"version", 2}, {"shards", nlohmann::ordered_json::array()}};
  for (const MdsShard& shard : shards) {
    nlohmann::ordered_json one(of_all);
    one["samples"] = shard.samples;
    one["raw_data"] = nlohmann::ordered_json{
        {"basename", shard.name}, {"bytes", shard.bytes}, {"hashes", nlohmann::ordered_json::object()}};
    one["zip_data"] = nullptr;
    index["shards"].push_back(std::move(one));
  }
  return index.dump() + "\n";
}

}  // namespace headrace::formats
