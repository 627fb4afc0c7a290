#include "harness/results/repetition_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "harness/base/utc.h"
#include "harness/results/fields_json.h"
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

Json pairs_part(const PairMatrix& m) { return json_of(m); }

Json pairs_part(const PairMatrix& m, const Blame& blame) {
  Json one = pairs_part(m);
  one["reference"] = blame.reference;
  one["blamed_nodes"] = blame.nodes;
  one["blamed_links"] = blame.links;
  if (!m.rails.empty()) {
    one["rail_reference"] = blame.rail_reference;
    one["blamed_rails"] = blame.rails;
  }
  return one;
}

PairMatrix read_pairs(const JsonPlace& place) {
  PairMatrix m;
  read_fields(place, m);
  if (!m.rails.empty() && m.names.size() % m.rails.size() != 0)
    place.at("rails").refuse(fmt::format("{} ends cannot be of {} rails", m.names.size(), m.rails.size()));
  const std::size_t count = m.names.size();
  for (std::size_t i = 0; i < count && !m.rails.empty(); ++i) {
    const std::string rail = " " + m.rails[i / m.ends_of_rail()];
    if (!m.names[i].ends_with(rail))
      place.at("names").refuse(fmt::format("'{}' is no end of the rail{}", m.names[i], rail));
  }
  std::size_t row = 0;
  place.at("rate").each([&](const JsonPlace& rates) {
    const std::size_t has = m.rate[row++].size();
    if (has != count) rates.refuse(fmt::format("{} rates of {} names", has, count));
  });
  if (place.has("unreached"))
    for (const UnreachedPair& one : m.unreached)
      if (one.a >= count || one.b >= count || one.a == one.b)
        place.at("unreached").refuse(fmt::format("{} and {} are no two of {} ends", one.a, one.b, count));
  if (m.rate.size() != count) place.at("rate").refuse(fmt::format("{} rows of {} names", m.rate.size(), count));
  return m;
}

}  // namespace headrace::results
