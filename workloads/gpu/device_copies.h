// Copies between memories of GPUs: what d2d and p2p share.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "harness/backends/loader.h"
#include "workloads/gpu/filled_memory.h"
#include "workloads/gpu/gated_copies.h"
#include "workloads/gpu/gpu_watch.h"
#include "workloads/gpu/gpus.h"
#include "workloads/gpu/planned.h"

namespace headrace::gpu {

/// How many bytes/s does each of some pairs of GPU memories give, one pair after the other? Gated
/// as h2d's pinned copies are. A byte that is copied counts once, though within a GPU it is read
/// and written.
class DeviceCopies : public WatchedGpus {
 public:
  static std::span<const Metric> metrics() {
    static constexpr std::array kMetrics{
        Metric{"bandwidth", "B/s", Better::higher, "Bytes copied over device time, the slowest pair's",
               /*per_device=*/true},
        Metric{"copy_time_s", "s", Better::lower, "Device time per copy, the slowest pair's"},
        kErrorCount,
    };
    return kMetrics;
  }

  Footprint footprint() const override {
    const double own_s = static_cast<double>(size_) * static_cast<double>(copies_ + kWarmUps) *
                         (planned_pairs() > PlannedNode::gpus ? 1 / PlannedNode::peer : 1 / PlannedNode::memory);
    return planned({}, planned_pairs() * own_s * (both_ ? 2 : 1), 2 * size_);
  }
  std::vector<std::string> latency_parts() const override { return {"submit"}; }
  std::vector<std::string> devices() const override {
    std::vector<std::string> names;
    for (const auto& pair : pairs_) names.push_back(pair->name);
    return pairs_.empty() ? names_ : names;
  }
  std::vector<PhaseSpec> phases() const override {
    std::vector<PhaseSpec> phases;
    for (const std::string& name : devices()) phases.push_back({name, false});
    return phases;
  }

  void prepare(Node& node, const DataProgress&) override {
    backend_ = &node.backends().gpu();
    watch_.open(*backend_);
    sources_ = {*backend_, size_};
    for (const auto& [source, target] : gpu_pairs(*backend_)) {
      const unsigned from = source, to = target;  // lambdas of C++20 do not capture structured bindings in clang 14
      if (std::unique_ptr<Pair> pair; unless_lost(from, to, [&] { pair = std::make_unique<Pair>(*this, from, to); }))
        pairs_.push_back(std::move(pair));
    }
    if (pairs_.empty()) throw RunError("the driver has lost the GPUs");
    if (both_) add_opposites();
    names_ = devices();
  }
  void before_phase(unsigned phase, unsigned, std::uint64_t) override {
    if (phase > 0) return;
    watch_.begin();
    for (auto& pair : pairs_) pair->device_s = 0, pair->bytes = 0;
  }
  void before_run(Worker& worker) override {
    Pair& pair = *pairs_[worker.phase];
    unless_lost(pair.from, pair.to, [&] {
      pair.stream->attach();
      for (unsigned i = 0; i < kWarmUps; ++i) pair.route.copy(size_, CopyKind::d2d);
      pair.stream->wait();
    });
  }
  void run(Worker& worker) override {
    Pair& pair = *pairs_[worker.phase];
    unless_lost(pair.from, pair.to, [&] { copy(pair, worker); });
  }

  void report(const Repetition&, MetricSink& sink) const override {
    double slowest = 0;
    for (const auto& pair : pairs_) {
      if (is_lost(*pair)) continue;
      if (pair->device_s <= 0) return;  // stopped before this pair had its turn
      const double rate = static_cast<double>(pair->bytes) / pair->device_s;
      sink.put(device_metric("bandwidth", pair->name), rate);
      if (slowest == 0 || rate < slowest) slowest = rate;
    }
    if (slowest == 0) throw RunError("the driver has lost the GPUs");
    sink.put("bandwidth", slowest);
    sink.put("copy_time_s", static_cast<double>(size_) / slowest);
    watch_.put_errors(sink);
  }
  std::vector<WrongBlock> verify(const DataProgress&) override {
    std::vector<WrongBlock> wrong;
    for (const auto& pair : pairs_)
      if (!is_lost(*pair)) sources_.check(pair->from, pair->to, pair->target->begin(), pair->name, wrong);
    return wrong;
  }
  std::vector<std::string> notes() override { return watch_.notes(); }
  void cleanup(Node&) override {
    pairs_.clear();
    sources_ = {};
  }

