// gpu_burn - all GPUs multiply matrices for a while, as hot as training makes them: does each compute what the others do, and
// what it did before? Power, temperature and clocks meanwhile.
#include <fmt/format.h>

#include <array>
#include <cmath>
#include <cstring>

#include "harness/backends/loader.h"
#include "harness/base/random.h"
#include "harness/workload/workload.h"
#include "workloads/gpu/gpu_sampler.h"
#include "workloads/gpu/gpu_watch.h"
#include "workloads/gpu/gpus.h"
#include "workloads/gpu/host_area.h"
#include "workloads/gpu/matrices.h"
#include "workloads/gpu/planned.h"

namespace {
using namespace headrace;

constexpr std::array kGpuBurnMetrics{
    Metric{"flop_rate", "FLOP/s", Better::higher, "2 n^3 for each product over device time, the slowest GPU's",
           /*per_device=*/true},
    Metric{"wrong_elements", "count", Better::lower,
           "Elements of products that were not, bit for bit, those of the GPU's first product; of all GPUs",
           /*per_device=*/true},
    Metric{"power_w", "W", Better::neither, "Mean of the looks, the GPU with the least", /*per_device=*/true},
    Metric{"temperature_c", "C", Better::neither, "The highest that was seen", /*per_device=*/true},
    Metric{"clock_hz", "Hz", Better::neither, "Of the multiprocessors, mean of the looks, the slowest GPU's",
           /*per_device=*/true},
    Metric{"held_back_ratio", "ratio", Better::neither,
           "Share of the looks at which clocks were held back (power, heat, brake), the GPU's with the most",
           /*per_device=*/true},
    gpu::kErrorCount,
};

/// Does every GPU compute right while it is hot?
///
/// Each GPU multiplies the same two matrices again and again, two batches of products queued ahead, and compares every
/// batch's last product with its first one on the device. cuBLAS gives the same bits for the same product on one stream
/// (its documentation, "Results Reproducibility"). The first product itself is held against sums made by the host.
class GpuBurn final : public Workload {
 public:
  explicit GpuBurn(Params& p)
      : number_(number_of(p.choice("number", "bf16", {"fp16", "bf16", "tf32", "fp32"}, "what matrices are made of"))),
        size_(static_cast<unsigned>(
            p.count("size", 8192, {.min = 16, .max = 32768, .multiple_of = 16}, "rows and columns of each matrix"))),
        time_s_(p.seconds("time", 60, {.min = 0.05, .max = 86400}, "of one repetition")),
        batch_(p.count("batch", 0, {.max = 100000},
                       "products of which the last one is compared; 0: about 0.1 s of them")) {}

  static std::span<const Metric> metrics() { return kGpuBurnMetrics; }
  std::optional<Skip> check(Node& node) override { return gpu::check_gpus(node, device_bytes()); }
  bool one_per_node() const override { return true; }
  Footprint footprint() const override {
    Footprint f;
    f.memory_bytes = elements() * sizeof(float);
    return gpu::planned(f, time_s_ + 0.5, f.memory_bytes);
  }
  unsigned workers() const override { return std::max<unsigned>(1, static_cast<unsigned>(lanes_.size())); }
  std::vector<std::string> devices() const override { return watch_.names(); }

  void prepare(Node& node, const DataProgress& progress) override {
    GpuBackend& backend = node.backends().gpu();
    watch_.open(backend);
    for (unsigned i = 0; i < backend.count(); ++i) {
      progress(i, backend.count(), "laying out matrices");
      gpu::unless_lost(backend.gpu(i), [&] { lanes_.push_back(std::make_unique<Lane>(*this, backend, i)); });
    }
    if (lanes_.empty()) throw RunError("the driver has lost the GPUs");
  }
  void before_phase(unsigned, unsigned, std::uint64_t) override {
    watch_.begin();
    std::vector<Gpu*> gpus;
    for (auto& lane : lanes_) {
      lane->device_s = 0;
      lane->products = 0;
      lane->wrong_before = lane->multiplier->differing();
      gpus.push_back(&lane->gpu);
    }
    sampler_.start(std::move(gpus));
  }
  void before_run(Worker& worker) override {
    Lane& lane = *lanes_[worker.index];
    gpu::unless_lost(lane.gpu, [&] {
      lane.stream->attach();
      lane.multiplier->multiply();
      lane.stream->wait();
    });
  }
  void run(Worker& worker) override {
    Lane& lane = *lanes_[worker.index];
    gpu::unless_lost(lane.gpu, [&] { burn(lane, worker); });
  }
  std::string disturbance() override { return watch_.end(); }
  std::vector<PartFault> faults() override {
    sampler_.stop();
    for (std::size_t i = 0; i < sampler_.samples().size() && i < lanes_.size(); ++i)
      watch_.add_xids(lanes_[i]->index, sampler_.samples()[i].xids);
    std::vector<PartFault> all = watch_.faults();
    for (const auto& lane : lanes_)
      if (const auto wrong = lane->wrong(); wrong > 0)
        all.push_back({gpu::gpu_name(lane->index), "wrong_elements", static_cast<double>(wrong),
                       fmt::format("{} elements of its products were wrong", wrong)});
    return all;
  }

