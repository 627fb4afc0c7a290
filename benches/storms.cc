// How long storms take to simulate. 100 to 10,000 nodes on switches of 32 save, each with its own time, speed and
// size. Prints a line for each number of nodes; the last column is constant where time grows as n log n.
//   cmake --build build/release --target storms && build/release/storms [SEEDS [THREADS]]
#include <sys/resource.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "harness/analysis/simulate/fluid.h"
#include "harness/analysis/simulate/supply.h"
#include "harness/base/clock.h"
#include "harness/base/parallel.h"
#include "harness/base/random.h"

namespace {

using namespace headrace;

simulate::Storm storm_of(unsigned nodes, std::uint64_t seed) {
  constexpr unsigned kPerSwitch = 32, kSpeeds = 8;
  Random random(mix(seed));
  simulate::Storm storm;
  for (unsigned k = 0; k < kSpeeds; ++k) storm.speeds.push_back(5e9 * (0.8 + 0.05 * k));
  storm.groups.assign((nodes - 1) / kPerSwitch + 1, kPerSwitch * 5e9 / 2);
  storm.store = [nodes](double clients) { return 2e9 * nodes * clients / (clients + 0.1 * nodes); };
  for (unsigned i = 0; i < nodes; ++i)
    storm.flows.push_back({.arrives_s = simulate::uniform(random),
                           .bytes = 10e9 * (0.9 + 0.2 * simulate::uniform(random)),
                           .speed = static_cast<unsigned>(random.below(kSpeeds)),
                           .group = i / kPerSwitch});
  return storm;
}

}  // namespace

int main(int count, char** words) {
  const unsigned seeds = count > 1 ? static_cast<unsigned>(std::atoi(words[1])) : 100;
  const unsigned threads = count > 2 ? static_cast<unsigned>(std::atoi(words[2])) : 2;
  std::printf("nodes  seeds  threads  seconds  s/storm and thread  ns/(n log2 n)\n");
  for (const unsigned nodes : {100u, 1000u, 10000u}) {
    const std::uint64_t begun = now_ns();
    parallel_for(seeds, threads, [&](unsigned, std::uint64_t seed) { simulate::run(storm_of(nodes, seed)); });
    const double s = static_cast<double>(now_ns() - begun) * 1e-9, each = s * threads / seeds;
    std::printf("%5u  %5u  %7u  %7.2f  %18.6f  %13.1f\n", nodes, seeds, threads, s, each,
                each * 1e9 / (nodes * std::log2(nodes)));
  }
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  std::printf("memory %.0f MiB at most\n", static_cast<double>(used.ru_maxrss) / 1024);
}
