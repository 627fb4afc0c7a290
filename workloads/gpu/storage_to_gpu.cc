// storage_to_gpu - shards from storage to device memory. Through pageable memory, through pinned memory with reads and
// copies in parallel, or straight (GPUDirect Storage). And which stage limits.
#include <algorithm>
#include <array>
#include <cstring>
#include <set>

#include "harness/backends/buffers.h"
#include "harness/backends/loader.h"
#include "harness/workload/data/block_loop.h"
#include "harness/workload/data/storage_params.h"
#include "workloads/gpu/gpu_watch.h"
#include "workloads/gpu/gpus.h"
#include "workloads/gpu/storage_lane.h"
#include "workloads/gpu/straight_reads.h"

namespace {
using namespace headrace;
using gpu::Block;
using gpu::Lane;

constexpr std::array kStorageToGpuMetrics{
    Metric{"bandwidth", "B/s", Better::higher, "Bytes that reached device memory per second, all workers and GPUs"},
    Metric{"read_bandwidth", "B/s", Better::higher, "The first stage alone: from storage to host memory"},
    Metric{"copy_bandwidth", "B/s", Better::higher, "The second stage alone: from host memory to the GPUs"},
    Metric{"pipeline_efficiency", "ratio", Better::higher, "bandwidth over that of the slower stage alone"},
    Metric{"cpu_time_per_gb_s", "s", Better::lower, "Processor time per 10^9 bytes that reached device memory"},
    gpu::kLinkBandwidth,
    gpu::kLinkEffective,
    gpu::kLinkTrained,
    gpu::kErrorCount,
};

enum class Method { pageable, pipelined, cufile };

/// How many bytes/s come from storage to the GPUs, and which stage holds them up?
class StorageToGpu final : public gpu::WatchedGpus, public ReadsFiles, public TracesItems {
 public:
  explicit StorageToGpu(Params& p)
      : method_(method_of(p)),
        calls_(gpu::declare_read_calls(p)),
        reads_in_flight_(static_cast<unsigned>(p.count("reads_in_flight", 16, {.min = 1, .max = GpuStream::kMarks},
                                                       "of calls: batch and stream, per worker"))),
        io_(StorageParams::declare(p, {.workers = 4, .block_size = 1_MiB, .direct_allowed = true})),
        spec_(DataSetSpec::declare(p, {.files = 4, .file_size = 256_MiB})),
        placement_(gpu::Placement::declare(p)) {
    if (io_.queue_depth > GpuStream::kMarks)
      p.conflict("queue_depth",
                 "at most " + std::to_string(GpuStream::kMarks) + " blocks of a worker are in flight here");
    if (method_ != Method::cufile && calls_ != gpu::ReadCalls::single) p.conflict("calls", "of method: cufile alone");
    if (method_ == Method::cufile && io_.block_size % kPage != 0)
      p.conflict("block_size", "reads straight into GPUs are multiples of 4KiB: " +
                                   nearest_multiple(io_.block_size, kPage) + " is the nearest");
  }

  static std::span<const Metric> metrics() { return kStorageToGpuMetrics; }
  std::optional<Skip> check(Node& node) override {
    if (auto skip = gpu::check_gpus(node, slot_bytes() * slots() * io_.workers)) return skip;
    if (auto skip = placement_.check(node)) return skip;
    if (method_ != Method::cufile) return io_.check(node);
    if (auto why = node.backends().gpu().no_file_reader()) return Skip{*why};
    return std::nullopt;
  }
  Footprint footprint() const override {
    Footprint all = io_.footprint(spec_, spec_.bytes() * (method_ == Method::cufile ? 1 : 2));
    if (method_ == Method::cufile) all.page_cache_bytes = 0;
    return all;
  }
  unsigned workers() const override { return io_.workers; }
  /// Each stage alone first, then both; reads straight into the GPU have one stage.
  std::vector<PhaseSpec> phases() const override {
    if (method_ == Method::cufile) return {{"end to end", false}};
    return {{.name = "read", .differs = true},
            {.name = "copy", .keeps_cache = true, .differs = true},
            {.name = "end to end", .differs = true}};
  }
  std::vector<CacheState> cache_states() const override {
    if (method_ == Method::cufile) return {CacheState::asis};  // direct reads that the kernel's counters may not see
    return io_.cache_states();
  }

