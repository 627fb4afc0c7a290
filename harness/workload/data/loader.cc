#include "harness/workload/data/loader.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "harness/record/worker.h"

namespace headrace {
namespace {

constexpr std::array kKinds{"none", "pytorch", "pytorch_iterable", "tfdata", "in_flight"};

}  // namespace

Loader Loader::declare(Params& params, Kind fallback) {
  const bool consumer = fallback != Kind::none;
  constexpr std::uint64_t kBatch = 32, kPrefetch = 2;  // the latter is PyTorch's own
  Loader loader;
  const std::string kind = params.choice(
      "loader", kKinds[static_cast<std::size_t>(fallback)], {kKinds.begin() + (consumer ? 1 : 0), kKinds.end()},
      std::string("which data loader it imitates. ") + (consumer ? "" : "none: any free worker takes the next; ") +
          "pytorch: batch i by worker i mod workers, delivered in order, each worker prefetch_factor batches ahead. "
          "pytorch_iterable: the same, each worker its own share. tfdata: samples one by one, in order. in_flight: "
          "each worker keeps queue_depth requests in flight");
  loader.kind_ = static_cast<Kind>(std::find(kKinds.begin(), kKinds.end(), kind) - kKinds.begin());
  const bool batches = loader.in_order() || consumer;
  // 0 is below the least and means that there is none.
  const std::uint64_t batch_size =
      params.count("batch_size", batches ? kBatch : 0, {.min = 1, .max = 65536},
                   "loader: samples that a worker reads one after the other and hands over together; tfdata hands over "
                   "each by itself");
  const std::uint64_t prefetch_factor =
      params.count("prefetch_factor", batches ? kPrefetch : 0, {.min = 1, .max = 64},
                   "loader: batches of each worker that are read or being read and not yet delivered; tfdata: samples "
                   "of shards");
  if (!batches) {
    constexpr const char* kWhy = "only loaders that deliver in order have it: pytorch, pytorch_iterable, tfdata";
    for (const char* key : {"batch_size", "prefetch_factor"})
      if (params.given(key)) params.conflict(key, kWhy);
    return loader;
  }
  loader.batch_size_ = batch_size;
  loader.prefetch_factor_ = static_cast<unsigned>(prefetch_factor);
  return loader;
}

void Loader::check(Params& params, const StorageParams& io, const OpenLoop& open_loop, bool tuned) const {
  if (kind_ == Kind::none) return;
  const std::string& engine = io.engine;
  const bool queues = io.traits().queues();
  if (kind_ == Kind::in_flight && !queues)
    params.conflict("engine", "a loader that keeps requests in flight reads with " + queueing_engine() + "; engine " +
                                  engine + " waits for each");
  if (!in_order()) return;
  if (io.traits().objects && io.queue_depth > 1)
    params.conflict("queue_depth", "a worker of this loader asks and waits; loader in_flight keeps more in flight");
  else if (queues && !io.traits().objects)
    params.conflict("engine", std::string("a worker of this loader reads and waits: ") + known_backends().front().name +
                                  "; loader in_flight keeps more in flight");
  if (open_loop.asked()) params.conflict("loader", "a loader reads as fast as it can: no rate and no ramp");
  if (tuned) params.conflict("tune", "a loader reads as it does: there is nothing to search");
}

std::uint64_t Loader::operations_per_batch(double samples_per_operation) const {
  const double operations = std::round(static_cast<double>(batch_size_) / samples_per_operation);
  return operations < 1 ? 1 : static_cast<std::uint64_t>(std::min(operations, 1e9));
}

std::uint64_t Loader::operations(double samples_per_operation) const {
  if (kind_ != Kind::tfdata) return operations_per_batch(samples_per_operation);
  return static_cast<std::uint64_t>(std::clamp(std::round(1 / samples_per_operation), 1.0, 1e9));
}

void Loader::before_phase(unsigned workers, std::uint64_t operations, std::uint64_t most, bool buffered) {
  if (!in_order()) return;
  const unsigned ahead = kind_ == Kind::tfdata && !buffered ? 1 : prefetch_factor_;
  lanes_.clear();
  batches_ = std::make_unique<Batches>(workers, ahead);
  lanes_.reserve(workers);
  for (unsigned i = 0; i < workers; ++i) lanes_.push_back(batches_->lane(i, std::min(operations * ahead, most)));
}

Batches::Lane& Loader::begin(const Worker& worker) noexcept {
  Batches::Lane& lane = lanes_[worker.index];
  lane.begin(worker.recorder);
  return lane;
}

}  // namespace headrace
