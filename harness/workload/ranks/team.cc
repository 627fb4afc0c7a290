#include "harness/workload/ranks/team.h"

#include <algorithm>
#include <map>

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