  void prepare(Node& node, const DataProgress& progress) override {
    data_ = DataSet::open(spec_, node, progress);
    backends_ = &node.backends();
    GpuBackend& backend = backends_->gpu();
    watch_.open(backend);
    notes_.clear();
    lanes_.resize(io_.workers);
    for (std::uint32_t i = 0; i < data_->files().count(); ++i) lanes_[i % io_.workers].shards.push_back(i);
    for (unsigned i = 0; i < io_.workers; ++i) open(lanes_[i], i % backend.count(), backend);
    std::set<std::string> modes;
    for (const Lane& lane : lanes_)
      if (lane.direct) modes.insert(lane.direct->mode());
    for (const std::string& mode : modes) notes_.push_back("GPUDirect Storage: " + mode);
  }
  const DataSet* data() const override { return data_.get(); }

  void before_phase(unsigned phase, unsigned, std::uint64_t) override {
    if (phase == 0) watch_.begin();
  }
  void before_run(Worker& worker) override {
    Lane& lane = lanes_[worker.index];
    run_on(lane.place);
    if (lane.reader) lane.reader->attach();
    lane.stream->attach();
    lane.free.clear();
    for (auto slot = slots(); slot > 0; --slot) lane.free.push_back(slot - 1);
    lane.copied = lane.queued = 0;
    if (!lane.reader) return;
    lane.stream->copy(lane.device->begin(), lane.reader->data(0), io_.block_size, CopyKind::h2d);
    if (worker.index == lane.gpu) watch_.under_load(lane.gpu);
    lane.stream->wait();
  }
  void run(Worker& worker) override {
    Lane& lane = lanes_[worker.index];
    if (method_ == Method::cufile) return read_straight(lane, worker.recorder);
    switch (worker.phase) {
      case 0:
        return move(lane, worker.recorder, false);
      case 1:
        return copy_only(lane, worker.recorder);
      default:
        return move(lane, worker.recorder, true);
    }
  }

  void report(const Repetition& repetition, MetricSink& sink) const override {
    const PhaseResult& whole = repetition.phases.back();
    const double rate = whole.bytes_per_s();
    sink.put("bandwidth", rate);
    if (whole.bytes > 0) sink.put("cpu_time_per_gb_s", whole.cpu_s * 1e9 / static_cast<double>(whole.bytes));
    watch_.put(sink);
    if (method_ == Method::cufile) return;
    const double read = repetition.phases[0].bytes_per_s(), copy = repetition.phases[1].bytes_per_s();
    sink.put("read_bandwidth", read);
    sink.put("copy_bandwidth", copy);
    if (read > 0 && copy > 0) sink.put("pipeline_efficiency", rate / std::min(read, copy));
    limit_ = read < copy ? "storage limits: the link alone would carry " + times(copy / read)
                         : "the link limits: storage alone would give " + times(read / copy);
  }

  /// The last blocks of the first lane.
  std::vector<StageSpan> stages() const override {
    std::vector<StageSpan> spans;
    if (method_ == Method::cufile || lanes_.empty()) return spans;
    const Lane& lane = lanes_.front();
    const std::uint64_t first = lane.copied - std::min<std::uint64_t>(lane.copied, Lane::kKept);
    const std::uint64_t begin_ns = lane.last[first % Lane::kKept].begin_ns;
    const auto since = [&](std::uint64_t ns) {
      return ns > begin_ns ? 1e-9 * static_cast<double>(ns - begin_ns) : 0.0;
    };
    for (std::uint64_t n = first; n < lane.copied; ++n) {
      const Block& block = lane.last[n % Lane::kKept];
      const auto item = static_cast<std::uint32_t>(n - first);
      spans.push_back({item, "read", since(block.begin_ns), since(block.read_ns)});
      spans.push_back({item, "copy", since(block.sent_ns), since(block.copied_ns)});
    }
    return spans;
  }

