// What share of its reads a page cache should serve, by the formulas of the reference.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace headrace {

class Node;

/// Of one node that reads the whole data set again and again. Shares, 0..1.
struct HitRatios {
  double cache_ratio = 0;  // C1: cache / data set, at most 1
  double lru = 0;          // C2: least recently used, a new order every epoch
  double cyclic = 0;       // C4: least recently used, the same order every epoch
  double two_list = 0;     // C7: Linux, a new order every epoch, from the third on
};

/// `cache_bytes`: memory that the page cache may take; `data_bytes` > 0.
HitRatios predict_hit_ratios(double cache_bytes, double data_bytes);

/// What happens to the page cache while epochs run: why a measured hit ratio may differ from a
/// predicted one.
class CacheWatch {
 public:
  /// Before the first epoch, when the cache is empty and all buffers are there.
  void start(const Node& node);
  /// Before each later epoch.
  void look(const Node& node);
  /// Memory that the cache might take at start() [B].
  std::uint64_t cache_bytes() const { return first_; }
  /// What holds on this machine or was seen meanwhile, as clauses: "another program dropped all
  /// caches".
  std::vector<std::string> oddities(const HitRatios& predicted) const;

 private:
  std::uint64_t first_ = 0, least_ = 0, most_ = 0;
  std::uint64_t drops_before_ = 0, drops_ = 0;
};

}  // namespace headrace
