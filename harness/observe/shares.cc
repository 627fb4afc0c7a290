#include "harness/observe/shares.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "harness/statistics/student.h"

namespace headrace::observe {
namespace {

constexpr std::size_t kGroups = 20, kFewestGroups = 3;

/// Of looks at one process's first thread, in so many seconds: how many count.
using Part = std::function<double(const ProcessSlice&, double)>;

/// Of a thread that is ready the kernel's own count tells how long it got no processor.
double queued(const ProcessSlice& one, double seconds) {
  return seconds > 0 ? std::min(of(one.lead, Wait::running), one.counted.queued_s / seconds * total(one.lead)) : 0;
}
double on_processor(const ProcessSlice& one, double seconds) {
  return of(one.lead, Wait::running) - queued(one, seconds);
}

Part found_in(std::initializer_list<Wait> waits) {
  return [waits = std::vector<Wait>(waits)](const ProcessSlice& one, double) {
    double sum = 0;
    for (const Wait wait : waits) sum += of(one.lead, wait);
    return sum;
  };
}

/// Shares of those that have a role.
struct Sharing {
  const std::vector<const Slice*>& slices;
  std::function<bool(std::uint32_t)> counts;

  Share operator()(const char* name, const Part& part) const {
    return share_over(slices, name, [&](const Slice& slice) {
      PartAndWhole sum;
      for (const ProcessSlice& one : slice.processes)
        if (counts(one.process)) {
          sum.part += part(one, slice.seconds());
          sum.whole += total(one.lead);
        }
      return sum;
    });
  }
};

}  // namespace

std::vector<const Slice*> slices_within(const Recording& recording, double begin_s, double end_s) {
  std::vector<const Slice*> found;
  for (const Slice& slice : recording.slices)
    if (slice.begin_s >= begin_s - 1e-9 && slice.end_s <= end_s + 1e-9) found.push_back(&slice);
  return found;
}

Share share_over(const std::vector<const Slice*>& slices, const std::string& name,
                 const std::function<PartAndWhole(const Slice&)>& of) {
  Share share{.name = name};
  PartAndWhole all;
  const std::size_t groups = std::min(kGroups, slices.size());
  std::vector<double> shares;
  for (std::size_t g = 0; g < groups; ++g) {
    PartAndWhole group;
    for (std::size_t i = g * slices.size() / groups; i < (g + 1) * slices.size() / groups; ++i) {
      const PartAndWhole one = of(*slices[i]);
      group.part += one.part;
      group.whole += one.whole;
    }
    all.part += group.part;
    all.whole += group.whole;
    if (group.whole > 0) shares.push_back(group.part / group.whole);
  }
  share.value = all.whole > 0 ? std::clamp(all.part / all.whole, 0.0, 1.0) : 0;
  share.high = 1;
  if (shares.size() < kFewestGroups) return share;
  const double n = static_cast<double>(shares.size()), mean = std::accumulate(shares.begin(), shares.end(), 0.0) / n;
  double squares = 0;
  for (const double one : shares) squares += (one - mean) * (one - mean);
  const double half = statistics::t_quantile(0.975, n - 1) * std::sqrt(squares / (n - 1) / n);
  share.low = std::max(0.0, share.value - half);
  share.high = std::min(1.0, share.value + half);
  return share;
}

PartAndWhole starving(const Slice& slice, const Roles& roles) {
  PartAndWhole sum;
  for (const ProcessSlice& one : slice.processes)
    if (roles.is_consumer(one.process)) {
      sum.part += of(one.lead, Wait::hand_over);
      sum.whole += total(one.lead);
    }
  return sum;
}

std::vector<Share> consumer_shares(const std::vector<const Slice*>& slices, const Roles& roles) {
  const Sharing share{slices, [&roles](std::uint32_t process) { return roles.is_consumer(process); }};
  return {share("waiting_for_loader", found_in({Wait::hand_over})),
          share("reading", found_in({Wait::read, Wait::name, Wait::fault})),
          share("saving", found_in({Wait::write})),
          share("processor", on_processor),
          share("queued", queued),
          share("gpu", found_in({Wait::gpu})),
          share("pause", found_in({Wait::sleep})),
          share("other", found_in({Wait::other}))};
}

std::vector<Share> worker_shares(const std::vector<const Slice*>& slices, const Roles& roles) {
  const Sharing share{slices, [&roles](std::uint32_t process) { return roles.is_worker(process); }};
  return {share("reading", found_in({Wait::read})),
          share("opening", found_in({Wait::name})),
          share("faults", found_in({Wait::fault})),
          share("writing", found_in({Wait::write})),
          share("processor", on_processor),
          share("queued", queued),
          share("consumer", found_in({Wait::hand_over, Wait::sleep})),
          share("other", found_in({Wait::other, Wait::gpu}))};
}

bool stands_still(const SaveSeen& save) { return save.lead_bytes * 2 > save.bytes || save.lead_held_share > 0.9; }

std::vector<const Slice*> beside_saves(const Recording& recording, const std::vector<const Slice*>& slices) {
  std::vector<const Slice*> found;
  for (const Slice* slice : slices)
    if (std::none_of(recording.saves.begin(), recording.saves.end(), [slice](const SaveSeen& save) {
          return stands_still(save) && save.begin_s < slice->end_s && save.end_s > slice->begin_s;
        }))
      found.push_back(slice);
  return found.size() >= kFewestGroups ? found : slices;
}

Share standing_still(const Recording& recording, const std::vector<const Slice*>& slices) {
  return share_over(slices, "standing_still", [&](const Slice& slice) {
    PartAndWhole sum{.part = 0, .whole = slice.seconds()};
    for (const SaveSeen& save : recording.saves)
      if (stands_still(save))
        sum.part += std::max(0.0, std::min(save.end_s, slice.end_s) - std::max(save.begin_s, slice.begin_s));
    return sum;
  });
}

const Share* share_named(const std::vector<Share>& shares, std::string_view name) {
  const auto found = std::find_if(shares.begin(), shares.end(), [&](const Share& one) { return one.name == name; });
  return found == shares.end() ? nullptr : &*found;
}

}  // namespace headrace::observe
