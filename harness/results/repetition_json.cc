#include "harness/results/repetition_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "harness/base/utc.h"
#include "harness/results/pairs_json.h"
#include "harness/results/stored_verdict.h"

namespace headrace::results {
namespace {

using Json = nlohmann::ordered_json;

}  // namespace

Json repetition_part(const Repetition& r, const PartNames& parts) {
  Json one = json_of(r, parts);
  if (r.began_unix_s > 0) {
    one["began_utc"] = utc_text(r.began_unix_s);
    one["timed_s"] = std::max(0.0, r.ended_unix_s - r.began_unix_s);
  }
  if (r.pairs) one["pairs"] = pairs_part(*r.pairs);
  Json seconds = Json::object();
  for (const MetricValue& m : r.metrics)
    if (m.seconds > 0) seconds[m.name] = m.seconds;
  if (!seconds.empty()) one["metric_seconds"] = std::move(seconds);
  return one;
}

Repetition read_repetition(const JsonPlace& place, CacheState declared, PartNames& parts) {
  Repetition r;
  r.cache = nothing_proven(declared);
  read_fields(place, r, parts);
  if (place.has("began_utc")) {
    const std::string began = place.at("began_utc").text();
    const auto unix_s = unix_seconds(began);
    if (!unix_s) place.at("began_utc").refuse(fmt::format("'{}' is no time such as 2026-01-31T12:00:00.250Z", began));
    r.began_unix_s = *unix_s;
    r.ended_unix_s = *unix_s + std::max(0.0, place.number("timed_s", 0));
  }
  if (place.has("pairs")) r.pairs = read_pairs(place.at("pairs"));
  if (place.has("metric_seconds")) {
    const JsonPlace seconds = place.at("metric_seconds");
    for (MetricValue& m : r.metrics) m.seconds = seconds.number(m.name, 0);
  }
  return r;
}

}  // namespace headrace::results
