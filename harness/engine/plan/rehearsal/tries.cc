#include "harness/engine/plan/rehearsal/tries.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace headrace::rehearsal {

using job::Job;

namespace {

constexpr double kMostAhead = 64;  // batches, as the workload has it

}  // namespace

std::vector<double> other_workers(double own, double most) {
  constexpr double kEach = 8;  // up to which all are
  std::vector<double> others;
  for (double each = 1; each <= std::min(most, std::max(kEach, 4 * own));
       each += std::max(1.0, std::floor(each / kEach)))
    if (each != own) others.push_back(each);
  return others;
}

std::vector<double> other_prefetch(const Job& job) {
  const double own = std::clamp(job.loader.prefetch_factor, 1.0, kMostAhead);
  std::set<double> others{2 * own, 4 * own};
  for (double ahead = 1; ahead < own; ahead *= 2) others.insert(ahead);
  std::erase_if(others, [](double ahead) { return ahead > kMostAhead; });
  return {others.begin(), others.end()};
}

}  // namespace headrace::rehearsal
