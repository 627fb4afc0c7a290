#include "workloads/network/rank_gpus.h"

#include <fmt/format.h>

#include <map>
#include <set>
#include <sstream>

#include "harness/base/error.h"

namespace headrace::network {
namespace {

/// The ranks of one node and the GPUs that each of them sees.
struct NodeGpus {
  struct Member {
    std::size_t rank;
    std::vector<std::string> sees;
  };
  std::vector<Member> members;
  std::map<std::string, std::size_t> taken;  // by which member

  /// Gives `member` a GPU: a free one, else one whose taker can take another. `asked` are those tried already.
  bool place(std::size_t member, std::set<std::string>& asked) {
    for (const bool free_ones : {true, false}) {
      for (const std::string& gpu : members[member].sees) {
        const auto taker = taken.find(gpu);
        if ((taker == taken.end()) != free_ones || !asked.insert(gpu).second) continue;
        if (!free_ones && !place(taker->second, asked)) continue;
        taken[gpu] = member;
        return true;
      }
    }
    return false;
  }
  std::size_t different() const {
    std::set<std::string> all;
    for (const Member& m : members) all.insert(m.sees.begin(), m.sees.end());
    return all.size();
  }
};

}  // namespace

std::string seen_gpus(GpuBackend& gpus) {
  std::string words;
  for (unsigned i = 0; i < gpus.count(); ++i) words += (i > 0 ? " " : "") + gpus.gpu(i).facts().uuid;
  return words;
}

std::vector<unsigned> share_gpus_out(std::span<const RankPlace> places, std::span<const std::string> seen) {
  std::map<unsigned, NodeGpus> nodes;
  for (std::size_t rank = 0; rank < places.size(); ++rank) {
    std::istringstream words(seen[rank]);
    NodeGpus::Member member{rank, {}};
    for (std::string uuid; words >> uuid;) member.sees.push_back(uuid);
    nodes[places[rank].node].members.push_back(std::move(member));
  }
  std::vector<unsigned> chosen(places.size(), 0);
  for (auto& [number, node] : nodes) {
    for (std::size_t m = 0; m < node.members.size(); ++m) {
      std::set<std::string> asked;
      if (!node.place(m, asked))
        throw Unsupported(fmt::format("{} ranks share {} GPUs of {}: NCCL wants a GPU for each", node.members.size(),
                                      node.different(), places[node.members[m].rank].host));
    }
    for (const auto& [uuid, m] : node.taken) {
      const NodeGpus::Member& member = node.members[m];
      for (unsigned i = 0; i < member.sees.size(); ++i)
        if (member.sees[i] == uuid) chosen[member.rank] = i;
    }
  }
  return chosen;
}

}  // namespace headrace::network