  void report(const Repetition&, MetricSink& sink) const override {
    double slowest = 0;
    std::uint64_t wrong = 0;
    for (const auto& lane : lanes_) {
      if (!lane->gpu.lost().empty()) continue;
      if (lane->device_s <= 0) return;
      const double rate =
          2 * std::pow(static_cast<double>(size_), 3) * static_cast<double>(lane->products) / lane->device_s;
      sink.put(device_metric("flop_rate", gpu::gpu_name(lane->index)), rate);
      if (slowest == 0 || rate < slowest) slowest = rate;
      sink.put(device_metric("wrong_elements", gpu::gpu_name(lane->index)), static_cast<double>(lane->wrong()));
      wrong += lane->wrong();
    }
    if (slowest == 0) throw RunError("the driver has lost the GPUs");
    sink.put("flop_rate", slowest);
    sink.put("wrong_elements", static_cast<double>(wrong));
    put_samples(sink);
    watch_.put_errors(sink, true);
  }

  /// Single elements of each GPU's last product, by sums that the host makes.
  std::vector<WrongBlock> verify(const DataProgress& progress) override {
    std::vector<WrongBlock> wrong;
    std::vector<float> product(elements());
    for (std::size_t i = 0; i < lanes_.size(); ++i) {
      progress(i, lanes_.size(), "checking products");
      Lane& lane = *lanes_[i];
      if (!gpu::unless_lost(lane.gpu, [&] { lane.fetch(product); })) continue;
      Random random(i);
      for (unsigned looked = 0; looked < kElementsChecked; ++looked) {
        const auto row = static_cast<unsigned>(random.below(size_)),
                   column = static_cast<unsigned>(random.below(size_));
        const gpu::ProductElement right = gpu::product_element(number_, size_, row, column);
        const std::uint64_t at = row + std::uint64_t{column} * size_;
        if (std::abs(product[at] - right.value) <= right.tolerance) continue;
        wrong.push_back({gpu::gpu_name(lane.index) + " product", at * sizeof(float),
                         fmt::format("{} and not {:.7g} in row {}, column {}", product[at], right.value, row, column),
                         gpu::gpu_name(lane.index)});
        break;
      }
      if (const std::uint64_t differ = lane.multiplier->differing(); differ > 0)
        wrong.push_back({gpu::gpu_name(lane.index) + " products", 0,
                         fmt::format("{} elements were not those of its first product", differ),
                         gpu::gpu_name(lane.index)});
    }
    return wrong;
  }
  std::vector<std::string> notes() override {
    std::vector<std::string> all;
    for (std::size_t i = 0; i < lanes_.size(); ++i) {
      if (i == 0) all.push_back(lanes_[i]->multiplier->library());
      if (i < sampler_.samples().size() && sampler_.samples()[i].held_back > 0)
        all.push_back(gpu::gpu_name(lanes_[i]->index) + " was held back: " + sampler_.samples()[i].why);
    }
    for (std::string& note : watch_.notes()) all.push_back(std::move(note));
    return all;
  }
  void cleanup(Node&) override {
    sampler_.stop();
    lanes_.clear();
  }

 private:
  static constexpr unsigned kAhead = 2;  // batches queued
  static constexpr unsigned kElementsChecked = 32;
  static constexpr double kBatch_s = 0.1;

  static GpuNumber number_of(const std::string& word) {
    return word == "fp16"   ? GpuNumber::fp16
           : word == "bf16" ? GpuNumber::bf16
           : word == "tf32" ? GpuNumber::tf32
                            : GpuNumber::fp32;
  }
  static unsigned mark_of(unsigned batch) { return batch % (kAhead + 2); }
  std::uint64_t elements() const { return std::uint64_t{size_} * size_; }
  std::uint64_t device_bytes() const { return elements() * (2 * bytes_of(number_) + 2 * sizeof(float)); }

