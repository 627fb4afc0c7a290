#include "harness/workload/data/checkpoint/pace.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <vector>

#include "harness/backends/buffers.h"
#include "harness/base/parallel.h"
#include "harness/workload/data/data_set/block_pattern.h"

namespace headrace::checkpoint {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::uint64_t kGrowth = 4;   // from one trial to the next
constexpr double kLongEnough = 0.125;  // of the time that a save may take: a trial this long shows the speed
constexpr std::uint64_t kPaceKey = 0x70616365;

double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

class Trial {
 public:
  Trial(const SaveParams& params, Place& place)
      : params_(params), place_(place), chunk_(std::min(params.block_size, round_up(params.shard_size, kPage))) {
    fill_range(kPaceKey, 0, 0, chunk_.data(), chunk_.size());
  }

  /// Bytes per rank and second, while every rank saves `bytes`; ends early after `most_s`.
  double speed(std::uint64_t bytes, double most_s, const std::function<void()>& tick) {
    const Clock::time_point begin = Clock::now();
    std::atomic<std::uint64_t> written{0};
    const auto save = [&](unsigned, std::uint64_t rank) {
      written +=
          place_.try_to_save(static_cast<unsigned>(rank), bytes, chunk_, [&] { return seconds_since(begin) < most_s; });
    };
    try {
      parallel_for(params_.ranks, params_.ranks, save, tick);
    } catch (...) {
      remove();
      throw;
    }
    took_s_ = seconds_since(begin);
    remove();
    return static_cast<double>(written) / params_.ranks / took_s_;
  }
  double took_s() const { return took_s_; }

 private:
  void remove() {
    for (unsigned rank = 0; rank < params_.ranks; ++rank) place_.forget(rank);
  }

  const SaveParams& params_;
  Place& place_;
  std::vector<unsigned char> chunk_;
  double took_s_ = 0;
};

}  // namespace

std::uint64_t shard_within(const SaveParams& params, Place& place, const DataProgress& progress) {
  Trial trial(params, place);
  for (std::uint64_t bytes = std::min(params.block_size, params.shard_size);;
       bytes = std::min(params.shard_size, bytes * kGrowth)) {
    const auto tick = [&] {
      if (progress) progress(bytes * params.ranks, params.total_bytes(), "saving a part, to learn the speed");
    };
    const double speed = trial.speed(bytes, params.save_within_s, tick);
    if (bytes < params.shard_size && trial.took_s() < kLongEnough * params.save_within_s) continue;
    const double most = speed * params.save_within_s;
    if (most >= static_cast<double>(params.shard_size)) return params.shard_size;
    const auto pages = static_cast<std::uint64_t>(most) / kPage;
    return std::min(params.shard_size, std::max<std::uint64_t>(pages, 1) * kPage);
  }
}

}  // namespace headrace::checkpoint
