// The share of reads that a page cache should serve, by the formulas of the reference.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace headrace {

class Node;

/// For one node that reads the whole data set again and again. Shares, 0..1.
struct HitRatios {
  double cache_ratio = 0;  // C1: cache / data set, at most 1
  double lru = 0;          // C2: least recently used, a new order every epoch
  double cyclic = 0;       // C4: least recently used, the same order every epoch
  double two_list = 0;     // C7: Linux, a new order every epoch, from the third on
};

/// `cache_bytes`: memory that the page cache may take; `data_bytes` > 0.
HitRatios predict_hit_ratios(double cache_bytes, double data_bytes);

/// The memory that the page cache may take now [B], and how often it was dropped since the machine started.
struct CacheLook {
  std::uint64_t available = 0, drops = 0;
  static CacheLook now(const Node& node);
};

/// Events of the page cache while epochs run: why a measured hit ratio may differ from a predicted one.
class CacheWatch {
 public:
  /// Before the first epoch, when the cache is empty and all buffers are there.
  void start(const CacheLook& now) { first_ = least_ = most_ = last_ = now; }
  /// Before each later epoch.
  void look(const CacheLook& now);
  /// Memory that the cache might take at start() [B].
  std::uint64_t cache_bytes() const { return first_.available; }
  /// Facts on this machine or observed events, as clauses: "another program dropped all caches".
  std::vector<std::string> oddities(const HitRatios& predicted) const;

 private:
  CacheLook first_, least_, most_, last_;
};

}  // namespace headrace
