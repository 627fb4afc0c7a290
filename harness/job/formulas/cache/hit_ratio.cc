// Which share of the reads a page cache serves, by replacement policy and read order (C1-C7).
#include <algorithm>
#include <cmath>

#include "harness/job/define.h"

namespace headrace::job {
namespace {

/// C1: c = max(0, min(1, (M - m_r) / D)) [ratio]. One node's usable cache against the whole
/// data set.
double cache_ratio(double available, double reserve, double dataset) {
  return std::clamp((available - reserve) / dataset, 0.0, 1.0);
}
const Define<cache_ratio> c1{{
    .id = "C1",
    .name = "cache_ratio",
    .title = "Cache ratio",
    .equation = "max(0, min(1, (M - m_r) / D))",
    .unit = "ratio",
    .validity = "M is MemAvailable, not MemTotal; the reserve is what the job itself still "
                "allocates (B4, E8).",
    .source = "definition",
    .inputs = {{"available_bytes", "M"},
               Input("reserve_bytes", "m_r").otherwise(0),
               Input("dataset_bytes", "D").above(0)},
    .example = "available_bytes=1.5TB reserve_bytes=200GB dataset_bytes=2TB",
}};

/// c + (1 - c) * ln(1 - c), without cancellation for a small c. That is the sum of c^k / (k * (k - 1)) from k = 2.
double lru_one_node(double c) {
  if (c >= 1) return 1;
  if (c > 0.05) return c + (1 - c) * std::log1p(-c);
  double sum = 0, power = c;
  for (int k = 2; k < 20; ++k) sum += (power *= c) / (k * (k - 1.0));
  return sum;
}

/// C2: h = n * (c + (1 - c) * ln(1 - c)) if c <= 1 / n, else 1 - (1 - c) * n * ln(n / (n - 1)) [ratio]. Exact LRU when
/// n nodes share a global permutation, drawn anew each epoch, and each node caches c * D. An item at fraction x of
/// one epoch, then y, is cached if x * (1 - y) >= 1 - c. With n nodes it returns to the same node after a
/// geometric number of epochs.
double hit_ratio_lru_reshuffle(double c, double nodes) {
  if (c * nodes <= 1) return nodes * lru_one_node(c);
  return 1 + (1 - c) * nodes * std::log1p(-1 / nodes);
}
const Define<hit_ratio_lru_reshuffle> c2{{
    .id = "C2",
    .name = "hit_ratio_lru_reshuffle",
    .title = "LRU hit ratio, reshuffled every epoch",
    .equation = "n * (c + (1 - c) * ln(1 - c)) if c <= 1 / n, else 1 - (1 - c) * n * ln(n / (n - 1))",
    .unit = "ratio",
    .validity = "From the second epoch on; items much smaller than the cache. n = 1 gives c + (1 - "
                "c) * ln(1 - c), a "
                "large n gives c. Use it for verdicts.",
    .source = "derived; exact LRU simulation agrees within 0.0013",
    .inputs = {Input("cache_ratio", "c").at_most(1), Input("nodes_count", "n").whole().otherwise(1)},
    .example = "cache_ratio=0.5137 nodes_count=2",
}};

/// C3: h = x + (1 - x) * ln(1 - x) with x = min(1, n * c) [ratio]. C2 of one node on its own part
/// of the data, which it reads again each epoch, shuffled locally.
double hit_ratio_static_partition(double c, double nodes) { return lru_one_node(std::min(1.0, nodes * c)); }
const Define<hit_ratio_static_partition> c3{{
    .id = "C3",
    .name = "hit_ratio_static_partition",
    .title = "LRU hit ratio, fixed partition",
    .equation = "x + (1 - x) * ln(1 - x) with x = min(1, n * c)",
    .unit = "ratio",
    .validity = "Each node keeps its D / n of the data and shuffles within it.",
    .source = "derived",
    .inputs = {{"cache_ratio", "c"}, Input("nodes_count", "n").whole().otherwise(1)},
    .example = "cache_ratio=0.1 nodes_count=8",
}};

/// C4: h = 0 if c < 1, else 1 [ratio]. LRU throws each item away just before it comes round again.
double hit_ratio_cyclic_lru(double c) { return c < 1 ? 0 : 1; }
const Define<hit_ratio_cyclic_lru> c4{{
    .id = "C4",
    .name = "hit_ratio_cyclic_lru",
    .title = "LRU hit ratio, fixed cyclic order",
    .equation = "0 if c < 1, else 1",
    .unit = "ratio",
    .validity = "The same order every epoch, as with shards read in order without a reshuffle.",
    .source = "classic LRU; DSTALL section 4.3",
    .inputs = {{"cache_ratio", "c"}},
    .example = "cache_ratio=0.99",
}};

/// C5: h = min(1, c) [ratio]. A cache that never evicts keeps its content.
double hit_ratio_pinned(double c) { return std::min(1.0, c); }
const Define<hit_ratio_pinned> c5{{
    .id = "C5",
    .name = "hit_ratio_pinned",
    .title = "Hit ratio of a cache that never evicts",
    .equation = "min(1, c)",
    .unit = "ratio",
    .validity = "An explicitly staged subset, or a cache of the MinIO kind. The ceiling of every "
                "policy on one node.",
    .source = "DSTALL section 6.1",
    .inputs = {{"cache_ratio", "c"}},
    .example = "cache_ratio=0.65",
}};

/// C6: h = min(1, n * c) [ratio]. Nodes serve each other's misses.
double hit_ratio_cooperative(double c, double nodes) { return std::min(1.0, nodes * c); }
const Define<hit_ratio_cooperative> c6{{
    .id = "C6",
    .name = "hit_ratio_cooperative",
    .title = "Hit ratio of a cooperative cache",
    .equation = "min(1, n * c)",
    .unit = "ratio",
    .validity = "The network between the nodes must carry the read bandwidth.",
    .source = "DSTALL section 6.2",
    .inputs = {{"cache_ratio", "c"}, Input("nodes_count", "n").whole()},
    .example = "cache_ratio=0.1 nodes_count=8",
}};

/// C7: h = h_lru + phi * (c - h_lru) with h_lru = C2(c, n) [ratio]. Linux protects pages that were read twice, so its
/// hit ratio settles between LRU and never evicting. Phi = 0.35 was fitted to a two-list kernel.
double hit_ratio_linux_estimate(double c, double nodes, double phi) {
  const double lru = hit_ratio_lru_reshuffle(c, nodes);
  return lru + phi * (c - lru);
}
const Define<hit_ratio_linux_estimate> c7{{
    .id = "C7",
    .name = "hit_ratio_linux_estimate",
    .title = "Linux page-cache estimate",
    .equation = "h_lru + phi * (c - h_lru) with h_lru = C2(c, n)",
    .unit = "ratio",
    .validity = "From the third epoch on, two-list reclaim; within 0.02 for c >= 0.5, up to 0.07 "
                "high below. MGLRU, "
                "memory cgroups and network file systems need a measurement of their own.",
    .source = "measured; KWS",
    .inputs = {Input("cache_ratio", "c").at_most(1), Input("nodes_count", "n").whole().otherwise(1),
               Input("protected_ratio", "phi").at_most(1).otherwise(0.35)},
    .example = "cache_ratio=0.4995 nodes_count=1",
}};

}  // namespace
}  // namespace headrace::job
