#include "harness/observe/learning/shares.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

#include "harness/base/quantiles.h"

namespace headrace::observe {
namespace {

constexpr std::size_t kGroups = 20, kFewestGroups = 3;

/// The looks that count among those at one process's first thread in that many seconds.
using Part = std::function<double(const ProcessSlice&, double)>;

/// The looks at which a waiting first thread's others were found so.
double behind(const ProcessSlice& one, Wait wait) {
  return ratio(of(one.lead, Wait::hand_over) * of(one.behind, wait), total(one.behind));
}
/// For a first thread that waits while others of its own compute for it.
double computed_for(const ProcessSlice& one) { return behind(one, Wait::other); }

/// For a ready thread, the kernel's own count of the time without a processor.
double queued(const ProcessSlice& one, double seconds) {
  return std::min(of(one.lead, Wait::running), ratio(one.counted.queued_s, seconds) * total(one.lead));
}
double making(const ProcessSlice& one, const Roles& roles) {
  double periods = 0;
  for (std::size_t i = 0; i < roles.making; ++i) periods += one.stretches[i];
  return std::min(periods, of(one.lead, Wait::running));
}
double on_processor(const ProcessSlice& one, double seconds) {
  return of(one.lead, Wait::running) - queued(one, seconds);
}

double found_at(const WaitCounts& waits, const std::vector<Wait>& which) {
  double sum = 0;
  for (const Wait wait : which) sum += of(waits, wait);
  return sum;
}
Part found_in(std::initializer_list<Wait> waits) {
  return [waits = std::vector<Wait>(waits)](const ProcessSlice& one, double) { return found_at(one.lead, waits); };
}
/// The same, and the states of its own threads while it waits for them.
Part found_through(Wait wait) {
  return [wait](const ProcessSlice& one, double) { return of(one.lead, wait) + behind(one, wait); };
}

/// While no thread of its own does anything either.
double waiting_alone(const ProcessSlice& one) {
  return total(one.behind) > 0 ? behind(one, Wait::hand_over) : of(one.lead, Wait::hand_over);
}

constexpr double kBusy = 0.5;  // of the busiest's share of the time: less is another loader, or a stage that waits

/// The numbered items that are busy enough, by their idle share of the time.
class Busiest {
 public:
  void add(std::uint32_t number, double idle, double all) {
    sums_[number].part += all - idle;
    sums_[number].whole += all;
  }
  /// Numbers, ascending.
  std::set<std::uint32_t> found() const {
    double most = 0;
    for (const auto& [number, sum] : sums_) most = std::max(most, ratio(sum.part, sum.whole));
    std::set<std::uint32_t> busy;
    for (const auto& [number, sum] : sums_)
      if (ratio(sum.part, sum.whole) >= kBusy * most) busy.insert(number);
    return busy;
  }

 private:
  std::map<std::uint32_t, PartAndWhole> sums_;
};

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

/// The shares of their first threads, and of their own threads that those wait for.
std::vector<Share> process_shares(const std::vector<const Slice*>& slices, const std::set<std::uint32_t>& busy) {
  const Sharing share{slices, [&busy](std::uint32_t process) { return busy.contains(process); }};
  const Part computing = [](const ProcessSlice& one, double seconds) {
    return on_processor(one, seconds) + behind(one, Wait::running) + computed_for(one);
  };
  return {share("reading", found_through(Wait::read)),
          share("opening", found_through(Wait::name)),
          share("faults", found_through(Wait::fault)),
          share("writing", found_in({Wait::write})),
          share("interpreter_lock", found_through(Wait::lock)),
          share("processor", computing),
          share("queued", queued),
          share("consumer", [](const ProcessSlice& one, double) { return waiting_alone(one); }),
          share("pause", found_in({Wait::sleep})),
          share("other", found_in({Wait::other, Wait::gpu}))};
}

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
  share.value = std::clamp(ratio(all.part, all.whole), 0.0, 1.0);
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
      sum.part += of(one.lead, Wait::hand_over) - computed_for(one) + of(one.lead, Wait::lock);
      if (roles.in_process) sum.part += found_at(one.lead, {Wait::read, Wait::name, Wait::fault}) + making(one, roles);
      sum.whole += total(one.lead);
    }
  return sum;
}

std::vector<Share> consumer_shares(const std::vector<const Slice*>& slices, const Roles& roles) {
  const Sharing share{slices, [&roles](std::uint32_t process) { return roles.is_consumer(process); }};
  const Part waiting = [](const ProcessSlice& one, double) {
    return of(one.lead, Wait::hand_over) - computed_for(one);
  };
  const Part making_one = [&roles](const ProcessSlice& one, double) { return making(one, roles); };
  const Part computing = [&roles](const ProcessSlice& one, double seconds) {
    return std::max(0.0, on_processor(one, seconds) - making(one, roles)) + computed_for(one);
  };
  return {share("waiting_for_loader", waiting),
          share("interpreter_lock", found_in({Wait::lock})),
          share("reading", found_in({Wait::read, Wait::name, Wait::fault})),
          share("making", making_one),
          share("saving", found_in({Wait::write})),
          share("processor", computing),
          share("queued", queued),
          share("gpu", found_in({Wait::gpu})),
          share("pause", found_in({Wait::sleep})),
          share("other", found_in({Wait::other}))};
}

std::vector<Share> worker_shares(const std::vector<const Slice*>& slices, const Roles& roles) {
  Busiest busiest;
  for (const Slice* slice : slices)
    for (const ProcessSlice& one : slice->processes)
      if (roles.is_worker(one.process))
        busiest.add(one.process, waiting_alone(one) + of(one.lead, Wait::other), total(one.lead));
  return process_shares(slices, busiest.found());
}

std::vector<Share> thread_shares(const std::vector<const Slice*>& slices, const Roles& roles) {
  Busiest busiest;
  for (const Slice* slice : slices)
    for (const ProcessSlice& process : slice->processes)
      for (const ThreadSlice& one : process.threads)
        if (roles.is_thread(one.thread))
          busiest.add(one.thread, found_at(one.waits, {Wait::hand_over, Wait::other}), total(one.waits));
  const std::set<std::uint32_t> busy = busiest.found();
  const auto share = [&](const char* name, std::initializer_list<Wait> which) {
    return share_over(slices, name, [&](const Slice& slice) {
      PartAndWhole sum;
      for (const ProcessSlice& process : slice.processes)
        for (const ThreadSlice& one : process.threads)
          if (busy.contains(one.thread)) {
            sum.part += found_at(one.waits, which);
            sum.whole += total(one.waits);
          }
      return sum;
    });
  };
  return {share("reading", {Wait::read}),          share("opening", {Wait::name}),
          share("faults", {Wait::fault}),          share("writing", {Wait::write}),
          share("interpreter_lock", {Wait::lock}), share("processor", {Wait::running}),
          share("consumer", {Wait::hand_over}),    share("pause", {Wait::sleep}),
          share("other", {Wait::other, Wait::gpu})};
}

std::vector<Share> own_reading_shares(const std::vector<const Slice*>& slices, const Roles& roles) {
  return process_shares(slices, {roles.consumers.begin(), roles.consumers.end()});
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
