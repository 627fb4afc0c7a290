#include "harness/results/pairs_json.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "harness/results/fields_json.h"

namespace headrace::results {

using Json = nlohmann::ordered_json;

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
