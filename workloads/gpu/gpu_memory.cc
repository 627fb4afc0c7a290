// gpu_memory - writes and reads back most of each GPU's memory with patterns. Does it keep its content, and at which
// rate?
#include <fmt/format.h>

#include <array>

#include "workloads/gpu/filled_memory.h"
#include "workloads/gpu/gpu_watch.h"
#include "workloads/gpu/gpus.h"
#include "workloads/gpu/planned.h"

namespace {
using namespace headrace;

constexpr std::array kGpuMemoryMetrics{
    Metric{"memory_rate", "B/s", Better::higher, "Bytes read and written over device time, the slowest GPU's",
           /*per_device=*/true},
    Metric{"wrong_elements", "count", Better::lower, "Words of 8 bytes that were not as written; of all GPUs",
           /*per_device=*/true},
    Metric{"tested_ratio", "ratio", Better::higher, "Share of the GPU's memory that was tested, the GPU with the least",
           /*per_device=*/true},
    gpu::kErrorCount,
};

constexpr std::uint64_t kAll = ~std::uint64_t{0};
/// Each is written over the one before when that was read: all bits change both ways, alone and together.
constexpr std::array kPatterns{
    GpuPattern{GpuPattern::Kind::same, 0},
    GpuPattern{GpuPattern::Kind::same, kAll},
    GpuPattern{GpuPattern::Kind::same, 0xaaaaaaaaaaaaaaaa},
    GpuPattern{GpuPattern::Kind::same, 0x5555555555555555},
    GpuPattern{GpuPattern::Kind::walking_bit, 0},
    GpuPattern{GpuPattern::Kind::walking_bit, kAll},
    GpuPattern{GpuPattern::Kind::address, 0},
    GpuPattern{GpuPattern::Kind::address, kAll},
    GpuPattern{GpuPattern::Kind::random, 0},
    GpuPattern{GpuPattern::Kind::random, kAll},
};

/// Does the memory of every GPU keep what is written?
/// One kernel reads a word, compares it, and writes the next pattern there. The distance between two visits of a word
///is far larger than any cache. So it comes from the memory itself.
class GpuMemoryTest final : public gpu::WatchedGpus {
 public:
  explicit GpuMemoryTest(Params& p)
      : memory_(p.ratio("memory", 0.92, {.min = 0, .max = 0.98}, "share of each GPU's memory that is tested")),
        time_s_(p.seconds("time", 10, {.min = 0.001, .max = 86400},
                          "of one repetition; all patterns are written and read once at least")) {}

  static std::span<const Metric> metrics() { return kGpuMemoryMetrics; }
  std::optional<Skip> check(Node& node) override { return gpu::check_gpus(node, 0); }
  Footprint footprint() const override { return gpu::planned({}, time_s_ + 0.5, 0); }
  unsigned workers() const override { return std::max<unsigned>(1, static_cast<unsigned>(lanes_.size())); }

  void prepare(Node& node, const DataProgress& progress) override {
    GpuBackend& backend = node.backends().gpu();
    watch_.open(backend);
    notes_.clear();
    for (unsigned i = 0; i < backend.count(); ++i) {
      progress(i, backend.count(), "filling memory");
      gpu::unless_lost(backend.gpu(i), [&] { lanes_.push_back(std::make_unique<Lane>(backend.gpu(i), i, memory_)); });
    }
    if (lanes_.empty()) throw RunError("the driver has lost the GPUs");
    constexpr double kPromised = 0.9;
    for (const auto& lane : lanes_)
      if (lane->share() < std::min(kPromised, memory_ - 0.01))
        notes_.push_back(fmt::format("{}: {:.0f} % of its memory was tested: other programs hold the rest",
                                     gpu::gpu_name(lane->index), 100 * lane->share()));
  }
  void before_phase(unsigned, unsigned, std::uint64_t) override {
    watch_.begin();
    for (auto& lane : lanes_) {
      lane->device_s = 0;
      lane->bytes = 0;
      lane->wrong_before = lane->found().count;
    }
  }
  void before_run(Worker& worker) override {
    Lane& lane = *lanes_[worker.index];
    gpu::unless_lost(lane.gpu, [&] { lane.stream->attach(); });
  }
  void run(Worker& worker) override {
    Lane& lane = *lanes_[worker.index];
    gpu::unless_lost(lane.gpu, [&] { test(lane, worker); });
  }
  std::vector<PartFault> faults() override {
    std::vector<PartFault> all = watch_.faults();
    for (const auto& lane : lanes_)
      if (const auto wrong = lane->wrong(); wrong > 0)
        all.push_back({gpu::gpu_name(lane->index), "wrong_elements", static_cast<double>(wrong),
                       gpu::wrong_words(wrong, " of its memory", lane->found())});
    return all;
  }

