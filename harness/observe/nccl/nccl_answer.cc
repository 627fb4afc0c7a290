#include "harness/observe/nccl/nccl_answer.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>

namespace headrace::observe {
namespace {

using nlohmann::json;

constexpr int kDeepest = 8;                  // an answer of NCCL is 6 deep
constexpr std::size_t kMostRanks = 1 << 20;  // of all communicators
constexpr std::size_t kLongestName = 128;    // bytes of a host, a hash, a version, the name of an operation

/// Why an answer is none.
struct NoAnswer : std::runtime_error {
  using std::runtime_error::runtime_error;
};

const json& member_of(const json& of, const char* key) {
  const auto found = of.is_object() ? of.find(key) : of.end();
  if (!of.is_object() || found == of.end()) throw NoAnswer(std::string("it has no ") + key);
  return *found;
}

std::string short_name(const json& of, const char* key) {
  const json& one = member_of(of, key);
  if (!one.is_string() || one.get_ref<const std::string&>().size() > kLongestName)
    throw NoAnswer(std::string(key) + " is no short text");
  return one.get<std::string>();
}

int whole_number(const json& of, const char* key, int least) {
  const json& one = member_of(of, key);
  if (!one.is_number_integer() || one < least || one > INT32_MAX)
    throw NoAnswer(std::string(key) + " is no number that it can be");
  return one.get<int>();
}

bool boolean_of(const json& of, const char* key) {
  const json& one = member_of(of, key);
  if (!one.is_boolean()) throw NoAnswer(std::string(key) + " is neither true nor false");
  return one.get<bool>();
}

const json& list_of(const json& of, const char* key) {
  const json& one = member_of(of, key);
  if (!one.is_array()) throw NoAnswer(std::string(key) + " is no list");
  return one;
}

/// What ranks have launched, of kinds that are added to `operations`.
void count_launched(const json& counts, std::vector<std::string>& operations, NcclRank& rank) {
  if (!counts.is_object()) throw NoAnswer("collective_counts has no counts");
  for (const auto& [kind, count] : counts.items()) {
    if (!count.is_number_unsigned() || kind.size() > kLongestName) throw NoAnswer("a count is no number");
    auto at = std::find(operations.begin(), operations.end(), kind);
    if (at == operations.end()) {
      if (operations.size() == kMostNcclOperations) throw NoAnswer("it counts too many kinds of operations");
      at = operations.insert(at, kind);
    }
    rank.launched[static_cast<std::size_t>(at - operations.begin())] = count.get<std::uint64_t>();
  }
}

NcclRank rank_of(const json& one, std::vector<std::string>& operations) {
  NcclRank rank{
      .rank = whole_number(one, "rank", 0), .host = short_name(one, "host"), .pid = whole_number(one, "pid", -1)};
  const json& status = member_of(one, "status");
  rank.running = whole_number(status, "init_state", 0) == 0 && !boolean_of(status, "finalize_called") &&
                 !boolean_of(status, "destroy_flag") && !boolean_of(status, "abort_flag");
  count_launched(member_of(one, "collective_counts"), operations, rank);
  return rank;
}

NcclCommunicator communicator_of(const json& one) {
  NcclCommunicator all{.id = short_name(one, "hash") + ":" + short_name(one, "secondary_hash"),
                       .size = whole_number(one, "size", 1)};
  std::set<int> numbers;
  const auto add = [&](int number) {
    if (number >= all.size || !numbers.insert(number).second) throw NoAnswer("a rank is twice in its communicator");
  };
  for (const json& rank : list_of(one, "ranks")) {
    all.ranks.push_back(rank_of(rank, all.operations));
    add(all.ranks.back().rank);
  }
  for (const json& rank : list_of(one, "missing_ranks")) {
    const json& status = member_of(rank, "status");
    all.missing.push_back({.rank = whole_number(rank, "rank", 0),
                           .host = short_name(rank, "host"),
                           .pid = whole_number(rank, "pid", -1),
                           .unresponsive = boolean_of(status, "unresponsive"),
                           .dead = boolean_of(status, "considered_dead")});
    add(all.missing.back().rank);
  }
  return all;
}

}  // namespace

std::optional<NcclLook> read_nccl_answer(std::string_view text, std::string& refused) {
  bool too_deep = false;
  const json all = json::parse(
      text.begin(), text.end(),
      [&too_deep](int depth, json::parse_event_t, json&) {
        too_deep = too_deep || depth > kDeepest;
        return depth <= kDeepest;
      },
      false);
  try {
    if (all.is_discarded() || too_deep) throw NoAnswer("it is no JSON as NCCL writes it");
    NcclLook look{.version = short_name(all, "nccl_version")};
    std::size_t ranks = 0;
    for (const json& one : list_of(all, "communicators")) {
      look.communicators.push_back(communicator_of(one));
      ranks += look.communicators.back().ranks.size() + look.communicators.back().missing.size();
      if (ranks > kMostRanks) throw NoAnswer("it has too many ranks");
    }
    return look;
  } catch (const NoAnswer& e) {
    refused = e.what();
    return std::nullopt;
  }
}

}  // namespace headrace::observe
