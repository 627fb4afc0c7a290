#include "harness/bringup/unreached.h"

#include <fmt/format.h>

#include <algorithm>

#include "harness/bringup/rails.h"

namespace headrace::bringup {

void Unreached::measured(const PairMeasured& one) {
  for (const unsigned node : {one.a, one.b}) works_.emplace(node, one.rail);
}

void Unreached::measured_before(const PairMeasured& one) {
  for (const unsigned node : {one.a, one.b}) worked_.emplace(node, one.rail);
}

unsigned Unreached::failed(const FailedPair& one) {
  Times& times = failed_[{std::min(one.a, one.b), std::max(one.a, one.b), one.rail}];
  times.why = one.why;
  return times.count += one.damaged ? kTwice : 1;
}

bool Unreached::works(unsigned node, std::optional<unsigned> rail) const {
  const auto reached = [&](const auto& one) { return one.first == node && (!rail || one.second == *rail); };
  return std::any_of(works_.begin(), works_.end(), reached) || std::any_of(worked_.begin(), worked_.end(), reached);
}

bool Unreached::any_works(unsigned rail) const {
  return std::any_of(works_.begin(), works_.end(), [&](const auto& one) { return one.second == rail; });
}

std::vector<std::pair<unsigned, std::string>> Unreached::cut_from(unsigned node, unsigned rail) const {
  std::vector<std::pair<unsigned, std::string>> others;
  for (const auto& [way, times] : failed_) {
    const auto& [a, b, over] = way;
    if (over != rail || (a != node && b != node)) continue;
    if (const unsigned other = a == node ? b : a; works(other, rail)) others.emplace_back(other, times.why);
  }
  return others;
}

std::optional<std::string> Unreached::dead(unsigned rail) const {
  if (any_works(rail)) return std::nullopt;
  std::set<unsigned> seen;
  for (const auto& [way, times] : failed_) {
    const auto& [a, b, over] = way;
    if (over != rail || times.count < kTwice || !works(a) || !works(b)) continue;
    if (!seen.empty() && !seen.contains(a) && !seen.contains(b)) return times.why;
    if (seen.empty()) seen = {a, b};
  }
  return std::nullopt;
}

std::vector<unsigned> Unreached::cut_rails(unsigned node) const {
  std::vector<unsigned> rails;
  for (unsigned rail = 0; rail < rails_; ++rail)
    if (!works_.contains({node, rail}) && !dead(rail) && cut_from(node, rail).size() >= kTwice) rails.push_back(rail);
  return rails;
}

std::vector<Broken> Unreached::broken(const Record& record, const std::vector<unsigned>& there) const {
  std::vector<Broken> all;
  for (const unsigned node : there) {
    const std::vector<unsigned> rails = cut_rails(node);
    unsigned tried = 0;
    for (unsigned rail = 0; rail < rails_; ++rail) tried += has_rail(record, node, rail) && !dead(rail);
    const bool whole = rails.size() == tried;
    for (const unsigned rail : rails) {
      std::string names, reason;
      for (const auto& [other, why] : cut_from(node, rail)) {
        names += (names.empty() ? "" : ", ") + record.nodes[other].host.name;
        reason = why;
      }
      const auto scope = whole ? Finding::Scope::node : Finding::Scope::nic;
      all.push_back(
          {{scope, node, 0, whole ? 0 : rail, 0, {}},
           fmt::format("no {} connection with {} ({})", is_rdma(record, rail) ? "RDMA" : "TCP", names, reason)});
      if (whole) break;
    }
  }
  for (const auto& [way, times] : failed_) {
    const auto& [a, b, rail] = way;
    if (times.count < kTwice) continue;
    if (works(a, rail) && works(b, rail)) all.push_back({{Finding::Scope::link, a, b, rail, 0, {}}, times.why});
  }
  for (unsigned rail = 0; rail < rails_; ++rail)
    if (const auto why = dead(rail))
      all.push_back({{Finding::Scope::shared, 0, 0, rail, 0, {}}, "nobody reaches anybody over it: " + *why});
  return all;
}

}  // namespace headrace::bringup
