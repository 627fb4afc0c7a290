// Several ranks as threads of one process, over real sockets: what tests of distributed code run
// on.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "harness/workload/ranks/hub.h"
#include "harness/workload/ranks/member.h"

namespace headrace {

/// Calls `body` for each rank on a thread of its own, one rank per host name. A body may drop its
/// ranks early.
inline void on_ranks(const std::vector<std::string>& hosts, double silence_s,
                     const std::function<void(std::unique_ptr<Ranks>)>& body) {
  const std::vector<RankPlace> places = ranks::places_of(hosts);
  const ranks::Hub hub(places, silence_s);
  std::vector<std::thread> threads;
  for (unsigned r = 0; r < hosts.size(); ++r)
    threads.emplace_back([&, r] { body(ranks::join(hub.address(), r, places, silence_s, 10)); });
  for (std::thread& t : threads) t.join();
}

}  // namespace headrace
