#include "harness/observe/learning/pace.h"

#include <fcntl.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <vector>

#include "harness/base/counters.h"
#include "harness/base/quantiles.h"
#include "harness/base/system/open_quiet.h"
#include "harness/observe/sampling/process_files.h"

namespace headrace::observe {
namespace {

// In a group: of those at its ends is not reported whether the time before or behind them is theirs.
constexpr std::uint64_t kFewestRequests = 8;
constexpr double kShortest = 0.05;  // [s]: looks are up to 0.01 s late
constexpr double kLongest = 4.0;    // [s]: without any request in this time
constexpr double kFewestRequestGroups = 8;
constexpr double kSameMix = 1e-6;  // of the square: the rest of the bytes that do not go with the number of requests
constexpr std::size_t kMostFollowed = 4;

}  // namespace

void add_group(Pace& to, double seconds, double requests, double bytes) {
  add_pace(to, {.groups = 1,
                .t = seconds,
                .n = requests,
                .b = bytes,
                .tt = seconds * seconds,
                .tn = seconds * requests,
                .tb = seconds * bytes,
                .nn = requests * requests,
                .nb = requests * bytes,
                .bb = bytes * bytes});
}

void add_pace(Pace& to, const Pace& more) {
  to.groups += more.groups;
  to.t += more.t;
  to.n += more.n;
  to.b += more.b;
  to.tt += more.tt;
  to.tn += more.tn;
  to.tb += more.tb;
  to.nn += more.nn;
  to.nb += more.nb;
  to.bb += more.bb;
}

std::optional<PaceShares> pace_shares(const Pace& p) {
  if (p.groups < kFewestRequestGroups) return std::nullopt;
  const double determinant = p.nn * p.bb - p.nb * p.nb;
  if (determinant <= kSameMix * p.nn * p.bb) return std::nullopt;
  const double x = (p.tn * p.bb - p.tb * p.nb) / determinant, y = (p.tb * p.nn - p.tn * p.nb) / determinant;
  const double freedom = p.groups - 2;
  const double residual = std::max(0.0, p.tt - x * p.tn - y * p.tb) / freedom;
  const double error = std::sqrt(residual * p.nn / determinant);  // of y
  const double share = y * p.b / p.t, half = statistics::t_quantile(0.975, freedom) * error * p.b / p.t;
  return PaceShares{.bytes = std::clamp(share, 0.0, 1.0),
                    .low = std::clamp(share - half, 0.0, 1.0),
                    .high = std::clamp(share + half, 0.0, 1.0)};
}

std::optional<Answered> parse_answered(std::string_view text) noexcept {
  std::uint64_t fields[3] = {};  // reads, merged, sectors ...
  const char* at = text.data();
  const char* const end = at + text.size();
  for (std::uint64_t& field : fields) {
    while (at != end && *at == ' ') ++at;
    const auto [behind, error] = std::from_chars(at, end, field);
    if (error != std::errc()) return std::nullopt;
    at = behind;
  }
  return Answered{.reads = fields[0], .bytes = fields[2] * system::kSector};
}

void Grouping::look(double now_s, const Answered& now) {
  // A group begins and ends with an answer: the whole wait before it belongs to it.
  const bool answered = now.reads != last_reads_;
  last_reads_ = now.reads;
  if (begun_ && (!answered || now_s - begin_s_ < kShortest || now.reads < begin_.reads + kFewestRequests)) {
    if (now_s - begin_s_ > kLongest) begun_ = false;
    return;
  }
  if (begun_ && now.bytes > begin_.bytes && now_s - begin_s_ <= kLongest)
    add_group(pace_, now_s - begin_s_, static_cast<double>(now.reads - begin_.reads),
              static_cast<double>(now.bytes - begin_.bytes));
  begun_ = answered;
  begin_s_ = now_s;
  begin_ = now;
}

Pace Grouping::take() {
  const Pace taken = pace_;
  pace_ = {};
  return taken;
}

struct DevicePaces::Followed {
  system::UniqueFd stat;
  Grouping grouping;
};

void DevicePaces::look(double now_s) {
  char buffer[256];
  for (const auto& [device, one] : followed_)
    if (const auto answered = parse_answered(read_at_start(one->stat.get(), buffer)))
      one->grouping.look(now_s, *answered);
}

Pace DevicePaces::take(const std::string& device) {
  const auto found = followed_.find(device);
  return found == followed_.end() ? Pace{} : found->second->grouping.take();
}

void DevicePaces::follow(const std::map<std::string, std::uint64_t>& reads) {
  std::vector<std::pair<std::uint64_t, std::string>> most;
  for (const auto& [device, count] : reads)
    if (count > 0) most.emplace_back(count, device);
  std::sort(most.rbegin(), most.rend());
  most.resize(std::min(most.size(), kMostFollowed));
  std::map<std::string, std::shared_ptr<Followed>> next;
  for (const auto& [count, device] : most) {
    if (const auto known = followed_.find(device); known != followed_.end()) {
      next.insert(*known);
      continue;
    }
    system::UniqueFd stat(::open((sys_ + "/dev/block/" + device + "/stat").c_str(), O_RDONLY | O_CLOEXEC));
    if (stat) next.emplace(device, std::make_shared<Followed>(Followed{std::move(stat), {}}));
  }
  // One that is idle for a while stays, as long as there is room.
  for (const auto& one : followed_)
    if (next.size() < kMostFollowed) next.insert(one);
  followed_ = std::move(next);
}

}  // namespace headrace::observe
