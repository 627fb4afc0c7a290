// What the GPUs were doing while copies ran: link speed, clocks held back, errors counted.
#pragma once

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "harness/backends/gpu.h"
#include "harness/base/units.h"
#include "harness/record/metric.h"
#include "workloads/gpu/gpus.h"
#include "workloads/gpu/link_rates.h"

namespace headrace::gpu {

/// The metrics that put() gives, for a workload's catalogue.
inline constexpr Metric kLinkBandwidth{"link_bandwidth", "B/s", Better::neither,
                                       "Formula B6: raw rate of the link as it ran under load, one direction; of "
                                       "NVLink-C2C what the driver tells",
                                       /*per_device=*/true};
inline constexpr Metric kLinkEffective{"link_effective_bandwidth", "B/s", Better::neither,
                                       "Formula B7: what packet headers leave of link_bandwidth"};
inline constexpr Metric kLinkTrained{"link_trained", "ratio", Better::higher,
                                     "Link rate under load over the most that GPU and slot can do; 1 = trained fully; "
                                     "of NVLink-C2C the links that are up over those that there are"};
inline constexpr Metric kErrorCount{
    "error_count", "count", Better::lower,
    "PCIe packets sent again, memory errors (ECC, remapped rows), NVLink errors and Xids that "
    "the GPUs counted meanwhile"};

/// Asks the driver between timed regions only; never sets anything. Its owner's devices() are
/// names().
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
    for (const unsigned index : indices) {
      names_.push_back(gpu_name(index));
      watched_.push_back({.gpu = &backend.gpu(index)});
    }
    for (Watched& w : watched_) w.max_payload = pcie_max_payload(w.gpu->facts().pci_address);
  }
  /// Before a repetition.
  void begin() {
    for (Watched& w : watched_) w.before = w.loaded = w.gpu->state();
  }
  /// While GPU `index` copies: a link may sleep at a lower speed when it is idle. Each GPU by one
  /// thread at a time.
  void under_load(unsigned index) { watched_[index].loaded = watched_[index].gpu->state(); }
  /// After a repetition: what was held back ("gpu0 was held back: thermal").
  std::string end() {
    std::string why;
    errors_ = 0;
    errors_known_ = false;
    for (unsigned i = 0; i < watched_.size(); ++i) {
      Watched& w = watched_[i];
      const GpuState after = w.gpu->state();
      const std::string& held = after.held_back.empty() ? w.loaded.held_back : after.held_back;
      if (!held.empty()) why += (why.empty() ? "" : "; ") + names_[i] + " was held back: " + held;
      rise(i, "PCIe replay counter", w.before.replays, after.replays);
      rise(i, "count of corrected memory errors (ECC)", w.before.ecc_corrected, after.ecc_corrected);
      rise(i, "count of uncorrected memory errors (ECC)", w.before.ecc_uncorrected, after.ecc_uncorrected);
      rise(i, "count of NVLink errors", w.before.nvlink_errors, after.nvlink_errors);
      rise(i, "count of remapped memory rows", w.before.remapped_rows, after.remapped_rows);
      links_lost(i, w.before.nvlinks_up, after.nvlinks_up);
      std::vector<unsigned> xids = w.loaded.xids;
      xids.insert(xids.end(), after.xids.begin(), after.xids.end());
      for (const unsigned xid : xids) why += (why.empty() ? "" : "; ") + reported(i, xid);
    }
    return why;
  }

  PcieLink link(unsigned index) const { return watched_[index].loaded.link; }
  /// The slowest link's figures, each GPU's raw rate, and the error count. What is not told is left
  /// out.
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
    put_errors(sink);
  }
  void put_errors(MetricSink& sink) const {
    if (errors_known_) sink.put(kErrorCount.name, static_cast<double>(errors_));
  }
  /// Of a GPU that is reached over NVLink-C2C whose rate is not told: why its link has no figures.
  std::string why_missing(std::string_view metric) const {
    if (!metric.starts_with("link_")) return "";
    for (unsigned i = 0; i < watched_.size(); ++i) {
      const GpuFacts& facts = watched_[i].gpu->facts();
      if (facts.beside_pcie() && (facts.c2c.rate == 0 || metric == kLinkEffective.name))
        return names_[i] + " is reached by NVLink-C2C and not by PCI Express" +
               (facts.c2c.rate == 0 ? ", and the driver does not tell that link's rate" : "");
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
  /// What all of them would carry, as those that are up do.
  static double all_of(const C2cLinks& links) { return links.count == 0 ? 0 : links.rate / links.count * links.most; }

  /// Tells it, and what disturbed the repetition.
  std::string reported(unsigned index, unsigned xid) {
    const char* words = xid_in_words(xid);
    std::string text = names_[index] + ": the driver reported Xid " + std::to_string(xid) +
                       (*words == '\0' ? "" : ", " + std::string(words));
    errors_known_ = true;
    ++errors_;
    note(text);
    return text;
  }
  void links_lost(unsigned index, const std::optional<unsigned>& before, const std::optional<unsigned>& after) {
    if (before && after && *after < *before)
      note(names_[index] + ": NVLinks fell during the run, from " + std::to_string(*before) + " to " +
           std::to_string(*after));
  }
  void note(std::string text) {
    if (std::find(risen_.begin(), risen_.end(), text) == risen_.end()) risen_.push_back(std::move(text));
  }

  struct Watched {
    Gpu* gpu = nullptr;
    unsigned max_payload = 0;
    GpuState before = {}, loaded = {};
  };

  void rise(unsigned index, const char* what, const std::optional<std::uint64_t>& before,
            const std::optional<std::uint64_t>& after) {
    if (!before || !after) return;
    errors_known_ = true;
    if (*after <= *before) return;
    errors_ += *after - *before;
    note(names_[index] + ": the " + what + " rose during the run");
  }

  std::vector<Watched> watched_;
  std::vector<std::string> names_;
  std::vector<std::string> risen_;
  std::uint64_t errors_ = 0;
  bool errors_known_ = false;
};

}  // namespace headrace::gpu