 protected:
  explicit DeviceCopies(Params& p)
      : size_(
            p.bytes("size", 256_MiB, {.min = 8, .max = static_cast<double>(64_GiB), .multiple_of = 8}, "of one copy")),
        in_flight_(p.count("copies_in_flight", 16, {.min = 1, .max = 256}, "copies queued at once")),
        copies_(p.count("copies", 0, {}, "per repetition and pair; 0 = 16 GiB worth of them, 16 to 4096")),
        by_cores_(declare_by_cores(p)) {
    if (copies_ == 0) copies_ = std::clamp<std::uint64_t>(16_GiB / size_, 16, 4096);
  }
  /// The GPU whose memory is written does the copying; others copy in the other direction at the same time.
  bool target_copies_ = false, both_ = false;
  /// That many on a node that a plan reckons with.
  virtual unsigned planned_pairs() const = 0;
  /// From which GPU's memory to which one's.
  virtual std::vector<std::pair<unsigned, unsigned>> gpu_pairs(GpuBackend& backend) const = 0;
  std::uint64_t size_;

 private:
  static constexpr unsigned kWarmUps = 4;

  struct Pair {
    Pair(DeviceCopies& owner, unsigned from, unsigned to)
        : from(from), to(to), name(from == to ? gpu_name(from) : gpu_name(from) + "_" + gpu_name(to)) {
      GpuBackend& backend = *owner.backend_;
      target = backend.gpu(to).allocate(owner.size_);
      stream = backend.gpu(owner.target_copies_ ? to : from).stream();
      route = {stream.get(), target->begin(), owner.sources_.of(from), owner.by_cores_};
    }

    unsigned from, to;
    std::string name;
    std::unique_ptr<GpuMemory> target;
    std::unique_ptr<GpuStream> stream;
    Route route;
    std::vector<Route> opposite;
    double device_s = 0;
    std::uint64_t bytes = 0;
  };

  void add_opposites() {
    for (const auto& pair : pairs_)
      for (const auto& other : pairs_)
        if (other->from == pair->to && other->to == pair->from) pair->opposite = {other->route};
  }
  bool is_lost(const Pair& pair) const {
    return !backend_->gpu(pair.from).lost().empty() || !backend_->gpu(pair.to).lost().empty();
  }
  template <class Work>
  bool unless_lost(unsigned from, unsigned to, Work work) {
    return gpu::unless_lost(backend_->gpu(from), [&] { gpu::unless_lost(backend_->gpu(to), work); }) &&
           backend_->gpu(to).lost().empty();
  }
  void copy(Pair& pair, Worker& worker) {
    for (std::uint64_t done = 0; done < copies_ && worker.recorder.running();) {
      const std::uint64_t now = std::min(in_flight_, copies_ - done);
      const BatchTimes batch = gated_batch(std::span<const Route>(&pair.route, 1), size_, CopyKind::d2d, now,
                                           pair.opposite, [&worker](std::uint64_t ns) { worker.recorder.part(1, ns); });
      pair.device_s += batch.device_s;
      pair.bytes += now * size_;
      worker.recorder.op(batch.opened_ns, batch.ended_ns, now * size_);
      done += now;
    }
  }

  std::uint64_t in_flight_, copies_;
  bool by_cores_;
  GpuBackend* backend_ = nullptr;
  SourceMemory sources_;
  std::vector<std::unique_ptr<Pair>> pairs_;
  std::vector<std::string> names_;
};

}  // namespace headrace::gpu
