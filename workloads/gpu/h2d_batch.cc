// h2d_batch - training batches as from loaders. Samples are gathered into a staging buffer and copied on their own
// stream while a kernel keeps the GPU busy. How much of the copy does computing hide?
#include <algorithm>
#include <array>
#include <cstring>

#include "harness/backends/loader.h"
#include "harness/base/random.h"
#include "workloads/gpu/gpu_watch.h"
#include "workloads/gpu/gpus.h"
#include "workloads/gpu/host_area.h"
#include "workloads/gpu/planned.h"
#include "workloads/pattern.h"

namespace {
using namespace headrace;
using gpu::HostMemory;

constexpr std::array kH2dBatchMetrics{
    Metric{"exposed_time_s", "s", Better::lower, "Per step: how long the GPU was idle between two kernels"},
    Metric{"exposed_predicted_s", "s", Better::neither,
           "Formula B10: the same from copy_bandwidth and compute_time, if gathering never is late"},
    Metric{"step_time_s", "s", Better::lower, "From one kernel's end to the next one's"},
    Metric{"copy_bandwidth", "B/s", Better::higher, "Bytes of a batch over its copy's device time"},
    Metric{"gather_bandwidth", "B/s", Better::higher, "Bytes of a batch over the time to gather its samples"},
    Metric{"gather_time_s", "s", Better::lower, "Per step: gathering the samples into the staging buffer, one thread"},
    Metric{"sample_rate", "1/s", Better::higher, "Samples handed over per second"},
    Metric{"gpu_busy", "ratio", Better::higher, "compute_time over step_time_s"},
    gpu::kLinkBandwidth,
    gpu::kLinkEffective,
    gpu::kLinkTrained,
    gpu::kErrorCount,
};

/// How much of a batch's way to the GPU does training wait for?
class H2dBatch final : public gpu::WatchedGpus {
 public:
  explicit H2dBatch(Params& p)
      : memory_(gpu::declare_memory(p, HostMemory::pinned)),
        samples_(p.count("samples", 256, {.min = 1, .max = 1e6}, "in a batch")),
        sample_size_(p.bytes("sample_size", 602'112, {.min = 1, .max = static_cast<double>(4_GiB)},
                             "decoded bytes of one sample")),
        compute_s_(p.seconds("compute_time", 0.05, {.min = 0, .max = 10}, "of the kernel between two batches")),
        steps_(p.count("steps", 32, {.min = 4}, "per repetition")),
        async_(p.flag("asynchronous", true,
                      "two staging buffers and a stream of its own for copies; false: one stream, "
                      "each copy waited for")),
        pool_(p.bytes("pool", 512_MiB, {.min = 1}, "samples in ordinary memory that batches are gathered from")),
        placement_(gpu::Placement::declare(p)) {
    if (samples_ * sample_size_ > 64_GiB) p.conflict("samples", "a batch of more than 64 GiB");
  }

  static std::span<const Metric> metrics() { return kH2dBatchMetrics; }
  std::optional<Skip> check(Node& node) override {
    if (auto skip = gpu::check_gpus(node, 2 * batch_bytes())) return skip;
    return placement_.check(node);
  }
  Footprint footprint() const override {
    Footprint f;
    f.memory_bytes = pool_ + 2 * batch_bytes();
    const double copy_s = static_cast<double>(batch_bytes()) / gpu::PlannedNode::pageable;
    return gpu::planned(f, static_cast<double>(steps_) * (2 * copy_s + compute_s_), 2 * batch_bytes());
  }

  void prepare(Node& node, const DataProgress&) override {
    GpuBackend& backend = node.backends().gpu();
    notes_.clear();
    watch_.open(backend);
    const NumaNode* place = placement_.node_of(0, backend.gpu(0).facts(), notes_);
    feed_ = std::make_unique<Feed>(*this, backend.gpu(0), place);
    notes_.push_back("gpu0 alone is fed; staging buffers " + feed_->staging[0].placement());
  }
  void before_phase(unsigned, unsigned, std::uint64_t seed) override {
    watch_.begin();
    Random random(seed);
    order_.resize(samples_);
    for (std::uint64_t& sample : order_) sample = random.below(feed_->pool_samples);
    sum_ = {};
  }
  void before_run(Worker&) override {
    run_on(feed_->place);
    feed_->copies->attach();
    feed_->copies->copy(feed_->device[0]->begin(), feed_->staging[0].begin(), batch_bytes(), CopyKind::h2d);
    watch_.under_load(0);
    feed_->copies->wait();
    feed_->compute->keep_busy(1000);
    feed_->compute->wait();
  }

