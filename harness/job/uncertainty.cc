// Propagation of spreads: each input is moved a little, and by its whole spread, and all needs are
// computed anew.
#include "harness/job/uncertainty.h"

#include <algorithm>
#include <cmath>

#include "harness/job/formula.h"
#include "harness/job/job_keys.h"

namespace headrace::job {
namespace {

/// All needs with one value of the job moved; empty when the moved value cannot be.
std::vector<Need> moved(const Job& job, const JobKey& key, double value) {
  if (!key.range.allows(value)) return {};
  Job other = job;
  key.set(other, value);
  try {
    derive_values(other);
    return derive_need_values(other);
  } catch (const DomainError&) {
    return {};
  }
}

/// Relative change of each need per standard deviation of one input.
class Slope {
 public:
  Slope(const Job& job, const JobKey& key, double center, double deviation, double step)
      : up_(moved(job, key, center + step)), down_(moved(job, key, center - step)), scale_(deviation / step) {}

  double of(std::size_t i, const Need& need) const {
    const bool up = up_.size() > i && up_[i].id == need.id, down = down_.size() > i && down_[i].id == need.id;
    if (!up && !down) return 0;
    const double high = up ? up_[i].required : need.required, low = down ? down_[i].required : need.required;
    return (high - low) / (up + down) * scale_ / need.required;
  }

 private:
  std::vector<Need> up_, down_;
  double scale_;
};

}  // namespace

void add_uncertainty(const Job& job, std::vector<Need>& needs) {
  if (job.spreads.empty()) return;
  std::vector<double> variance(needs.size());
  for (const auto& [path, deviation] : job.spreads) {
    const JobKey& key = *find_job_key(path);
    const double center = parse_quantity(job.values.at(path), key.dimension).value;
    // The slope at the value is exact to first order. Rounding makes steps, so the local change is nothing or far too
    // much. The change over the whole spread reports more.
    const Slope small(job, key, center, deviation, deviation * 1e-4), whole(job, key, center, deviation, deviation);
    for (std::size_t i = 0; i < needs.size(); ++i) {
      if (needs[i].required == 0) continue;
      const double s = small.of(i, needs[i]), w = whole.of(i, needs[i]);
      const double change = s == 0 || std::abs(s) > 2 * std::abs(w) ? w : s;
      variance[i] += change * change;
    }
  }
  for (std::size_t i = 0; i < needs.size(); ++i) {
    needs[i].uncertainty = std::sqrt(variance[i]);
    needs[i].need *= 1 + needs[i].uncertainty;
  }
}

}  // namespace headrace::job
