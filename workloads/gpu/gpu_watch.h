// The state of the GPUs while copies ran: link speed, clocks held back, errors counted, faults.
#pragma once

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "harness/backends/gpu_faults.h"
#include "harness/base/error.h"
#include "harness/base/units.h"
#include "harness/machine/lost_gpus.h"
#include "harness/workload/workload.h"
#include "workloads/gpu/gpus.h"
#include "workloads/gpu/link_rates.h"

namespace headrace::gpu {

/// The metrics that put() gives, for a workload's catalogue.
inline constexpr Metric kLinkBandwidth{
    "link_bandwidth", "B/s", Better::neither,
    "Formula B6: raw rate of the link under load, one direction; of NVLink-C2C as the driver reports it",
    /*per_device=*/true};
inline constexpr Metric kLinkEffective{"link_effective_bandwidth", "B/s", Better::neither,
                                       "Formula B7: what packet headers leave of link_bandwidth"};
inline constexpr Metric kLinkTrained{"link_trained", "ratio", Better::higher,
                                     "Link rate under load over the most that GPU and slot can do; 1 = trained fully; "
                                     "of NVLink-C2C the links that are up over those that there are"};
inline constexpr Metric kErrorCount{"error_count", "count", Better::lower,
                                    "PCIe packets sent again, memory errors (ECC, remapped rows), NVLink errors and "
                                    "Xids that the GPUs counted during the test",
                                    /*per_device=*/true};

/// Does `work` with a GPU; false: the driver has lost it. Then the others go on, and GpuWatch::faults() names it.
template <class Work>
bool unless_lost(const Gpu& gpu, Work work) {
  if (!gpu.lost().empty()) return false;
  try {
    work();
  } catch (const RunError&) {
    if (gpu.lost().empty()) throw;
    return false;
  }
  return true;
}

/// Asks the driver between timed regions only; never sets anything.
class GpuWatch {
 public:
  const std::vector<std::string>& names() const { return names_; }
  void open(GpuBackend& backend) {
    std::vector<unsigned> all(backend.count());
    std::iota(all.begin(), all.end(), 0u);
    open(backend, all);
  }
  /// Those of `indices` alone: of a process that shares its node with others.
  void open(GpuBackend& backend, const std::vector<unsigned>& indices) {
    watched_.clear();
    names_.clear();
    risen_.clear();
    lost_.clear();
    for (const unsigned index : indices) {
      names_.push_back(gpu_name(index));
      watched_.push_back({.gpu = &backend.gpu(index)});
    }
    if (const auto listed = listed_gpus(backend))
      for (const std::string& address : system::lost_gpus(*listed)) lost_.push_back(lost_gpu(address));
    for (Watched& w : watched_) w.max_payload = pcie_max_payload(w.gpu->facts().pci_address);
  }
  /// Before a repetition.
  void begin() {
    for (Watched& w : watched_) {
      w.before = w.loaded = w.gpu->state();
      w.after.reset();
      w.xids = w.before.xids;
      w.errors.reset();
    }
  }
  /// While GPU `index` copies: a link may sleep at a lower speed when it is idle. Each GPU by one
  /// thread at a time.
  void under_load(unsigned index) {
    watched_[index].loaded = watched_[index].gpu->state();
    add_xids(index, watched_[index].loaded.xids);
  }
  /// That another caller got for GPU `index` since begin().
  void add_xids(unsigned index, const std::vector<unsigned>& xids) {
    watched_[index].xids.insert(watched_[index].xids.end(), xids.begin(), xids.end());
  }
  /// After a repetition: other programs' work on the GPUs in this time. A GPU's own behaviour is no disturbance.
  /// Neither is its power limit, at which sound ones work; heat and errors are findings.
  std::string end() {
    std::string why;
    for (unsigned i = 0; i < watched_.size(); ++i) {
      look(i);
      Watched& w = watched_[i];
      const GpuState& after = *w.after;
      const std::string& held = after.held_back.empty() ? w.loaded.held_back : after.held_back;
      if (!held.empty()) note(names_[i] + " was held back: " + held);
      rise(i, "PCIe replay counter", w.before.replays, after.replays);
      rise(i, "count of corrected memory errors (ECC)", w.before.ecc_corrected, after.ecc_corrected);
      rise(i, "count of uncorrected memory errors (ECC)", w.before.ecc_uncorrected, after.ecc_uncorrected);
      rise(i, "count of NVLink errors", w.before.nvlink_errors, after.nvlink_errors);
      rise(i, "count of remapped memory rows", w.before.remapped_rows, after.remapped_rows);
      links_lost(i, w.before.nvlinks_up, after.nvlinks_up);
      for (const unsigned xid : w.xids) reported(i, xid, why);
    }
    return why;
  }
  /// After a repetition, or a preparation, whether it went through or not: the broken parts.
  std::vector<PartFault> faults() {
    std::vector<PartFault> all = lost_;
    for (unsigned i = 0; i < watched_.size(); ++i) {
      Watched& w = watched_[i];
      look(i);
      if (std::string why = w.gpu->lost(); !why.empty()) all.push_back({names_[i], "lost", 1, std::move(why)});
      GpuState state = *w.after;
      state.xids = w.xids;
      for (PartFault& one : gpu_faults(names_[i], w.gpu->facts(), state)) all.push_back(std::move(one));
    }
    return all;
  }