  void run(Worker& worker) override {
    Recorder& recorder = worker.recorder;
    GpuStream& compute = *feed_->compute;
    GpuStream& mover = async_ ? *feed_->copies : compute;
    const auto busy_ns = static_cast<std::uint64_t>(compute_s_ * 1e9);
    std::uint64_t last = now_ns(), step = 0;
    for (; step < steps_ && recorder.running(); ++step) {
      const unsigned slot = step % kSlots;
      if (step >= kSlots) finish(step - kSlots, mover, last, recorder);
      gather(slot, step);
      mover.mark(kCopying + slot);
      mover.copy(feed_->device[slot]->begin(), feed_->staging[slot].begin(), batch_bytes(), CopyKind::h2d);
      mover.mark(kCopied + slot);
      if (async_)
        compute.after(mover, kCopied + slot);
      else
        mover.wait_mark(kCopied + slot);
      compute.mark(kComputing + ring(step));
      compute.keep_busy(busy_ns);
      compute.mark(kComputed + ring(step));
    }
    for (std::uint64_t left = step > kSlots ? step - kSlots : 0; left < step; ++left)
      finish(left, mover, last, recorder);
    sum_.steps = step;
  }

  void report(const Repetition&, MetricSink& sink) const override {
    if (sum_.steps < 2) return;
    const auto n = static_cast<double>(sum_.steps);
    const auto bytes = static_cast<double>(batch_bytes());
    const double copy_rate = bytes * n / sum_.copy_s, gather_s = 1e-9 * static_cast<double>(sum_.gather_ns) / n;
    const double step_s = sum_.steps_s / (n - 1);
    sink.put("exposed_time_s", sum_.exposed_s / (n - 1));
    sink.put("exposed_predicted_s", exposed_copy_time(bytes, copy_rate, compute_s_, async_ && pinned()));
    sink.put("step_time_s", step_s);
    sink.put("copy_bandwidth", copy_rate);
    sink.put("gather_bandwidth", bytes / gather_s);
    sink.put("gather_time_s", gather_s);
    sink.put("sample_rate", static_cast<double>(samples_) / step_s);
    sink.put("gpu_busy", std::min(1.0, compute_s_ / step_s));
    watch_.put(sink);
  }
  /// The batches that the last steps brought, fetched back and compared with the samples in the
  /// pool.
  std::vector<WrongBlock> verify(const DataProgress&) override {
    std::vector<WrongBlock> wrong;
    const auto back = feed_->gpu.pinned(batch_bytes(), false);
    for (unsigned slot = 0; slot < kSlots; ++slot) {
      feed_->copies->attach();
      feed_->copies->copy(back->begin(), feed_->device[slot]->begin(), batch_bytes(), CopyKind::d2h);
      feed_->copies->wait();
      for (std::uint64_t i = 0; i < samples_; ++i) {
        const unsigned char* sample = feed_->pool.begin() + sample_of(feed_->last_step[slot], i) * sample_size_;
        if (std::memcmp(back->begin() + i * sample_size_, sample, sample_size_) == 0) continue;
        wrong.push_back(
            {"gpu0 batch buffer " + std::to_string(slot), i * sample_size_, "not the sample that was sent", "gpu0"});
        break;
      }
    }
    return wrong;
  }
  std::vector<std::string> notes() override {
    std::vector<std::string> all = notes_;
    if (async_ && !pinned())
      all.push_back(
          "pageable copies hold the submitting thread up until they are staged: not really "
          "asynchronous");
    if (gather_late_) all.push_back("gathering takes longer than computing: one thread cannot feed this GPU");
    for (std::string& note : watch_.notes()) all.push_back(std::move(note));
    return all;
  }
  void cleanup(Node&) override { feed_.reset(); }