  std::vector<WrongBlock> verify(const DataProgress& progress) override {
    std::vector<WrongBlock> wrong = data_->verify(progress);
    if (!data_->generated()) return wrong;
    for (Lane& lane : lanes_) {
      const auto back = backends_->gpu().gpu(lane.gpu).pinned(slot_bytes(), false);
      for (std::size_t slot = 0; slot < lane.blocks.size(); ++slot) {
        const Block& block = lane.blocks[slot];
        if (block.length == 0) continue;
        lane.stream->attach();
        lane.stream->copy(back->begin(), place_of(lane, slot), block.length, CopyKind::d2h);
        lane.stream->wait();
        WrongBlock found;
        if (!data_->check(lane.shards[block.file], block.offset, back->begin(), block.length, &found)) {
          found.file += " in the memory of " + gpu::gpu_name(lane.gpu);
          wrong.push_back(std::move(found));
        }
      }
    }
    return wrong;
  }
  std::vector<std::string> notes() override {
    std::vector<std::string> all = notes_;
    if (backends_ && method_ != Method::cufile)
      for (std::string& note : backends_->storage(io_.engine).take_notes()) all.push_back(std::move(note));
    if (!limit_.empty()) all.push_back(limit_);
    for (std::string& note : watch_.notes()) all.push_back(std::move(note));
    return all;
  }
  void cleanup(Node&) override {
    lanes_.clear();
    data_.reset();
  }

 private:
  static Method method_of(Params& p) {
    const std::string word =
        p.choice("method", "pipelined", {"pageable", "pipelined", "cufile"},
                 "pageable: read, then copy, in turns; pipelined: reads into pinned buffers during copies of earlier "
                 "ones; cufile: GPUDirect Storage, no host memory in between");
    return word == "pageable" ? Method::pageable : word == "pipelined" ? Method::pipelined : Method::cufile;
  }
  static std::string times(double factor) { return format_quantity(factor, Dimension::ratio) + " times as much"; }

  unsigned slots() const {
    return calls_ != gpu::ReadCalls::single ? reads_in_flight_ : static_cast<unsigned>(io_.queue_depth);
  }
  std::uint64_t slot_bytes() const { return round_up(io_.block_size, kPage); }
  unsigned char* place_of(const Lane& lane, std::size_t slot) const noexcept {
    return lane.device->begin() + slot * slot_bytes();
  }
  std::uint64_t size_of(const Lane& lane, std::uint32_t position) const noexcept {
    return data_->files().size(lane.shards[position]);
  }

  void open(Lane& lane, unsigned index, GpuBackend& backend) {
    Gpu& gpu = backend.gpu(index);
    lane.gpu = index;
    lane.place = placement_.node_of(index, gpu.facts(), notes_);
    lane.device = gpu.allocate(slot_bytes() * slots());
    lane.stream = gpu.stream();
    lane.blocks.resize(slots());
    lane.requests.resize(slots());
    lane.copying.resize(slots());
    lane.free.reserve(slots());
    if (method_ == Method::cufile) {
      lane.direct = gpu.file_reader(data_->files(), lane.shards, *lane.device);
      lane.straight = std::make_unique<gpu::StraightReads>(*lane.direct, *lane.stream, calls_, slots(), slot_bytes());
      return;
    }
    const OnNumaNode there(lane.place);
    ReaderOptions options = io_.reader_options();
    options.advice = Advice::sequential;
    options.keep_data = true;
    lane.reader = backends_->storage(io_.engine).block_reader(data_->files(), lane.shards, options);
    if (method_ == Method::pageable) return;
    for (std::uint32_t slot = 0; slot < slots(); ++slot)
      lane.pins.push_back(gpu.pin({lane.reader->data(slot), slot_bytes()}));
  }

  /// Goes through a lane's shards block by block.
  struct Cursor {
    const StorageToGpu& workload;
    const Lane& lane;
    std::uint32_t position = 0;
    std::uint64_t offset = 0;

    bool next(Block& block) noexcept {
      if (position == lane.shards.size()) return false;
      const std::uint64_t size = workload.size_of(lane, position);
      block = {position, offset, std::min(workload.io_.block_size, size - offset)};
      offset += block.length;
      if (offset == size) {
        offset = 0;
        ++position;
      }
      return true;
    }
  };

