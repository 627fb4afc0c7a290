#include "harness/bringup/blame/port_errors.h"

#include <fmt/format.h>

#include <map>

#include "harness/bringup/rails.h"

namespace headrace::bringup {
namespace {

constexpr unsigned kFewestPairs = 2;  // one may be a cable that was touched

struct Counted {
  unsigned pairs = 0, with_errors = 0;
  std::map<std::string, std::uint64_t> errors;
};

}  // namespace

std::vector<Broken> port_errors(const Record& record) {
  const Replay replay(record);
  std::map<unsigned, std::map<unsigned, Counted>> rails;  // of each node that met another over it
  for (std::size_t s = 0; s < record.sessions.size(); ++s)
    for (const RoundRecord& round : record.sessions[s].rounds)
      for (const PairMeasured& one : round.pairs) {
        if (!is_rdma(record, one.rail)) continue;
        for (const std::size_t end : {0, 1}) {
          const unsigned node = end == 0 ? one.a : one.b;
          if (!replay.counts(s, node)) continue;
          Counted& counted = rails[one.rail][node];
          ++counted.pairs;
          counted.with_errors += !one.errors[end].empty();
          for (const auto& [name, count] : one.errors[end]) counted.errors[name] += count;
        }
      }
  std::vector<Broken> all;
  for (const auto& [rail, nodes] : rails) {
    std::size_t with_errors = 0;
    for (const auto& [node, counted] : nodes) with_errors += counted.with_errors > 0;
    if (3 * with_errors > nodes.size()) continue;
    for (const auto& [node, counted] : nodes) {
      if (counted.with_errors < kFewestPairs) continue;
      std::string text;
      for (const auto& [name, count] : counted.errors)
        text += fmt::format("{}{} +{}", text.empty() ? "" : ", ", name, count);
      all.push_back(
          {{Finding::Scope::nic, node, 0, rail, 0, {}},
           fmt::format("its port counted errors of its own in {} of {} pairs ({}), and {} of the {} other ports any",
                       counted.with_errors, counted.pairs, text,
                       with_errors == 1 ? "none" : std::to_string(with_errors - 1), nodes.size() - 1),
           "port errors"});
    }
  }
  return all;
}

}  // namespace headrace::bringup
