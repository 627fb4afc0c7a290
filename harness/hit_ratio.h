// What share of its reads a page cache should serve, by the formulas of the reference.
#pragma once

namespace headrace {

/// Of one node that reads the whole data set again and again. Shares, 0..1.
struct HitRatios {
  double cache_ratio = 0;  // C1: cache / data set, at most 1
  double lru = 0;          // C2: least recently used, a new order every epoch
  double cyclic = 0;       // C4: least recently used, the same order every epoch
  double two_list = 0;     // C7: Linux, a new order every epoch, from the third on
};

/// `cache_bytes`: memory that the page cache may take; `data_bytes` > 0.
HitRatios predict_hit_ratios(double cache_bytes, double data_bytes);

}  // namespace headrace
