// What a device's time goes with: how many requests it answers, or how many bytes it gives. Reported from groups of neighbouring
// requests that differ in size, as those of one file do: read-ahead begins small and grows.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace headrace::observe {

/// Sums over groups of requests: t [s] how long one took, n how many requests it was, b [B] how large these were together.
struct Pace {
  double groups = 0, t = 0, n = 0, b = 0;
  double tt = 0, tn = 0, tb = 0, nn = 0, nb = 0, bb = 0;
};
void add_group(Pace& to, double seconds, double requests, double bytes);
void add_pace(Pace& to, const Pace& more);

/// Of a device's time, the share that goes with bytes; the rest goes with the number of requests. 95 % bounds.
struct PaceShares {
  double bytes = 0, low = 0, high = 1;
};
/// By least squares, t = x n + y b with x, y >= 0. Nothing for fewer than 8 groups, and where all have the same mix of sizes.
std::optional<PaceShares> pace_shares(const Pace& pace);

/// The read requests that a device has answered so far.
struct Answered {
  std::uint64_t reads = 0, bytes = 0;
};
/// Of the text of /sys/dev/block/N/stat.
std::optional<Answered> parse_answered(std::string_view text) noexcept;

/// Makes groups of what is answered between looks: of some requests each, and as long as several looks.
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

/// The devices that most is read from, each by a file held open.
class DevicePaces {
 public:
  /// `sys`: "/sys"; tests lay their own.
  explicit DevicePaces(std::string sys) : sys_(std::move(sys)) {}
  void look(double now_s);
  /// Of "254:0", its groups since the last call.
  Pace take(const std::string& device);
  /// Follows these from now on, and no others.
  void follow(const std::map<std::string, std::uint64_t>& reads);

 private:
  struct Followed;
  const std::string sys_;
  std::map<std::string, std::shared_ptr<Followed>> followed_;
};

}  // namespace headrace::observe
