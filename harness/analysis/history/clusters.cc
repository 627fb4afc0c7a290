#include "harness/analysis/history/clusters.h"

#include <algorithm>
#include <set>
#include <sstream>
#include <string>

#include "harness/machine/network/host_list.h"

namespace headrace::history {
namespace {

using results::StoredRun;
using Hosts = std::set<std::string>;

/// Those of a run of several; else none.
Hosts hosts_of(const StoredRun& run) {
  const auto reported = run.environment.find("launch.hosts");
  if (reported == run.environment.end()) return {};
  std::istringstream words(reported->second);
  Hosts hosts;
  for (std::string word; words >> word;) hosts.insert(word);
  return hosts.size() > 1 ? hosts : Hosts();
}

struct Cluster {
  Hosts latest, all;
  std::vector<StoredRun*> runs;

  bool is_of(const Hosts& hosts) const {
    const auto both =
        std::count_if(hosts.begin(), hosts.end(), [&](const auto& host) { return latest.contains(host); });
    return 2 * static_cast<std::size_t>(both) > std::max(hosts.size(), latest.size());
  }
};

}  // namespace

void name_clusters(std::vector<StoredRun>& runs) {
  std::vector<StoredRun*> by_time;
  for (StoredRun& run : runs) by_time.push_back(&run);
  std::stable_sort(by_time.begin(), by_time.end(),
                   [](const StoredRun* a, const StoredRun* b) { return a->started_utc < b->started_utc; });
  std::vector<Cluster> clusters;
  for (StoredRun* run : by_time) {
    Hosts hosts = hosts_of(*run);
    if (hosts.empty()) continue;
    auto at = std::find_if(clusters.begin(), clusters.end(), [&](const Cluster& one) { return one.is_of(hosts); });
    if (at == clusters.end()) at = clusters.insert(clusters.end(), Cluster());
    at->all.insert(hosts.begin(), hosts.end());
    at->latest = std::move(hosts);
    at->runs.push_back(run);
  }
  for (const Cluster& cluster : clusters)
    for (StoredRun* run : cluster.runs) run->node = compressed({cluster.all.begin(), cluster.all.end()});
}

}  // namespace headrace::history
