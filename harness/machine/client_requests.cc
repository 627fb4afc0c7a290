#include "harness/machine/client_requests.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "harness/base/system/kernel_files.h"

namespace headrace::system {
namespace {

constexpr double kMicrosecond = 1e-6;

std::optional<double> real_at(const std::vector<std::string>& words, std::size_t at) {
  if (at >= words.size()) return std::nullopt;
  double value = 0;
  const char* end = words[at].data() + words[at].size();
  const auto [rest, error] = std::from_chars(words[at].data(), end, value);
  if (error != std::errc() || rest != end || !(value >= 0)) return std::nullopt;
  return value;
}

ClientRequests& kind(ClientRequestTable& all, std::string_view name) {
  const auto known = std::ranges::find(all.kinds, name, &ClientRequests::name);
  if (known != all.kinds.end()) return *known;
  return all.kinds.emplace_back(ClientRequests{std::string(name)});
}

void leave_out_unused(ClientRequestTable& all) {
  std::erase_if(all.kinds, [](const ClientRequests& one) { return one.count == 0; });
}

}  // namespace

void add_lustre_requests(std::string_view text, ClientRequestTable& all) {
  constexpr std::size_t kCount = 1, kUnit = 3, kSum = 6;
  ++all.connections;
  for (const std::string& line : split(text, '\n')) {
    const std::vector<std::string> words = split(line, ' ');
    const auto count = number_at(words, kCount);
    const auto sum = real_at(words, kSum);
    if (!count || !sum || words[2] != "samples") continue;
    if (words[0] == "req_active") {
      all.sent += *count;
      all.in_flight_sum += *sum;
    } else if (words[kUnit] == "[usec]" && !words[0].starts_with("req_")) {  // those are of all kinds together
      ClientRequests& one = kind(all, words[0]);
      one.count += *count;
      one.round_trip_s += kMicrosecond * *sum;
    }
  }
  leave_out_unused(all);
}

ClientRequestTable parse_juicefs_requests(std::string_view text) {
  constexpr std::string_view kObject = "juicefs_object_request_durations_histogram_seconds_",
                             kMeta = "juicefs_meta_ops_durations_histogram_seconds_", kTotal = "_total", kSum = "_sum";
  ClientRequestTable all;
  for (const std::string& line : split(text, '\n')) {
    const std::vector<std::string> words = split(line, ' ');
    const auto value = real_at(words, 1);
    if (!value || words.size() != 2) continue;
    const std::string_view name = words[0];
    const bool total = name.ends_with(kTotal), sum = name.ends_with(kSum);
    std::string what;
    if (name.starts_with(kObject) && (total || sum))
      what = "object " + std::string(name.substr(kObject.size(), name.rfind('_') - kObject.size()));
    else if (name == std::string(kMeta) + "total" || name == std::string(kMeta) + "sum")
      what = "metadata";
    else
      continue;
    ClientRequests& one = kind(all, what);
    if (total)
      one.count = static_cast<std::uint64_t>(*value);
    else
      one.round_trip_s = *value;
  }
  leave_out_unused(all);
  return all;
}

ClientRequestTable parse_ceph_requests(std::string_view text) {
  ClientRequestTable all;
  bool latencies = false;
  for (const std::string& line : split(text, '\n')) {
    const std::vector<std::string> words = split(line, ' ');
    if (words.empty()) continue;
    if (words[0] == "item") {
      latencies = words.size() > 2 && words[2] == "avg_lat(us)";
      continue;
    }
    const auto count = number_at(words, 1), mean = number_at(words, 2);
    if (!latencies || !count || !mean) continue;
    ClientRequests& one = kind(all, words[0]);
    one.count = *count;
    one.round_trip_s = kMicrosecond * static_cast<double>(*count) * static_cast<double>(*mean);
  }
  leave_out_unused(all);
  return all;
}

}  // namespace headrace::system
