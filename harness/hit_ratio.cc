// Asks the formula reference.
#include "harness/hit_ratio.h"

#include "harness/requirements/formula.h"

namespace headrace {

HitRatios predict_hit_ratios(double cache_bytes, double data_bytes) {
  using requirements::apply;
  HitRatios ratios;
  ratios.cache_ratio =
      apply("cache_ratio", {{"available_bytes", cache_bytes}, {"dataset_bytes", data_bytes}})
          .value();
  ratios.lru = apply("hit_ratio_lru_reshuffle", {{"cache_ratio", ratios.cache_ratio}}).value();
  ratios.cyclic = apply("hit_ratio_cyclic_lru", {{"cache_ratio", ratios.cache_ratio}}).value();
  ratios.two_list =
      apply("hit_ratio_linux_estimate", {{"cache_ratio", ratios.cache_ratio}}).value();
  return ratios;
}

}  // namespace headrace
