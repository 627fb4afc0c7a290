// The cause of a device's time: how many requests it answers, or how many bytes it gives. Reported from groups of
// neighbouring requests of different size, such as those of one file: read-ahead begins small and grows.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace headrace::observe {

/// Sums over groups of requests: t [s] the time of one, n the number, b [B] their size together.
struct Pace {
  double groups = 0, t = 0, n = 0, b = 0;
  double tt = 0, tn = 0, tb = 0, nn = 0, nb = 0, bb = 0;
};
void add_group(Pace& to, double seconds, double requests, double bytes);
void add_pace(Pace& to, const Pace& more);

/// The share of a device's time that depends on bytes; the rest depends on the number of requests. 95 % bounds.
struct PaceShares {
  double bytes = 0, low = 0, high = 1;
};
/// By least squares, t = x n + y b with x, y >= 0. Nothing for fewer than 8 groups, and where all have the same mix of sizes.
std::optional<PaceShares> pace_shares(const Pace& pace);

/// The read requests that a device has answered so far.
struct Answered {
  std::uint64_t reads = 0, bytes = 0;
};
/// The counts in the text of /sys/dev/block/N/stat.
std::optional<Answered> parse_answered(std::string_view text) noexcept;

/// Makes groups of the answers between looks: of some requests each, and as long as several looks.
class Grouping {
 public:
  void look(double now_s, const Answered& now);
  /// The groups since the last call.
  Pace take();

 private:
  bool begun_ = false;
  double begin_s_ = 0;
  Answered begin_;
  std::uint64_t last_reads_ = 0;
  Pace pace_;
};

/// The devices with the most reads, each by a file that is kept open.
class DevicePaces {
 public:
  /// `sys`: "/sys"; tests set their own.
  explicit DevicePaces(std::string sys) : sys_(std::move(sys)) {}
  void look(double now_s);
  /// The groups of "254:0" since the last call.
  Pace take(const std::string& device);
  /// Follows these from now on, and no others.
  void follow(const std::map<std::string, std::uint64_t>& reads);

 private:
  struct Followed;
  const std::string sys_;
  std::map<std::string, std::shared_ptr<Followed>> followed_;
};

}  // namespace headrace::observe
