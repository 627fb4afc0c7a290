#include "harness/workload/ranks/team.h"

#include <algorithm>
#include <exception>
#include <map>

#include "harness/base/error.h"

namespace headrace::ranks {

Team::Team(Ranks& all, std::vector<unsigned> members) : all_(all), members_(std::move(members)) {
  rank_ = static_cast<unsigned>(std::find(members_.begin(), members_.end(), all.rank()) - members_.begin());
  std::map<unsigned, unsigned> nodes, of_node;  // node of the run: the team's number for it; members so far
  for (const unsigned member : members_) {
    RankPlace place = all.places().at(member);
    const unsigned node = nodes.emplace(place.node, static_cast<unsigned>(nodes.size())).first->second;
    place.node = node;
    place.local_rank = of_node[node]++;
    places_.push_back(std::move(place));
  }
}

std::vector<std::string> Team::gather(std::string_view what, const std::vector<unsigned>& group, std::string_view own,
                                      double timeout_s, int root) {
  std::vector<unsigned> numbers;
  for (const unsigned member : group) numbers.push_back(members_.at(member));
  return all_.gather(what, numbers, own, timeout_s,
                     root < 0 ? root : static_cast<int>(members_.at(static_cast<unsigned>(root))));
}

}  // namespace headrace::ranks

namespace headrace {
namespace {

constexpr char kDone = 'd', kFailed = 'f', kUnsupported = 'u';  // the first byte of a message

}  // namespace

std::vector<std::string> in_concert(Ranks& ranks, std::string_view what, double timeout_s,
                                    const std::function<std::string()>& step) {
  std::string own;
  std::exception_ptr trouble;
  try {
    own = kDone + step();
  } catch (const RanksError&) {
    throw;  // no word reaches the others any more
  } catch (const Unsupported& e) {
    own = std::string(1, kUnsupported) + e.what();
    trouble = std::current_exception();
  } catch (const std::exception& e) {
    own = std::string(1, kFailed) + e.what();
    trouble = std::current_exception();
  }
  std::vector<std::string> all;
  try {
    all = ranks.all_gather(what, own, timeout_s);
  } catch (const RanksError&) {
    if (!trouble) throw;  // otherwise this rank's own error is more exact
  }
  if (trouble) std::rethrow_exception(trouble);
  for (unsigned r = 0; r < all.size(); ++r) {
    if (all[r].empty()) throw RunError(ranks.who(r) + " said nothing: is it of the same version?");
    const char kind = all[r].front();
    all[r].erase(0, 1);
    if (kind == kUnsupported) throw Unsupported(ranks.who(r) + ": " + all[r]);
    if (kind == kFailed) throw RunError(ranks.who(r) + ": " + all[r]);
  }
  return all;
}

}  // namespace headrace
