#include "harness/workload/data/tuning.h"

#include <fmt/format.h>

#include <algorithm>

#include "harness/backends/loader.h"
#include "harness/base/error.h"
#include "harness/base/units.h"

namespace headrace {
namespace {

constexpr double kFirstTrial_s = 0.08;
constexpr std::size_t kFinalists = 3;

void best_first(std::vector<Tried>& tried) {
  std::stable_sort(tried.begin(), tried.end(),
                   [](const Tried& a, const Tried& b) { return a.bytes_per_s > b.bytes_per_s; });
}

}  // namespace

std::string to_string(const Way& way) {
  return fmt::format("{}, {} blocks, {} in flight", way.engine,
                     format_quantity(static_cast<double>(way.block_size), Dimension::bytes, true), way.queue_depth);
}

Tuning Tuning::declare(Params& params, const StorageParams& io, bool block_size_too) {
  Tuning t;
  t.io_ = io;
  t.wanted_ =
      params.flag("tune", false,
                  block_size_too ? "search engine, block_size and queue_depth for the highest rate; given values stay"
                                 : "search engine and queue_depth for the highest rate; given values stay");
  t.any_engine_ = !params.given("engine");
  t.any_block_ = block_size_too && !params.given("block_size");
  t.any_depth_ = !params.given("queue_depth");
  return t;
}

std::vector<Way> Tuning::ways(const Backends& backends) const {
  std::vector<std::string> engines{io_.engine};
  if (any_engine_) engines = storage_engines([](const StorageTraits& t) { return t.direct; });
  std::vector<std::uint64_t> blocks{io_.block_size};
  if (any_block_) blocks = {128_KiB, 256_KiB, 512_KiB, 1_MiB, 2_MiB, 4_MiB};
  std::vector<std::uint32_t> depths{io_.queue_depth};
  if (any_depth_) depths = {1, 2, 4, 8, 16, 32};
  std::vector<Way> ways;
  for (const std::string& engine : engines) {
    if (!backends.why_not(engine).empty()) continue;
    const bool waits = !storage_traits(engine).queues();
    for (const std::uint64_t block : blocks) {
      if (waits && (any_depth_ || io_.queue_depth == 1)) ways.push_back({engine, block, 1});
      if (waits) continue;
      for (const std::uint32_t depth : depths) ways.push_back({engine, block, depth});
    }
  }
  return ways;
}

std::vector<Tried> search(std::vector<Way> ways, const std::function<double(const Way&, double)>& rate) {
  std::vector<Tried> tried;
  for (Way& way : ways) tried.push_back({std::move(way), {}});
  const auto attempt = [&](const Way& way, double seconds) {
    try {
      return rate(way, seconds);
    } catch (const RunError&) {
      return 0.0;  // more buffers than may be pinned, for example: impossible on this machine
    }
  };
  double seconds = kFirstTrial_s;
  for (std::size_t left = tried.size(); left > kFinalists; left = std::max(kFinalists, left / 2), seconds *= 2) {
    for (std::size_t i = 0; i < left; ++i) {
      tried[i].bytes_per_s = attempt(tried[i].way, seconds);
    }
    std::vector<Tried> round(tried.begin(), tried.begin() + static_cast<std::ptrdiff_t>(left));
    best_first(round);
    std::copy(round.begin(), round.end(), tried.begin());
  }
  tried.resize(std::min(tried.size(), kFinalists));
  std::vector<std::vector<double>> rates(tried.size());
  for (int turn = 0; turn < 3; ++turn) {
    for (std::size_t i = 0; i < tried.size(); ++i) {
      rates[i].push_back(attempt(tried[i].way, seconds));
    }
  }
  for (std::size_t i = 0; i < tried.size(); ++i) {
    std::sort(rates[i].begin(), rates[i].end());
    tried[i].bytes_per_s = rates[i][1];
  }
  best_first(tried);
  return tried;
}

void Tuning::run(const RunTrial& trial, const Backends& backends, const std::function<void(const Way&)>& use) {
  if (!wanted_ || !note_.empty()) return;
  const auto rate = [&](const Way& way, double seconds) {
    use(way);
    const auto phase = trial(seconds, "tuning: " + to_string(way));
    return phase ? phase->bytes_per_s() : 0;
  };
  const std::vector<Tried> tried = search(ways(backends), rate);
  use(tried.front().way);
  const auto describe = [](const Tried& t) {
    return fmt::format("{}: {}", to_string(t.way), format_quantity(t.bytes_per_s, Dimension::bytes_per_second));
  };
  note_ = "tuned: " + describe(tried.front());
  if (tried.size() > 1) note_ += "; next: " + describe(tried[1]);
}

}  // namespace headrace