  /// Reads everything; with `copies`, on to the GPU. Slots of the pipeline are free, being read, or
  /// being copied.
  void move(Lane& lane, Recorder& recorder, bool copies) {
    Cursor cursor{*this, lane};
    Block block;
    for (std::uint32_t reading = 0;;) {
      while (lane.copied < lane.queued && lane.stream->reached(oldest(lane))) retire(lane, recorder);
      std::size_t n = 0;
      while (!lane.free.empty() && recorder.running() && cursor.next(block)) {
        BlockRequest& request = lane.requests[n++];
        request.slot = lane.free.back();
        lane.free.pop_back();
        lane.blocks[request.slot] = block;
        request.file = block.file;
        request.offset = block.offset;
        request.length = static_cast<std::uint32_t>(io_.direct ? round_up(block.length, kPage) : block.length);
      }
      reading += static_cast<std::uint32_t>(n);
      if (reading == 0) {
        if (lane.copied == lane.queued) break;
        lane.stream->wait_mark(oldest(lane));
        continue;
      }
      for (const BlockCompletion& done : lane.reader->exchange(std::span(lane.requests).first(n), 1)) {
        --reading;
        take(lane, done, copies, recorder);
      }
    }
    lane.reader->detach();
  }
  void take(Lane& lane, const BlockCompletion& done, bool copies, Recorder& recorder) {
    Block& block = lane.blocks[done.slot];
    block.begin_ns = done.begin_ns;
    block.read_ns = done.end_ns;
    const bool arrived = done.result >= static_cast<std::int64_t>(block.length);
    if (!arrived || !copies) {
      record_block(done, block.length, lane.shards[block.file], recorder);
      if (!arrived) block.length = 0;
      lane.free.push_back(done.slot);
      return;
    }
    send(lane, done.slot, block.length);
    if (method_ == Method::pageable) {
      lane.stream->wait();
      retire(lane, recorder);
    }
  }
  void send(Lane& lane, std::uint32_t slot, std::uint64_t length) {
    lane.blocks[slot].sent_ns = now_ns();
    lane.stream->copy(place_of(lane, slot), lane.reader->data(slot), length, CopyKind::h2d);
    lane.stream->mark(slot);
    lane.copying[lane.queued++ % lane.copying.size()] = slot;
  }
  static std::uint32_t oldest(const Lane& lane) noexcept { return lane.copying[lane.copied % lane.copying.size()]; }
  /// The oldest copy has ended: its block has gone all the way.
  void retire(Lane& lane, Recorder& recorder) noexcept {
    const std::uint32_t slot = oldest(lane);
    Block& block = lane.blocks[slot];
    block.copied_ns = now_ns();
    recorder.op(block.begin_ns, block.copied_ns, block.length);
    lane.last[lane.copied++ % Lane::kKept] = block;
    lane.free.push_back(slot);
  }

  /// The same copies without reading.
  void copy_only(Lane& lane, Recorder& recorder) {
    Cursor cursor{*this, lane};
    Block block;
    for (;;) {
      while (!lane.free.empty() && recorder.running() && cursor.next(block)) {
        const std::uint32_t slot = lane.free.back();
        lane.free.pop_back();
        block.begin_ns = now_ns();
        lane.blocks[slot] = block;
        send(lane, slot, block.length);
        if (method_ == Method::pageable) break;
      }
      if (lane.copied == lane.queued) break;
      lane.stream->wait_mark(oldest(lane));
      retire(lane, recorder);
    }
  }

  void read_straight(Lane& lane, Recorder& recorder) {
    Cursor cursor{*this, lane};
    lane.straight->run(
        [&](GpuRead& read) {
          Block block;
          if (!recorder.running() || !cursor.next(block)) return false;
          read.file = block.file;
          read.offset = block.offset;
          read.length = block.length;
          return true;
        },
        [&](unsigned slot, const GpuRead& read, std::uint64_t begin_ns, std::uint64_t end_ns) {
          BlockCompletion done;
          done.file = read.file;
          done.offset = read.offset;
          done.begin_ns = begin_ns;
          done.end_ns = end_ns;
          done.result = read.result;
          const bool arrived = record_block(done, read.length, lane.shards[read.file], recorder);
          lane.blocks[slot] = {read.file, read.offset, arrived ? read.length : 0};
        });
  }

  Method method_;
  gpu::ReadCalls calls_;
  unsigned reads_in_flight_;
  StorageParams io_;
  DataSetSpec spec_;
  gpu::Placement placement_;
  std::shared_ptr<DataSet> data_;
  Backends* backends_ = nullptr;
  std::vector<Lane> lanes_;
  std::vector<std::string> notes_;
  mutable std::string limit_;  // which stage limits, as of the last repetition
};

const Register<StorageToGpu> registered_storage_to_gpu{"storage_to_gpu",
                                                       "shards from storage to device memory: pageable, pipelined "
                                                       "or GPUDirect Storage; which stage limits"};
}  // namespace
