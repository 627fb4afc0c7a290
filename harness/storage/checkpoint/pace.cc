#include "harness/storage/checkpoint/pace.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <vector>

#include "harness/backends/open_files.h"
#include "harness/base/error.h"
#include "harness/base/parallel.h"
#include "harness/storage/data_set/block_pattern.h"

namespace headrace::checkpoint {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::uint64_t kGrowth = 4;   // from one trial to the next
constexpr double kLongEnough = 0.125;  // of the time that a save may take: a trial that takes so long tells the speed
constexpr std::uint64_t kKey = 0x70616365;

double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

class Trial {
 public:
  Trial(const SaveParams& params, const Folder& folder)
      : params_(params), folder_(folder), chunk_(std::min(params.block_size, round_up(params.shard_size, kPage))) {
    fill_range(kKey, 0, 0, chunk_.data(), chunk_.size());
  }

  /// Bytes per rank and second, while every rank saves `bytes`; ends early after `most_s`.
  double speed(std::uint64_t bytes, double most_s, const std::function<void()>& tick) {
    const Clock::time_point begin = Clock::now();
    std::atomic<std::uint64_t> written{0};
    const auto save = [&](unsigned, std::uint64_t rank) {
      written += save_one(static_cast<unsigned>(rank), bytes, [&] { return seconds_since(begin) < most_s; });
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
  template <class GoesOn>
  std::uint64_t save_one(unsigned rank, std::uint64_t bytes, GoesOn goes_on) {
    const system::UniqueFd fd = folder_.create(rank, 0);
    std::uint64_t at = 0;
    while (at < bytes && (at == 0 || goes_on())) {
      const std::uint64_t wanted = std::min<std::uint64_t>(chunk_.size(), bytes - at);
      const ssize_t n = ::pwrite(fd.get(), chunk_.data(), wanted, static_cast<off_t>(at));
      if (n < 0 && errno != EINTR) fail("write", rank);
      if (n > 0) at += static_cast<std::uint64_t>(n);
    }
    if (params_.durability != Durability::none && ::fsync(fd.get()) != 0) fail("sync", rank);
    return at;
  }
  [[noreturn]] void fail(const char* what, unsigned rank) const {
    throw system_error(what, folder_.path() + "/" + Folder::temporary_name(rank), errno);
  }
  void remove() const {
    for (unsigned rank = 0; rank < params_.ranks; ++rank) folder_.remove_temporary(rank);
  }

  const SaveParams& params_;
  const Folder& folder_;
  std::vector<unsigned char> chunk_;
  double took_s_ = 0;
};

}  // namespace

std::uint64_t shard_within(const SaveParams& params, const Folder& folder, const DataProgress& progress) {
  Trial trial(params, folder);
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
