// Asks the formula reference, and watches the cache.
#include "harness/workload/data/hit_ratio.h"

#include <fmt/format.h>

#include <algorithm>

#include "harness/base/system/kernel_files.h"
#include "harness/base/units.h"
#include "harness/job/formula.h"
#include "harness/machine/cgroup.h"
#include "harness/machine/node.h"

namespace headrace {
namespace {

constexpr double kMuchMemory = 0.05;  // a change of this share of it shifts the hit ratio visibly

/// How often the whole machine's page cache was dropped since it started.
std::uint64_t drops_so_far() {
  return system::number_field(system::read_text("/proc/vmstat").value_or(""), "drop_pagecache").value_or(0);
}

bool multi_generational() {
  const std::string enabled = system::read_line("/sys/kernel/mm/lru_gen/enabled").value_or("0x0000");
  return enabled.find_first_not_of("0x") != std::string::npos;
}

}  // namespace

HitRatios predict_hit_ratios(double cache_bytes, double data_bytes) {
  using job::apply;
  HitRatios ratios;
  ratios.cache_ratio = apply("cache_ratio", {{"available_bytes", cache_bytes}, {"dataset_bytes", data_bytes}}).value();
  ratios.lru = apply("hit_ratio_lru_reshuffle", {{"cache_ratio", ratios.cache_ratio}}).value();
  ratios.cyclic = apply("hit_ratio_cyclic_lru", {{"cache_ratio", ratios.cache_ratio}}).value();
  ratios.two_list = apply("hit_ratio_linux_estimate", {{"cache_ratio", ratios.cache_ratio}}).value();
  return ratios;
}

CacheLook CacheLook::now(const Node& node) { return {.available = node.memory_available(), .drops = drops_so_far()}; }

void CacheWatch::look(const CacheLook& now) {
  least_ = std::ranges::min(least_, now, {}, &CacheLook::available);
  most_ = std::ranges::max(most_, now, {}, &CacheLook::available);
  last_ = now;
}

std::vector<std::string> CacheWatch::oddities(const HitRatios& predicted) const {
  std::vector<std::string> odd;
  if (last_.drops != first_.drops) odd.push_back("another program dropped all caches");
  if (static_cast<double>(most_.available - least_.available) > kMuchMemory * static_cast<double>(first_.available)) {
    const auto bytes = [](const CacheLook& look) {
      return format_quantity(static_cast<double>(look.available), Dimension::bytes);
    };
    odd.push_back(fmt::format("the memory available changed between {} and {}", bytes(least_), bytes(most_)));
  }
  if (system::cgroup_limits().memory) odd.push_back("a control group limits memory, and reclaims by its own lists");
  if (multi_generational()) odd.push_back("the kernel reclaims by generations (MGLRU), not by two lists");
  if (predicted.cache_ratio < 0.5) odd.push_back("C7 is up to 0.07 high where the cache is less than half the data");
  return odd;
}

}  // namespace headrace
