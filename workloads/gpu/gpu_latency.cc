// gpu_latency - the time of one load that waits for the one before. From a GPU's own memory, its host's, and each other
// GPU's that it reaches.
#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <numeric>
#include <vector>

#include "harness/backends/loader.h"
#include "harness/base/random.h"
#include "workloads/gpu/gpu_watch.h"
#include "workloads/gpu/gpus.h"
#include "workloads/gpu/planned.h"

namespace {
using namespace headrace;

constexpr std::array kGpuLatencyMetrics{
    Metric{"device_latency_ns", "ns", Better::lower, "Of a load from the GPU's own memory, the slowest GPU's",
           /*per_device=*/true},
    Metric{"host_latency_ns", "ns", Better::lower, "From pinned memory of the host, the slowest GPU's",
           /*per_device=*/true},
    Metric{"peer_latency_ns", "ns", Better::lower, "From another GPU's memory, the slowest pair's",
           /*per_device=*/true},
    gpu::kErrorCount,
};
enum Kind : unsigned { kOwn, kHost, kPeer };

constexpr std::uint64_t kLine = 128;  // what a GPU's cache holds of the memory around a place [B]

/// Places that each point to the next, in a random order through all, so that prefetching does not help. Each
/// repetition continues where the last one ended, so that no cache has it. One thread of the GPU follows them, timed by
/// the device's clock.
class GpuLatency final : public gpu::WatchedGpus {
 public:
  explicit GpuLatency(Params& p)
      : size_(p.bytes("size", 512_MiB, {.min = 1 << 16, .max = static_cast<double>(64_GiB)},
                      "that the places lie in: more than caches hold")),
        stride_(p.bytes("stride", 256, {.min = 32, .max = 1 << 20, .multiple_of = 8},
                        "distance between accesses in memory: larger than one load, with many places")),
        loads_(p.count("loads", 50'000, {.min = 1, .max = 1e8}, "of each memory and repetition")),
        placement_(gpu::Placement::declare(p)) {
    if (size_ / stride_ < 2) p.conflict("stride", "there must be two places at least");
  }

  static std::span<const Metric> metrics() { return kGpuLatencyMetrics; }
  std::optional<Skip> check(Node& node) override {
    if (auto skip = gpu::check_gpus(node, size_)) return skip;
    return placement_.check(node);
  }
  Footprint footprint() const override {
    Footprint f;
    f.memory_bytes = size_ + size_ / stride_ * sizeof order_.front();
    constexpr double kLoad_s = 2e-6;  // from another GPU's memory
    const double ways = gpu::PlannedNode::pairs + 2 * gpu::PlannedNode::gpus;
    return gpu::planned(f, ways * static_cast<double>(loads_) * kLoad_s, size_);
  }
  /// GPUs, and pairs of them.
  std::vector<std::string> devices() const override {
    std::vector<std::string> all = watch_.names();
    for (const auto& way : ways_)
      if (way->kind == kPeer) all.push_back(way->name);
    return all;
  }
  std::vector<PhaseSpec> phases() const override {
    if (ways_.empty()) return {{"main", false}};
    std::vector<PhaseSpec> phases;
    for (const auto& way : ways_) phases.push_back({way->name, false});
    return phases;
  }

  void prepare(Node& node, const DataProgress&) override {
    GpuBackend& backend = node.backends().gpu();
    watch_.open(backend);
    notes_.clear();
    ways_.clear();
    chains_.clear();
    Random random(1);
    order_.resize(size_ / stride_);
    std::iota(order_.begin(), order_.end(), 0u);
    for (std::size_t i = 0; i < order_.size(); ++i) std::swap(order_[i], order_[i + random.below(order_.size() - i)]);
    std::vector<Chain*> of_gpus;
    for (unsigned i = 0; i < backend.count(); ++i) {
      const OnNumaNode here(placement_.node_of(i, backend.gpu(i).facts(), notes_));
      note_cache(backend.gpu(i).facts(), i);
      of_gpus.push_back(add_chain(backend.gpu(i), &backend.gpu(i)));
    }
    for (unsigned i = 0; i < backend.count(); ++i) {
      Gpu& own = backend.gpu(i);
      std::vector<std::string> noted;  // above
      const OnNumaNode here(placement_.node_of(i, own.facts(), noted));
      for (unsigned at = 0; at < backend.count(); ++at)
        if (at == i || own.reaches(backend.gpu(at)))
          ways_.push_back(std::make_unique<Way>(own, i, at, at == i ? kOwn : kPeer, *of_gpus[at]));
      ways_.push_back(std::make_unique<Way>(own, i, i, kHost, *add_chain(own, nullptr)));
    }
  }
  void before_phase(unsigned phase, unsigned, std::uint64_t) override {
    if (phase > 0) return;
    watch_.begin();
    for (auto& way : ways_) way->load_ns = 0;
  }
  void before_run(Worker& worker) override {
    Way& way = *ways_[worker.phase];
    way.stream->attach();
    constexpr unsigned kFirst = 1000;
    way.stream->follow(way.chain.next(kFirst), kFirst);  // the memory's pages are known to the GPU
    way.stream->wait();
  }
  void run(Worker& worker) override {
    constexpr unsigned kBegin = 0, kEnd = 1;
    Way& way = *ways_[worker.phase];
    const void* const* const first = way.chain.next(loads_);
    const std::uint64_t begin = now_ns();
    HeldStream gate(*way.stream);  // loading is timed, not queueing
    way.stream->mark(kBegin);
    way.stream->follow(first, loads_);
    way.stream->mark(kEnd);
    gate.release();
    way.stream->wait_mark(kEnd);
    way.load_ns = 1e9 * way.stream->seconds(kBegin, *way.stream, kEnd) / static_cast<double>(loads_);
    worker.recorder.ops(begin, now_ns(), static_cast<std::uint32_t>(loads_), loads_ * sizeof(void*));
  }

  void report(const Repetition&, MetricSink& sink) const override {
    static constexpr std::array kNames{"device_latency_ns", "host_latency_ns", "peer_latency_ns"};
    std::array<double, 3> slowest{};
    for (const auto& way : ways_) {
      if (way->load_ns <= 0) return;  // stopped before it had its turn
      sink.put(device_metric(kNames[way->kind], way->name_of_metric), way->load_ns);
      slowest[way->kind] = std::max(slowest[way->kind], way->load_ns);
    }
    for (std::size_t kind = 0; kind < kNames.size(); ++kind)
      if (slowest[kind] > 0) sink.put(kNames[kind], slowest[kind]);
    watch_.put_errors(sink);
  }
  std::string why_missing(std::string_view metric) const override {
    return metric.starts_with("peer_") ? "no GPU reaches another one's memory without the host" : "";
  }
  std::vector<std::string> notes() override {
    std::vector<std::string> all = watch_.notes();
    all.insert(all.end(), notes_.begin(), notes_.end());
    return all;
  }
  void cleanup(Node&) override {
    ways_.clear();
    chains_.clear();
  }

 private:
  /// Places in one memory, each with the address of the next one. GPUs that load from it go on where the last one
  /// ended, so that no cache has the next places.
  struct Chain {
    /// In the memory of `there`. nullptr: in the host's, pinned for `own`.
    Chain(const GpuLatency& owner, Gpu& own, Gpu* there) : owner(owner), memory(own.pinned(owner.size_, false)) {
      std::unique_ptr<GpuMemory> target = there == nullptr ? nullptr : there->allocate(owner.size_);
      begin = target ? target->begin() : memory->begin();
      for (std::size_t i = 0; i < owner.order_.size(); ++i)
        *reinterpret_cast<const void**>(memory->begin() + std::uint64_t{owner.order_[i]} * owner.stride_) =
            place((i + 1) % owner.order_.size());
      if (there != nullptr) fill(*there, std::move(target));
    }
    void fill(Gpu& there, std::unique_ptr<GpuMemory> target) {
      const auto filler = there.stream();
      filler->attach();
      filler->copy(target->begin(), memory->begin(), owner.size_, CopyKind::h2d);
      filler->wait();
      if (const std::uint64_t cache = there.facts().cache; cache > 0) {  // the last place is in it
        const auto other = there.allocate(2 * cache);
        filler->copy(other->begin() + cache, other->begin(), cache, CopyKind::d2d);
        filler->wait();
      }
      memory = std::move(target);
    }
    const unsigned char* place(std::size_t number) const noexcept {
      return begin + std::uint64_t{owner.order_[number]} * owner.stride_;
    }
    /// Where that many loads begin that come after the last ones.
    const void* const* next(std::uint64_t loads) noexcept {
      const unsigned char* const first = place(position);
      position = (position + loads) % owner.order_.size();
      return reinterpret_cast<const void* const*>(first);
    }

    const GpuLatency& owner;
    std::unique_ptr<GpuMemory> memory;
    const unsigned char* begin = nullptr;  // of the places
    std::uint64_t position = 0;            // of the next one, in their order
  };
  /// From one GPU to one memory.
  struct Way {
    Way(Gpu& own, unsigned index, unsigned at, Kind kind, Chain& chain)
        : kind(kind),
          name(gpu::gpu_name(index) + (kind == kOwn    ? ""
                                       : kind == kHost ? "_host"
                                                       : "_" + gpu::gpu_name(at))),
          name_of_metric(kind == kPeer ? name : gpu::gpu_name(index)),
          chain(chain),
          stream(own.stream()) {}
    Kind kind;
    std::string name, name_of_metric;
    Chain& chain;
    std::unique_ptr<GpuStream> stream;
    double load_ns = 0;
  };

  Chain* add_chain(Gpu& own, Gpu* there) {
    return chains_.emplace_back(std::make_unique<Chain>(*this, own, there)).get();
  }
  /// Where a cache holds all places, it is measured from the second round on.
  void note_cache(const GpuFacts& facts, unsigned index) {
    const std::uint64_t held = order_.size() * std::min(stride_, kLine);
    if (held >= 2 * facts.cache) return;
    const auto describe = [](std::uint64_t bytes) {
      return format_quantity(static_cast<double>(bytes), Dimension::bytes, true);
    };
    notes_.push_back(gpu::gpu_name(index) + " has a cache of " + describe(facts.cache) + ", and the places take " +
                     describe(held) + " of it: loads from there are the cache's; a larger `size` has more of them");
  }

  std::uint64_t size_, stride_, loads_;
  gpu::Placement placement_;
  std::vector<std::uint32_t> order_;  // of the places, by their numbers in memory
  std::vector<std::unique_ptr<Chain>> chains_;
  std::vector<std::unique_ptr<Way>> ways_;
  std::vector<std::string> notes_;
};

const Register<GpuLatency> registered_gpu_latency{
    "gpu_latency", "one load after the other by a GPU: from its own memory, the host's, and other GPUs'"};
}  // namespace