  void report(const Repetition&, MetricSink& sink) const override {
    double slowest = 0, least = 1;
    std::uint64_t wrong = 0;
    for (const auto& lane : lanes_) {
      if (!lane->gpu.lost().empty()) continue;
      if (lane->device_s <= 0) return;
      const std::string name = gpu::gpu_name(lane->index);
      const double rate = static_cast<double>(lane->bytes) / lane->device_s;
      sink.put(device_metric("memory_rate", name), rate);
      sink.put(device_metric("wrong_elements", name), static_cast<double>(lane->wrong()));
      sink.put(device_metric("tested_ratio", name), lane->share());
      if (slowest == 0 || rate < slowest) slowest = rate;
      least = std::min(least, lane->share());
      wrong += lane->wrong();
    }
    if (slowest == 0) throw RunError("the driver has lost the GPUs");
    sink.put("memory_rate", slowest);
    sink.put("wrong_elements", static_cast<double>(wrong));
    sink.put("tested_ratio", least);
    watch_.put_errors(sink, true);
  }
  std::vector<std::string> notes() override {
    std::vector<std::string> all = notes_;
    for (std::string& note : watch_.notes()) all.push_back(std::move(note));
    return all;
  }
  void cleanup(Node&) override { lanes_.clear(); }

 private:
  /// One GPU with as much of its memory as there is, filled with the first pattern.
  struct Lane {
    Lane(Gpu& own, unsigned number, double share)
        : gpu(own),
          index(number),
          pieces(gpu::most_memory(gpu, share, piece_of(gpu.facts().memory))),
          counted(gpu.pinned(kPage, false)),
          stream(gpu.stream()) {
      new (counted->begin()) GpuWrongWords;
      stream->attach();
      for (std::size_t i = 0; i < pieces.size(); ++i)
        stream->fill(pieces[i]->begin(), pieces[i]->size(), of_piece(kPatterns[0], i));
      stream->wait();
    }
    static constexpr std::uint64_t kPage = 4096;
    /// Small enough that the last one, which does not fit, is below 1 % of the memory.
    static std::uint64_t piece_of(std::uint64_t memory) {
      constexpr std::uint64_t kPieces = 128, kWhole = 64 << 10;
      return std::max(kWhole, memory / kPieces / kWhole * kWhole);
    }
    /// Pieces differ, so that a word of one is not mistaken for that of another.
    static GpuPattern of_piece(GpuPattern pattern, std::size_t piece) {
      if (pattern.kind == GpuPattern::Kind::address || pattern.kind == GpuPattern::Kind::random)
        pattern.flip ^= std::uint64_t{piece} << 48;
      return pattern;
    }
    std::uint64_t size() const { return pieces.size() * pieces.front()->size(); }
    double share() const {
      return static_cast<double>(size()) / static_cast<double>(std::max<std::uint64_t>(1, gpu.facts().memory));
    }
    /// Valid after wait().
    GpuWrongWords& found() const { return *reinterpret_cast<GpuWrongWords*>(counted->begin()); }
    std::uint64_t wrong() const { return found().count - wrong_before; }

    Gpu& gpu;
    unsigned index;
    std::vector<std::unique_ptr<GpuMemory>> pieces;
    std::unique_ptr<GpuMemory> counted;
    std::unique_ptr<GpuStream> stream;
    std::size_t pattern = 0;  // in the memory
    std::uint64_t bytes = 0, wrong_before = 0;
    double device_s = 0;
  };

  void test(Lane& lane, Worker& worker) {
    constexpr unsigned kBegin = 0, kEnd = 1;
    const std::uint64_t end = now_ns() + static_cast<std::uint64_t>(time_s_ * 1e9);
    unsigned steps = 0;
    do {
      const std::uint64_t begin = now_ns();
      const GpuPattern &is = kPatterns[lane.pattern], &next = kPatterns[(lane.pattern + 1) % kPatterns.size()];
      lane.stream->mark(kBegin);
      for (std::size_t i = 0; i < lane.pieces.size(); ++i)
        lane.stream->check_and_fill(lane.pieces[i]->begin(), lane.pieces[i]->size(), Lane::of_piece(is, i),
                                    Lane::of_piece(next, i), lane.found());
      lane.stream->mark(kEnd);
      lane.stream->wait();
      lane.device_s += lane.stream->seconds(kBegin, *lane.stream, kEnd);
      lane.bytes += 2 * lane.size();
      lane.pattern = (lane.pattern + 1) % kPatterns.size();
      worker.recorder.op(begin, now_ns(), 2 * lane.size());
    } while (++steps < kPatterns.size() || (worker.recorder.running() && now_ns() < end));
  }

  const double memory_, time_s_;
  std::vector<std::unique_ptr<Lane>> lanes_;
  std::vector<std::string> notes_;
};

const Register<GpuMemoryTest> registered_gpu_memory{
    "gpu_memory", "most of each GPU's memory: does it keep what is written, and at which rate?"};
}  // namespace
