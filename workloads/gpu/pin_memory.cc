// pin_memory - what pinning host memory costs: a loader pays it once per buffer, or once per batch.
#include <array>
#include <optional>

#include "harness/backends/buffers.h"
#include "harness/backends/loader.h"
#include "harness/workload/workload.h"
#include "workloads/gpu/gpus.h"
#include "workloads/gpu/planned.h"

namespace {
using namespace headrace;

constexpr std::array kPinMemoryMetrics{
    Metric{"pin_bandwidth", "B/s", Better::higher, "Bytes pinned over the time that it took"},
    Metric{"pin_time_s", "s", Better::lower, "To get one buffer pinned"},
    Metric{"unpin_time_s", "s", Better::lower, "To give one back"},
};

/// How long does it take to get `size` bytes of pinned memory?
class PinMemory final : public Workload {
 public:
  explicit PinMemory(Params& p)
      : register_(p.choice("pinning", "allocate", {"allocate", "register"},
                           "allocate: new memory from the driver; register: pages that are there "
                           "and touched") == "register"),
        size_(p.bytes("size", 64_MiB, {.min = 4096, .max = static_cast<double>(64_GiB), .multiple_of = 4096},
                      "of one buffer")),
        times_(p.count("times", 8, {.min = 1}, "per repetition")) {}

  static std::span<const Metric> metrics() { return kPinMemoryMetrics; }
  std::optional<Skip> check(Node& node) override { return gpu::check_gpus(node, 0); }
  static constexpr WorkloadTraits kTraits{.one_per_node = true};
  Footprint footprint() const override {
    Footprint f;
    f.memory_bytes = size_;
    const double each_s = static_cast<double>(size_) / gpu::PlannedNode::pinning;
    return gpu::planned(f, static_cast<double>(times_) * each_s, 0);
  }
  std::vector<std::string> latency_parts() const override { return {"unpin"}; }

  void prepare(Node& node, const DataProgress&) override {
    GpuBackend& backend = node.backends().gpu();
    gpu_ = &backend.gpu(0);
    // Memory is pinned for every GPU that the process uses, which takes time for each. So for all of them, regardless
    // of earlier points.
    for (unsigned i = 0; i < backend.count(); ++i) backend.gpu(i).stream();
    gpus_ = backend.count();
    if (register_) buffer_.emplace(1, size_, false);
    pin();  // the first one also starts the driver
  }
  void before_phase(unsigned, unsigned, std::uint64_t) override { pin_ns_ = unpin_ns_ = done_ = 0; }
  void run(Worker& worker) override {
    for (; done_ < times_ && worker.recorder.running(); ++done_) {
      const std::uint64_t begin = now_ns();
      std::unique_ptr<GpuMemory> pinned = pin();
      const std::uint64_t there = now_ns();
      pinned.reset();
      const std::uint64_t gone = now_ns();
      worker.recorder.op(begin, there, size_);
      worker.recorder.part(1, gone - there);
      pin_ns_ += there - begin;
      unpin_ns_ += gone - there;
    }
  }
  void report(const Repetition&, MetricSink& sink) const override {
    if (done_ == 0) return;
    const double pin_s = 1e-9 * static_cast<double>(pin_ns_) / static_cast<double>(done_);
    sink.put("pin_bandwidth", static_cast<double>(size_) / pin_s);
    sink.put("pin_time_s", pin_s);
    sink.put("unpin_time_s", 1e-9 * static_cast<double>(unpin_ns_) / static_cast<double>(done_));
  }
  std::vector<std::string> notes() override {
    return {"pinned for all " + std::to_string(gpus_) + " GPUs of the process"};
  }
  void cleanup(Node&) override { buffer_.reset(); }

 private:
  std::unique_ptr<GpuMemory> pin() {
    return register_ ? gpu_->pin({buffer_->begin(), size_}) : gpu_->pinned(size_, false);
  }

  bool register_;
  std::uint64_t size_, times_;
  Gpu* gpu_ = nullptr;
  unsigned gpus_ = 0;
  std::optional<Buffers> buffer_;
  std::uint64_t pin_ns_ = 0, unpin_ns_ = 0, done_ = 0;
};

const Register<PinMemory> registered_pin_memory{"pin_memory",
                                                "pinning host memory and giving it back: what it costs a loader"};
}  // namespace