  PcieLink link(unsigned index) const { return watched_[index].loaded.link; }
  /// The slowest link's figures, each GPU's raw rate, and the error count. Unreported values are left out.
  void put(MetricSink& sink) const {
    double least = 0, trained = 0, effective = 0;
    for (unsigned i = 0; i < watched_.size(); ++i) {
      const Watched& w = watched_[i];
      const GpuFacts& facts = w.gpu->facts();
      const double now = link_raw_bandwidth(facts, w.loaded.link);
      const double most = facts.beside_pcie() ? all_of(facts.c2c) : link_raw_bandwidth(facts.link_max);
      if (now == 0) continue;
      sink.put(device_metric(kLinkBandwidth.name, names_[i]), now);
      const bool slowest = least == 0 || now < least;
      if (slowest) least = now;
      if (slowest && w.max_payload > 0 && !facts.beside_pcie())
        effective = link_effective_bandwidth(now, w.max_payload);
      if (most > 0 && (trained == 0 || now / most < trained)) trained = now / most;
    }
    if (least > 0) sink.put(kLinkBandwidth.name, least);
    if (effective > 0) sink.put(kLinkEffective.name, effective);
    if (trained > 0) sink.put(kLinkTrained.name, trained);
    put_errors(sink, true);
  }
  /// `each`: for each GPU, too, where the workload's devices() are names().
  void put_errors(MetricSink& sink, bool each = false) const {
    std::optional<double> sum;
    for (unsigned i = 0; i < watched_.size(); ++i) {
      if (!watched_[i].errors) continue;
      const auto errors = static_cast<double>(*watched_[i].errors);
      if (each) sink.put(device_metric(kErrorCount.name, names_[i]), errors);
      sum = sum.value_or(0) + errors;
    }
    if (sum) sink.put(kErrorCount.name, *sum);
  }
  /// For a GPU on NVLink-C2C with unknown rate: why its link has no figures.
  std::string why_missing(std::string_view metric) const {
    if (!metric.starts_with("link_")) return "";
    for (unsigned i = 0; i < watched_.size(); ++i) {
      const GpuFacts& facts = watched_[i].gpu->facts();
      if (facts.beside_pcie() && (facts.c2c.rate == 0 || metric == kLinkEffective.name))
        return names_[i] + " is reached by NVLink-C2C and not by PCI Express" +
               (facts.c2c.rate == 0 ? ", and the driver does not report that link's rate" : "");
    }
    return "";
  }
  /// Links below their best, counters that rose, slices.
  std::vector<std::string> notes() const {
    std::vector<std::string> all = risen_;
    for (unsigned i = 0; i < watched_.size(); ++i) {
      const GpuFacts& facts = watched_[i].gpu->facts();
      const PcieLink &now = watched_[i].loaded.link, &most = facts.link_max;
      if (facts.beside_pcie() && facts.c2c.count < facts.c2c.most)
        all.push_back(names_[i] + ": " + std::to_string(facts.c2c.count) + " of " + std::to_string(facts.c2c.most) +
                      " links of NVLink-C2C are up");
      if (!facts.beside_pcie() && now.generation > 0 && most.generation > 0 &&
          (now.generation < most.generation || now.width < most.width))
        all.push_back(names_[i] + ": link runs as " + words(now) + " under load, it could as " + words(most));
      if (facts.slice)
        all.push_back(names_[i] + " is in MIG mode: link and copy engines are shared with the GPU's other slices");
    }
    return all;
  }
  static std::string words(const PcieLink& link) {
    return "Gen" + std::to_string(link.generation) + " x" + std::to_string(link.width);
  }

