// gpu_burn - all GPUs multiply matrices for a while, as hot as in training. Does each compute as before, as right and
// as fast as the others? Power, temperature and clocks in this time.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstring>
#include <map>
#include <set>
#include <thread>

#include "harness/backends/loader.h"
#include "harness/base/median.h"
#include "harness/base/random.h"
#include "workloads/gpu/filled_memory.h"
#include "workloads/gpu/gpu_sampler.h"
#include "workloads/gpu/gpu_watch.h"
#include "workloads/gpu/gpus.h"
#include "workloads/gpu/host_area.h"
#include "workloads/gpu/matrices.h"
#include "workloads/gpu/planned.h"
#include "workloads/gpu/power_control.h"

namespace {
using namespace headrace;

constexpr std::array kGpuBurnMetrics{
    Metric{"flop_rate", "FLOP/s", Better::higher, "2 n^3 for each product over device time, the slowest GPU's",
           /*per_device=*/true},
    Metric{"pace", "ratio", Better::higher, "flop_rate over the median GPU's, the slowest GPU's", /*per_device=*/true},
    Metric{"wrong_elements", "count", Better::lower,
           "Elements of products that were not, bit for bit, those of the GPU's first product; of all GPUs",
           /*per_device=*/true},
    Metric{"filled_ratio", "ratio", Better::neither, "Share of the memory that products fill, the GPU with the least",
           /*per_device=*/true},
    Metric{"busy_ratio", "ratio", Better::neither, "Share of the time in which products ran, the GPU with the least",
           /*per_device=*/true},
    Metric{"power_ratio", "ratio", Better::neither,
           "power_w over the limit that the driver enforces, the GPU with the least", /*per_device=*/true},
    Metric{"power_reached", "ratio", Better::higher, "load: power: power_ratio over `power`, the GPU with the least",
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
/// Each GPU multiplies the same two matrices again and again, two batches of products queued ahead. Products fill most
///of its memory in turn. Each is compared with the first one on the device, after its batch was timed. cuBLAS gives the
///same bits for the same product on one stream (its documentation, "Results Reproducibility"). The first product is
///compared with sums made by the host, and with the other GPUs'.
class GpuBurn final : public gpu::WatchedGpus {
 public:
  explicit GpuBurn(Params& p)
      : number_(number_of(
            p.choice("number", "bf16", {"fp8", "fp16", "bf16", "tf32", "fp32", "fp64"}, "what matrices are made of"))),
        size_(static_cast<unsigned>(
            p.count("size", 8192, {.min = 16, .max = 32768, .multiple_of = 16}, "rows and columns of each matrix"))),
        time_s_(p.seconds("time", 60, {.min = 0.05, .max = 86400}, "of one repetition")),
        batch_(p.count("batch", 0, {.max = 100000}, "products that are queued at once; 0: about 0.1 s of them")),
        memory_(p.ratio("memory", 0.9, {.min = 0, .max = 0.95}, "share of each GPU's memory that products fill")),
        load_(p.choice(
            "load", "steady", {"steady", "pulse", "power"},
            "steady: without pause; pulse: all GPUs begin and pause together; power: pauses that keep `power`")),
        pulse_s_(p.seconds("pulse", 0.1, {.min = 0.001, .max = 10}, "load: pulse: of a pulse, and of a pause")),
        power_(p.ratio("power", 0.8, {.min = 0.05, .max = 1},
                       "load: power: share of the power limit that the driver enforces")) {}

  static std::span<const Metric> metrics() { return kGpuBurnMetrics; }
  std::optional<Skip> check(Node& node) override {
    if (auto skip = gpu::check_gpus(node, device_bytes())) return skip;
    if (load_ != "power") return std::nullopt;
    for (unsigned i = 0; i < node.backends().gpu().count(); ++i)
      if (node.backends().gpu().gpu(i).state().power_limit_w.value_or(0) <= 0)
        return Skip{"load: power: the driver reports no power limit of " + gpu::gpu_name(i)};
    return std::nullopt;
  }
  Footprint footprint() const override {
    Footprint f;
    f.memory_bytes = 2 * product_bytes();
    return gpu::planned(f, time_s_ + 0.5, f.memory_bytes);
  }
  unsigned workers() const override { return std::max<unsigned>(1, static_cast<unsigned>(lanes_.size())); }

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
      lane->device_s = lane->elapsed_s = 0;
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
      lane.multiplier->multiply(lane.next());
      lane.stream->wait();
    });
  }
  void run(Worker& worker) override {
    Lane& lane = *lanes_[worker.index];
    gpu::unless_lost(lane.gpu, [&] { burn(lane, worker); });
  }
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
    std::vector<double> rates;
    std::uint64_t wrong = 0;
    for (const auto& lane : lanes_) {
      if (!lane->gpu.lost().empty()) continue;
      if (lane->device_s <= 0) return;
      rates.push_back(rate_of(*lane));
      wrong += lane->wrong();
    }
    if (rates.empty()) throw RunError("the driver has lost the GPUs");
    const double usual = statistics::median(rates);
    Worst worst{sink};
    for (const auto& lane : lanes_) {
      if (!lane->gpu.lost().empty()) continue;
      const std::string name = gpu::gpu_name(lane->index);
      worst.least("flop_rate", name, rate_of(*lane));
      worst.least("pace", name, rate_of(*lane) / usual);
      sink.put(device_metric("wrong_elements", name), static_cast<double>(lane->wrong()));
      worst.least("filled_ratio", name, lane->filled());
      if (lane->elapsed_s > 0) worst.least("busy_ratio", name, lane->device_s / lane->elapsed_s);
    }
    sink.put("wrong_elements", static_cast<double>(wrong));
    put_samples(worst);
    worst.put();
    watch_.put_errors(sink, true);
  }

  /// Single elements of each GPU's first product, checked by sums on the host. Some are random, others differ from the
  /// first GPU's.
  std::vector<WrongBlock> verify(const DataProgress& progress) override {
    std::vector<WrongBlock> wrong;
    std::vector<unsigned char> reference, product(product_bytes());
    std::set<std::uint64_t> places;
    Random random(1);
    while (places.size() < std::min<std::uint64_t>(kElementsChecked, elements()))
      places.insert(random.below(elements()));
    // Twice, so that the first GPU's product, too, is checked where another one differs from it.
    for (const bool looks : {true, false}) {
      for (std::size_t i = 0; i < lanes_.size(); ++i) {
        progress(i, lanes_.size(), "checking products");
        Lane& lane = *lanes_[i];
        if (!gpu::unless_lost(lane.gpu, [&] { lane.fetch(product); })) continue;
        if (!looks) {
          check(lane, product, places, wrong);
          continue;
        }
        if (reference.empty()) reference = product;
        const std::uint64_t width = result_bytes_of(number_);
        unsigned differ = 0;
        for (std::uint64_t at = 0; at < elements() && differ < kElementsChecked; ++at)
          if (std::memcmp(&product[at * width], &reference[at * width], width) != 0) {
            places.insert(at);
            ++differ;
          }
      }
    }
    for (const auto& lane : lanes_)
      if (const std::uint64_t differ = lane->multiplier->differing(); differ > 0)
        wrong.push_back({gpu::gpu_name(lane->index) + " products", 0,
                         fmt::format("{} elements were not those of its first product", differ),
                         gpu::gpu_name(lane->index)});
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
  std::string why_missing(std::string_view metric) const override {
    return metric.starts_with("power_ratio") ? "the driver reports no power, or no limit of it" : "";
  }
  void cleanup(Node&) override {
    sampler_.stop();
    lanes_.clear();
  }

 private:
  static constexpr unsigned kAhead = 2;  // batches queued
  static constexpr unsigned kElementsChecked = 32;
  static constexpr double kBatch_s = 0.1, kShortBatch_s = 0.02;

  static GpuNumber number_of(const std::string& word) {
    return word == "fp8"    ? GpuNumber::fp8
           : word == "fp16" ? GpuNumber::fp16
           : word == "bf16" ? GpuNumber::bf16
           : word == "tf32" ? GpuNumber::tf32
           : word == "fp64" ? GpuNumber::fp64
                            : GpuNumber::fp32;
  }
  /// Before the products of a batch, after them, and after their comparison.
  static unsigned mark_of(unsigned batch, unsigned which) { return 3 * (batch % (kAhead + 1)) + which; }
  std::uint64_t elements() const { return std::uint64_t{size_} * size_; }
  std::uint64_t product_bytes() const { return elements() * result_bytes_of(number_); }
  std::uint64_t device_bytes() const { return elements() * 2 * bytes_of(number_) + 2 * product_bytes(); }
  double time_of_a_batch_s() const { return load_ == "pulse" ? pulse_s_ : load_ == "power" ? kShortBatch_s : kBatch_s; }

  /// One GPU with its matrices; the first product is made here.
  struct Lane {
    Lane(GpuBurn& owner, GpuBackend& backend, unsigned index)
        : gpu(backend.gpu(index)),
          index(index),
          a(gpu.allocate(owner.elements() * bytes_of(owner.number_))),
          b(gpu.allocate(owner.elements() * bytes_of(owner.number_))),
          first(gpu.allocate(owner.product_bytes())),
          c(gpu::most_memory(gpu, owner.memory_, owner.product_bytes())),
          stream(gpu.stream()) {
      stream->attach();
      const std::uint64_t bytes = owner.elements() * bytes_of(owner.number_);
      const auto host = gpu.pinned(bytes, false);
      for (unsigned which = 0; which < 2; ++which) {
        gpu::fill_matrix(owner.number_, which, owner.elements(), host->begin());
        stream->copy((which == 0 ? a : b)->begin(), host->begin(), bytes, CopyKind::h2d);
        stream->wait();
      }
      multiplier = gpu.multiplier(
          *stream,
          {.number = owner.number_, .size = owner.size_, .a = a->begin(), .b = b->begin(), .first = first->begin()});
      multiplier->multiply(first->begin());
      stream->wait();
      stream->mark(0);
      multiplier->multiply(next());
      stream->mark(1);
      stream->wait();
      const double product_s = std::max(1e-6, stream->seconds(0, *stream, 1));
      const auto many = static_cast<std::uint64_t>(owner.time_of_a_batch_s() / product_s);
      batch = std::clamp<std::uint64_t>(owner.batch_ > 0 ? owner.batch_ : many, 1, c.size());
    }
    /// Where the next product goes: products fill the memory in turn.
    unsigned char* next() { return place(used++); }
    /// The place of product number `product`.
    unsigned char* place(std::uint64_t product) const { return c[product % c.size()]->begin(); }
    double filled() const {
      const std::uint64_t bytes = a->size() + b->size() + first->size() * (1 + c.size());
      return static_cast<double>(bytes) / static_cast<double>(std::max<std::uint64_t>(1, gpu.facts().memory));
    }
    /// Elements of this repetition.
    std::uint64_t wrong() const { return multiplier->differing() - wrong_before; }
    void fetch(std::vector<unsigned char>& to) {
      stream->attach();
      stream->copy(to.data(), first->begin(), to.size(), CopyKind::d2h);
      stream->wait();
    }

    Gpu& gpu;
    unsigned index;
    std::unique_ptr<GpuMemory> a, b, first;
    std::vector<std::unique_ptr<GpuMemory>> c;  // a product each
    std::unique_ptr<GpuStream> stream;
    std::unique_ptr<GpuMultiplier> multiplier;  // goes first
    std::uint64_t batch = 1, products = 0, used = 0, wrong_before = 0;
    double device_s = 0, elapsed_s = 0;
  };

  /// The worst of all GPUs, and each one's.
  class Worst {
   public:
    explicit Worst(MetricSink& sink) : sink_(sink) {}
    void least(const char* metric, const std::string& gpu, double value) { add(metric, gpu, value, true); }
    void most(const char* metric, const std::string& gpu, double value) { add(metric, gpu, value, false); }
    void put() {
      for (const auto& [metric, value] : worst_) sink_.put(metric, value);
    }

   private:
    void add(const char* metric, const std::string& gpu, double value, bool least) {
      sink_.put(device_metric(metric, gpu), value);
      const auto [at, is_new] = worst_.emplace(metric, value);
      if (!is_new) at->second = least ? std::min(at->second, value) : std::max(at->second, value);
    }
    MetricSink& sink_;
    std::map<std::string, double> worst_;
  };

  double rate_of(const Lane& lane) const {
    return 2 * std::pow(static_cast<double>(size_), 3) * static_cast<double>(lane.products) / lane.device_s;
  }
  /// One element that is wrong is enough.
  void check(const Lane& lane, const std::vector<unsigned char>& product, const std::set<std::uint64_t>& places,
             std::vector<WrongBlock>& wrong) const {
    for (const std::uint64_t at : places) {
      const auto row = static_cast<unsigned>(at % size_), column = static_cast<unsigned>(at / size_);
      const gpu::ProductElement right = gpu::product_element(number_, size_, row, column);
      const double value = gpu::result_value(number_, product.data(), at);
      if (std::abs(value - right.value) <= right.tolerance) continue;
      wrong.push_back({gpu::gpu_name(lane.index) + " product", at * result_bytes_of(number_),
                       fmt::format("{} and not {:.7g} in row {}, column {}", value, right.value, row, column),
                       gpu::gpu_name(lane.index)});
      return;
    }
  }

  void burn(Lane& lane, Worker& worker) {
    const std::uint64_t begin = now_ns(), end = begin + static_cast<std::uint64_t>(time_s_ * 1e9);
    const bool steady = load_ == "steady";
    std::uint64_t last = begin;
    unsigned queued = 0, done = 0;
    gpu::PowerControl control(power_);
    const auto finish = [&] {
      lane.stream->wait_mark(mark_of(done, 2));
      lane.device_s += lane.stream->seconds(mark_of(done, 0), *lane.stream, mark_of(done, 1));
      ++done;
      lane.products += lane.batch;
      const std::uint64_t now = now_ns();
      worker.recorder.op(last, now, 0);
      last = now;
    };
    do {  // once at least, however late this thread comes: a GPU without a product would leave all without values
      if (load_ == "pulse") wait_for_pulse();
      const std::uint64_t first = lane.used;
      lane.stream->mark(mark_of(queued, 0));
      for (std::uint64_t i = 0; i < lane.batch; ++i) lane.multiplier->multiply(lane.next());
      lane.stream->mark(mark_of(queued, 1));
      for (std::uint64_t i = 0; i < lane.batch; ++i) lane.multiplier->compare(lane.place(first + i));
      lane.stream->mark(mark_of(queued++, 2));
      if (queued - done >= (steady ? kAhead : 1)) finish();
      if (load_ == "power") {
        const auto [looks, ratio] = sampler_.power_now(worker.index);
        control.seen(looks, ratio);
        std::this_thread::sleep_for(std::chrono::duration<double>(control.pause(kShortBatch_s)));
      }
    } while (worker.recorder.running() && now_ns() < end);
    while (done < queued) finish();
    lane.elapsed_s = 1e-9 * static_cast<double>(now_ns() - begin);
  }
  /// Pulses of all GPUs begin together, those of other nodes, too, whose clocks agree.
  void wait_for_pulse() const {
    const auto period =
        std::chrono::duration_cast<std::chrono::system_clock::duration>(std::chrono::duration<double>(2 * pulse_s_));
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    std::this_thread::sleep_for(period - now % period);
  }

  void put_samples(Worst& worst) const {
    for (std::size_t i = 0; i < sampler_.samples().size() && i < lanes_.size(); ++i) {
      const gpu::GpuSamples& s = sampler_.samples()[i];
      const std::string name = gpu::gpu_name(lanes_[i]->index);
      if (s.power_w.count > 0) worst.least("power_w", name, s.power_w.mean());
      if (s.power_ratio.count > 0) worst.least("power_ratio", name, s.power_ratio.mean());
      if (s.power_ratio.count > 0 && load_ == "power")
        worst.least("power_reached", name, s.power_ratio.mean() / power_);
      if (s.temperature_c.count > 0) worst.most("temperature_c", name, s.temperature_c.most);
      if (s.clock_hz.count > 0) worst.least("clock_hz", name, s.clock_hz.mean());
      if (s.looks > 0) worst.most("held_back_ratio", name, static_cast<double>(s.held_back) / s.looks);
    }
  }

  const GpuNumber number_;
  const unsigned size_;
  const double time_s_;
  const std::uint64_t batch_;
  const double memory_;
  const std::string load_;
  const double pulse_s_, power_;
  std::vector<std::unique_ptr<Lane>> lanes_;
  gpu::GpuSampler sampler_;
};

const Register<GpuBurn> registered_gpu_burn{
    "gpu_burn", "all GPUs multiply matrices: the same results while hot, power, heat, clocks"};
}  // namespace
