// checkpoint_stage - copies device state to host buffers by all GPUs at once. Training waits for this part of an
// asynchronous save.
#include <algorithm>
#include <array>

#include "harness/backends/loader.h"
#include "workloads/gpu/gpu_watch.h"
#include "workloads/gpu/gpus.h"
#include "workloads/gpu/host_area.h"
#include "workloads/gpu/planned.h"
#include "workloads/pattern.h"

namespace {
using namespace headrace;
using gpu::HostMemory;

constexpr std::array kCheckpointStageMetrics{
    Metric{"stall_s", "s", Better::lower, "From the start until every GPU's state is in host memory"},
    Metric{"stage_bandwidth", "B/s", Better::higher, "Bytes of all GPUs over stall_s"},
    Metric{"bandwidth", "B/s", Better::higher, "Bytes of a GPU over its own time, the slowest GPU's",
           /*per_device=*/true},
    gpu::kLinkBandwidth,
    gpu::kLinkEffective,
    gpu::kLinkTrained,
    gpu::kErrorCount,
};

/// How long does training wait while its state is copied to host memory?
class CheckpointStage final : public gpu::WatchedGpus {
 public:
  explicit CheckpointStage(Params& p)
      : memory_(gpu::declare_memory(p, HostMemory::pinned)),
        size_(p.bytes("size", 1_GiB, {.min = 1}, "device state of each GPU")),
        chunk_size_(p.bytes("chunk_size", 64_MiB, {.min = 1}, "largest single copy, as a tensor would be")),
        placement_(gpu::Placement::declare(p)),
        huge_pages_(p.flag("huge_pages", false, "pageable and registered buffers in huge pages")) {
    chunk_size_ = std::min(chunk_size_, size_);
  }

  static std::span<const Metric> metrics() { return kCheckpointStageMetrics; }
  std::optional<Skip> check(Node& node) override {
    if (auto skip = gpu::check_gpus(node, size_)) return skip;
    const std::uint64_t wanted = size_ * node.backends().gpu().count();
    if (wanted > node.memory_available()) {
      const auto describe = [](std::uint64_t n) {
        return format_quantity(static_cast<double>(n), Dimension::bytes, true);
      };
      return Skip{"all GPUs' state takes " + describe(wanted) + " of host memory, " +
                  describe(node.memory_available()) + " are available"};
    }
    return placement_.check(node);
  }
  Footprint footprint() const override {
    Footprint f;
    f.memory_bytes = size_;
    return gpu::planned(f, 2 * static_cast<double>(size_) / gpu::PlannedNode::link, size_);
  }
  unsigned workers() const override { return std::max<unsigned>(1, static_cast<unsigned>(watch_.names().size())); }

  void prepare(Node& node, const DataProgress&) override {
    GpuBackend& backend = node.backends().gpu();
    notes_.clear();
    watch_.open(backend);
    for (unsigned i = 0; i < backend.count(); ++i) {
      const NumaNode* place = placement_.node_of(i, backend.gpu(i).facts(), notes_);
      ranks_.push_back(std::make_unique<Rank>(*this, backend.gpu(i), i, place));
      notes_.push_back(watch_.names()[i] + ": buffers " + ranks_.back()->host.placement());
    }
  }
  void before_phase(unsigned, unsigned, std::uint64_t) override {
    watch_.begin();
    for (auto& rank : ranks_) rank->begin_ns = rank->end_ns = 0;
  }
  void before_run(Worker& worker) override {
    Rank& rank = *ranks_[worker.index];
    run_on(rank.place);
    rank.stream->attach();
    rank.stream->copy(rank.host.begin(), rank.state->begin(), chunk_size_, CopyKind::d2h);
    watch_.under_load(worker.index);
    rank.stream->wait();
  }
  /// All chunks are queued at once, as a save of many tensors does; then they are waited for in
  /// order.
  void run(Worker& worker) override {
    Rank& rank = *ranks_[worker.index];
    const std::uint64_t begin = now_ns();
    std::uint64_t sent = 0, arrived = 0, last = begin;
    const auto length = [this](std::uint64_t offset) { return std::min(chunk_size_, size_ - offset); };
    for (unsigned queued = 0, mark_in = 0, mark_out = 0; arrived < size_;) {
      for (; sent < size_ && queued < GpuStream::kMarks; ++queued) {
        rank.stream->copy(rank.host.begin() + sent, rank.state->begin() + sent, length(sent), CopyKind::d2h);
        rank.stream->mark(mark_in);
        mark_in = (mark_in + 1) % GpuStream::kMarks;
        sent += length(sent);
      }
      rank.stream->wait_mark(mark_out);
      mark_out = (mark_out + 1) % GpuStream::kMarks;
      --queued;
      const std::uint64_t now = now_ns();
      worker.recorder.op(last, now, length(arrived));
      arrived += length(arrived);
      last = now;
    }
    rank.begin_ns = begin;
    rank.end_ns = last;
  }