 private:
  static constexpr unsigned kSlots = 2;  // double-buffered
  static constexpr unsigned kRing = 4;   // kernels whose marks are kept
  static constexpr unsigned kCopying = 0,
                            kCopied = kCopying + kSlots;  // marks of the copying stream
  static constexpr unsigned kComputing = kCopied + kSlots,
                            kComputed = kComputing + kRing;  // and of the computing one

  struct Feed {
    Feed(H2dBatch& owner, Gpu& gpu, const NumaNode* place)
        : gpu(gpu),
          place(place),
          pool_samples(std::max<std::uint64_t>(1, owner.pool_ / owner.sample_size_)),
          pool(gpu, HostMemory::pageable, pool_samples * owner.sample_size_, place),
          staging{{gpu, owner.memory_, owner.batch_bytes(), place}, {gpu, owner.memory_, owner.batch_bytes(), place}},
          device{gpu.allocate(owner.batch_bytes()), gpu.allocate(owner.batch_bytes())},
          copies(gpu.stream()),
          compute(gpu.stream()) {
      fill_pattern(pool.begin(), pool_samples * owner.sample_size_, 1);
    }
    Gpu& gpu;
    const NumaNode* place;
    std::uint64_t pool_samples;
    gpu::HostArea pool;
    gpu::HostArea staging[kSlots];
    std::unique_ptr<GpuMemory> device[kSlots];
    std::unique_ptr<GpuStream> copies, compute;
    std::uint64_t last_step[kSlots] = {};
  };
  struct Sums {
    double copy_s = 0, exposed_s = 0, steps_s = 0;
    std::uint64_t gather_ns = 0, steps = 0;
  };

  static unsigned ring(std::uint64_t step) { return step % kRing; }
  std::uint64_t batch_bytes() const { return samples_ * sample_size_; }
  bool pinned() const { return memory_ != HostMemory::pageable; }

  /// Which sample of the pool is the i-th of a step's batch: another one in every step.
  std::uint64_t sample_of(std::uint64_t step, std::uint64_t i) const noexcept {
    return (order_[i] + step * 7919) % feed_->pool_samples;
  }
  void gather(unsigned slot, std::uint64_t step) noexcept {
    const std::uint64_t begin = now_ns();
    unsigned char* to = feed_->staging[slot].begin();
    for (std::uint64_t i = 0; i < samples_; ++i, to += sample_size_)
      std::memcpy(to, feed_->pool.begin() + sample_of(step, i) * sample_size_, sample_size_);
    sum_.gather_ns += now_ns() - begin;
    feed_->last_step[slot] = step;
  }
  /// Waits for a step's kernel and adds up its times, while the marks still hold them.
  void finish(std::uint64_t step, GpuStream& mover, std::uint64_t& last, Recorder& recorder) {
    GpuStream& compute = *feed_->compute;
    const unsigned slot = step % kSlots;
    compute.wait_mark(kComputed + ring(step));
    sum_.copy_s += mover.seconds(kCopying + slot, mover, kCopied + slot);
    if (step > 0) {
      sum_.exposed_s += compute.seconds(kComputed + ring(step - 1), compute, kComputing + ring(step));
      sum_.steps_s += compute.seconds(kComputed + ring(step - 1), compute, kComputed + ring(step));
    }
    const std::uint64_t now = now_ns();
    recorder.op(last, now, batch_bytes());
    last = now;
    if (step + 1 == steps_)
      gather_late_ = 1e-9 * static_cast<double>(sum_.gather_ns) / static_cast<double>(steps_) > compute_s_;
  }

  HostMemory memory_;
  std::uint64_t samples_, sample_size_;
  double compute_s_;
  std::uint64_t steps_;
  bool async_;
  std::uint64_t pool_;
  gpu::Placement placement_;
  std::vector<std::string> notes_;
  std::unique_ptr<Feed> feed_;
  std::vector<std::uint64_t> order_;
  Sums sum_;
  bool gather_late_ = false;
};

const Register<H2dBatch> registered_h2d_batch{
    "h2d_batch", "gathered batches copied during a kernel, double-buffered: how much of the copy is hidden"};
}  // namespace
