#include "harness/results/pairs_json.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace headrace::results {

using Json = nlohmann::ordered_json;

Json pairs_part(const PairMatrix& m) {
  Json one{{"names", m.names}, {"rate", m.rate}};
  if (!m.rails.empty()) one["rails"] = m.rails;
  return one;
}

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
  PairMatrix m(place.at("names").texts());
  if (place.has("rails")) m.rails = place.at("rails").texts();
  if (!m.rails.empty() && m.names.size() % m.rails.size() != 0)
    place.at("rails").refuse(fmt::format("{} ends cannot be of {} rails", m.names.size(), m.rails.size()));
  const std::size_t count = m.names.size();
  for (std::size_t i = 0; i < count && !m.rails.empty(); ++i) {
    const std::string rail = " " + m.rails[i / m.ends_of_rail()];
    if (!m.names[i].ends_with(rail))
      place.at("names").refuse(fmt::format("'{}' is no end of the rail{}", m.names[i], rail));
  }
  m.rate.clear();
  place.at("rate").each([&](const JsonPlace& row) {
    m.rate.push_back(row.numbers());
    if (m.rate.back().size() != count) row.refuse(fmt::format("{} rates of {} names", m.rate.back().size(), count));
  });
  if (m.rate.size() != count) place.at("rate").refuse(fmt::format("{} rows of {} names", m.rate.size(), count));
  return m;
}

}  // namespace headrace::results