  /// One GPU with its matrices; the first product is made here.
  struct Lane {
    Lane(GpuBurn& owner, GpuBackend& backend, unsigned index)
        : gpu(backend.gpu(index)),
          index(index),
          a(gpu.allocate(owner.elements() * bytes_of(owner.number_))),
          b(gpu.allocate(owner.elements() * bytes_of(owner.number_))),
          c(gpu.allocate(owner.elements() * sizeof(float))),
          first(gpu.allocate(owner.elements() * sizeof(float))),
          stream(gpu.stream()) {
      stream->attach();
      const std::uint64_t bytes = owner.elements() * bytes_of(owner.number_);
      const auto host = gpu.pinned(bytes, false);
      for (unsigned which = 0; which < 2; ++which) {
        gpu::fill_matrix(owner.number_, which, owner.elements(), host->begin());
        stream->copy((which == 0 ? a : b)->begin(), host->begin(), bytes, CopyKind::h2d);
        stream->wait();
      }
      multiplier = gpu.multiplier(*stream, {.number = owner.number_,
                                            .size = owner.size_,
                                            .a = a->begin(),
                                            .b = b->begin(),
                                            .c = c->begin(),
                                            .first = first->begin()});
      multiplier->multiply();
      stream->wait();
      stream->copy(first->begin(), c->begin(), c->size(), CopyKind::d2d);
      stream->mark(0);
      multiplier->multiply();
      stream->mark(1);
      stream->wait();
      const double product_s = std::max(1e-6, stream->seconds(0, *stream, 1));
      batch = owner.batch_ > 0 ? owner.batch_
                               : std::max<std::uint64_t>(1, static_cast<std::uint64_t>(kBatch_s / product_s));
    }
    /// Elements of this repetition.
    std::uint64_t wrong() const { return multiplier->differing() - wrong_before; }
    void fetch(std::vector<float>& to) {
      stream->attach();
      stream->copy(to.data(), c->begin(), to.size() * sizeof(float), CopyKind::d2h);
      stream->wait();
    }

    Gpu& gpu;
    unsigned index;
    std::unique_ptr<GpuMemory> a, b, c, first;
    std::unique_ptr<GpuStream> stream;
    std::unique_ptr<GpuMultiplier> multiplier;  // goes first
    std::uint64_t batch = 1, products = 0, wrong_before = 0;
    double device_s = 0;
  };

  void burn(Lane& lane, Worker& worker) {
    const std::uint64_t begin = now_ns(), end = begin + static_cast<std::uint64_t>(time_s_ * 1e9);
    std::uint64_t last = begin;
    unsigned queued = 0, done = 0;
    lane.stream->mark(0);
    const auto finish = [&] {
      lane.stream->wait_mark(mark_of(done + 1));
      lane.device_s += lane.stream->seconds(mark_of(done), *lane.stream, mark_of(done + 1));
      ++done;
      lane.products += lane.batch;
      const std::uint64_t now = now_ns();
      worker.recorder.op(last, now, 0);
      last = now;
    };
    do {  // once at least, however late this thread comes: a GPU without a product would leave all without values
      for (std::uint64_t i = 0; i < lane.batch; ++i) lane.multiplier->multiply();
      lane.multiplier->compare();
      lane.stream->mark(mark_of(++queued));
      if (queued - done >= kAhead) finish();
    } while (worker.recorder.running() && now_ns() < end);
    while (done < queued) finish();
  }

  void put_samples(MetricSink& sink) const {
    std::optional<double> power, clock, temperature, held;
    for (std::size_t i = 0; i < sampler_.samples().size() && i < lanes_.size(); ++i) {
      const gpu::GpuSamples& s = sampler_.samples()[i];
      const std::string name = gpu::gpu_name(lanes_[i]->index);
      const auto put = [&](const char* metric, double value, std::optional<double>& worst, bool least) {
        sink.put(device_metric(metric, name), value);
        if (!worst || (least ? value < *worst : value > *worst)) worst = value;
      };
      if (s.power_w.count > 0) put("power_w", s.power_w.mean(), power, true);
      if (s.temperature_c.count > 0) put("temperature_c", s.temperature_c.most, temperature, false);
      if (s.clock_hz.count > 0) put("clock_hz", s.clock_hz.mean(), clock, true);
      if (s.looks > 0) put("held_back_ratio", static_cast<double>(s.held_back) / s.looks, held, false);
    }
    if (power) sink.put("power_w", *power);
    if (temperature) sink.put("temperature_c", *temperature);
    if (clock) sink.put("clock_hz", *clock);
    if (held) sink.put("held_back_ratio", *held);
  }

  const GpuNumber number_;
  const unsigned size_;
  const double time_s_;
  const std::uint64_t batch_;
  std::vector<std::unique_ptr<Lane>> lanes_;
  gpu::GpuWatch watch_;
  gpu::GpuSampler sampler_;
};

const Register<GpuBurn> registered_gpu_burn{
    "gpu_burn", "all GPUs multiply matrices: the same results while hot, power, heat, clocks"};
}  // namespace
