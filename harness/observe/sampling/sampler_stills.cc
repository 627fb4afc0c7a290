// Moments at which all workers wait, from which it is learned how far ahead they work.
#include <algorithm>

#include "harness/observe/sampling/sampler.h"
#include "harness/observe/sampling/sampler_watched.h"

namespace headrace::observe {
namespace {

constexpr std::size_t kMostStills = 5000, kMostTaken = 50000;

bool same_counts(const Still& a, const Still& b) {
  return a.count == b.count && std::equal(a.counts.begin(), a.counts.begin() + static_cast<std::ptrdiff_t>(a.count),
                                          b.counts.begin(), [](const Still::Count& x, const Still::Count& y) {
                                            return x.process == y.process && x.value == y.value;
                                          });
}

}  // namespace

bool Sampler::all_wait() const {
  bool any = false;
  for (const auto& one : watched_) {
    if (one->has_children || recording_.processes[one->index].parent < 0) continue;
    if (one->lead_wait != Wait::hand_over) return false;
    any = true;
  }
  return any;
}

void Sampler::note_taken_by(Watched& one, double now_s) {
  one.taken_anew = false;
  if (watched_.size() > kStillProcesses || recording_.taken.size() >= kMostTaken) return;
  recording_.taken.push_back({.at_s = now_s, .process = one.index, .calls = one.lead_calls - one.calls_before});
}

void Sampler::note_still(double now_s) {
  if (watched_.size() > kStillProcesses || recording_.stills.size() >= kMostStills || !all_wait()) return;
  Still still{.at_s = now_s};
  for (const auto& one : watched_) {
    if (one->has_children && !one->lead_reads) continue;  // another thread of it takes batches
    still.counts[still.count++] = {
        .process = one->index,
        .value = one->has_children ? one->lead_calls - one->calls_before : one->last_quick.read_calls_bytes};
  }
  if (!recording_.stills.empty() && same_counts(recording_.stills.back(), still)) return;
  // A process that began to read in between makes it no still moment.
  for (const auto& one : watched_) {
    if (one->has_children || recording_.processes[one->index].parent < 0) continue;
    std::string_view path;
    if (one->files.threads().empty() || wait_of_thread(*one, 0, path) != Wait::hand_over) return;
  }
  recording_.stills.push_back(still);
}

}  // namespace headrace::observe