 private:
  /// The rate of all of them, by those that are up.
  static double all_of(const C2cLinks& links) { return links.count == 0 ? 0 : links.rate / links.count * links.most; }

  struct Watched {
    Gpu* gpu = nullptr;
    unsigned max_payload = 0;
    GpuState before{}, loaded{};
    std::optional<GpuState> after{};        // of this repetition
    std::vector<unsigned> xids{};           // in this time, too
    std::optional<std::uint64_t> errors{};  // in this time; nothing where the driver counts none
  };

  /// Once a repetition.
  void look(unsigned index) {
    Watched& w = watched_[index];
    if (w.after) return;
    w.after = w.gpu->state();
    add_xids(index, w.after->xids);
  }
  /// One that is the fault of a program may be another program's, and disturbed the repetition.
  void reported(unsigned index, unsigned xid, std::string& disturbed) {
    const std::string text = names_[index] + ": the driver reported " + xid_in_words(xid);
    count(index, 1);
    note(text);
    const Xid* known = find_xid(xid);
    if (known == nullptr || !known->fatal) disturbed += (disturbed.empty() ? "" : "; ") + text;
  }
  void links_lost(unsigned index, const std::optional<unsigned>& before, const std::optional<unsigned>& after) {
    if (before && after && *after < *before)
      note(names_[index] + ": NVLinks fell during the run, from " + std::to_string(*before) + " to " +
           std::to_string(*after));
  }
  void note(std::string text) {
    if (std::find(risen_.begin(), risen_.end(), text) == risen_.end()) risen_.push_back(std::move(text));
  }

  void count(unsigned index, std::uint64_t errors) {
    watched_[index].errors = watched_[index].errors.value_or(0) + errors;
  }
  void rise(unsigned index, const char* what, const std::optional<std::uint64_t>& before,
            const std::optional<std::uint64_t>& after) {
    if (!before || !after) return;
    count(index, *after > *before ? *after - *before : 0);
    if (*after <= *before) return;
    note(names_[index] + ": the " + what + " rose during the run");
  }

  std::vector<Watched> watched_;
  std::vector<std::string> names_;
  std::vector<std::string> risen_;
  std::vector<PartFault> lost_;
};

/// A workload that drives all GPUs of a node, and reports their events in this time.
class WatchedGpus : public Workload, public UsesDevices {
 public:
  static constexpr WorkloadTraits kTraits{.one_per_node = true};
  std::vector<std::string> devices() const override { return watch_.names(); }
  std::string disturbance() override { return watch_.end(); }
  std::vector<PartFault> faults() override { return watch_.faults(); }

 protected:
  GpuWatch watch_;
};

}  // namespace headrace::gpu