  void report(const Repetition&, MetricSink& sink) const override {
    std::uint64_t begin = UINT64_MAX, end = 0, longest = 0;
    for (const auto& rank : ranks_) {
      if (rank->end_ns == 0) return;
      begin = std::min(begin, rank->begin_ns);
      end = std::max(end, rank->end_ns);
      longest = std::max(longest, rank->end_ns - rank->begin_ns);
      sink.put(device_metric("bandwidth", watch_.names()[rank->index]), rate(size_, rank->end_ns - rank->begin_ns));
    }
    sink.put("stall_s", 1e-9 * static_cast<double>(end - begin));
    sink.put("stage_bandwidth", rate(size_ * ranks_.size(), end - begin));
    sink.put("bandwidth", rate(size_, longest));
    watch_.put(sink);
  }
  std::vector<WrongBlock> verify(const DataProgress&) override {
    std::vector<WrongBlock> wrong;
    for (const auto& rank : ranks_)
      check_pattern(rank->host.begin(), size_, rank->index, watch_.names()[rank->index], wrong,
                    watch_.names()[rank->index]);
    return wrong;
  }
  std::vector<std::string> notes() override {
    std::vector<std::string> all = notes_;
    for (std::string& note : watch_.notes()) all.push_back(std::move(note));
    return all;
  }
  void cleanup(Node&) override { ranks_.clear(); }

 private:
  /// One GPU with its state, and the host memory that it is saved to.
  struct Rank {
    Rank(CheckpointStage& owner, Gpu& gpu, unsigned index, const NumaNode* place)
        : index(index),
          place(place),
          host(gpu, owner.memory_, owner.size_, place, owner.huge_pages_),
          state(gpu.allocate(owner.size_)),
          stream(gpu.stream()) {
      fill_pattern(host.begin(), owner.size_, index);
      stream->copy(state->begin(), host.begin(), owner.size_, CopyKind::h2d);
      stream->wait();
      std::memset(host.begin(), 0x5a, owner.size_);
    }
    unsigned index;
    const NumaNode* place;
    gpu::HostArea host;
    std::unique_ptr<GpuMemory> state;
    std::unique_ptr<GpuStream> stream;
    std::uint64_t begin_ns = 0, end_ns = 0;
  };

  static double rate(std::uint64_t bytes, std::uint64_t ns) {
    return 1e9 * static_cast<double>(bytes) / static_cast<double>(ns);
  }

  HostMemory memory_;
  std::uint64_t size_, chunk_size_;
  gpu::Placement placement_;
  bool huge_pages_;
  std::vector<std::string> notes_;
  std::vector<std::unique_ptr<Rank>> ranks_;
};

const Register<CheckpointStage> registered_checkpoint_stage{"checkpoint_stage",
                                                            "device state of all GPUs copied to host memory: what "
                                                            "an asynchronous save makes training wait"};
}  // namespace
