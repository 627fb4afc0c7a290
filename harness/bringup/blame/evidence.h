// The evidence of pairs of nodes: rates, latencies and retransmissions. Each is searched by the same rules (search.h),
// so that any of them can accuse a part. docs/reference/bring-up.md has the scales.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/bringup/blame/search.h"

namespace headrace::bringup {

enum class Quality { rate, latency, resent };
inline constexpr std::array kQualities{Quality::rate, Quality::latency, Quality::resent};
std::string_view to_string(Quality quality);

/// The rate of one pair of nodes over one rail.
struct PairMeasured {
  unsigned a = 0, b = 0, rail = 0;
  std::array<double, 2> rate{};    // a to b, b to a [B/s]
  std::array<double, 2> resent{};  // share of the segments, or packets, that a, and that b, sent
  double latency_s = 0;            // the least time from a small message to its answer
  double latency_median_s = 0, latency_p99_s = 0;
  /// By RDMA: by how much each end's port counted errors of its own.
  std::array<std::map<std::string, std::uint64_t>, 2> errors{};
  std::optional<unsigned> caller{};  // by TCP: the node that called the other one

  double least() const { return latency_s; }
  double slower() const { return std::min(rate[0], rate[1]); }
  double more_resent() const { return std::max(resent[0], resent[1]); }
};

/// A part of the fabric that loses in some quality.
struct Fault {
  Finding::Scope scope = Finding::Scope::node;
  unsigned a = 0, b = 0, rail = 0;  // as in a Finding
  double healthy = 0;               // probability that it is healthy after all, of the surest quality
  std::vector<Quality> in;
};

class Evidence {
 public:
  /// TCP first, then RDMA where there is any: rails are numbered through. Each network has searches of its own, as its
  /// noise, its switches and its usual rates are its own. The chance of a false accusation is shared by all.
  Evidence(const std::vector<Topology>& networks, const SearchOptions& options);

  /// As in Search.
  Round next();
  void add(std::span<const PairMeasured> measured);
  void lose(unsigned node);
  // In the network of that rail alone.
  void lose(unsigned node, unsigned rail);
  void avoid(unsigned a, unsigned b, unsigned rail);

  unsigned rounds() const { return searches_.front().search.rounds(); }
  /// The worst of its qualities.
  PartState node(unsigned number) const;
  std::vector<Fault> faults() const;
  /// The usual value of pairs, for words; 0 where nothing was measured.
  double usual_rate(unsigned rail) const;

 private:
  struct OneSearch {
    unsigned first_rail;
    Quality quality;
    Search search;
    bool of(unsigned rail) const {
      return rail >= first_rail && rail - first_rail < search.posterior().topology().rails;
    }
  };
  /// As a share of the best possible, so that a loss that must not be missed is kDelta or more.
  double on_scale(const PairMeasured& one, Quality quality) const;
  std::vector<Fault> faults_of(std::size_t first, std::size_t last) const;

  std::vector<OneSearch> searches_;      // of each network along kQualities
  std::vector<double> latency_scale_s_;  // of each rail; 0: nothing was measured yet
};

}  // namespace headrace::bringup
