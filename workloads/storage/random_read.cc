// random_read - blocks of large files in random order, each once: token files, indexed records,
// memory-mapped arrays.
#include <algorithm>
#include <array>
#include <atomic>

#include "harness/base/random.h"
#include "workloads/storage/block_places.h"
#include "workloads/storage/block_reads.h"

namespace {
using namespace headrace;

constexpr auto kRandomReadMetrics = with_open_loop(with_object_metrics(std::array{
    Metric{"read_iops", "1/s", Better::higher, "Reads of block_size per second"},
    Metric{"read_bandwidth", "B/s", Better::higher, "Bytes delivered per second"},
    Metric{"sample_rate", "1/s", Better::higher, "Samples of sample_size delivered per second"},
}));

/// How many random reads/s, and at what latency, do large files give?
class RandomRead final : public BlockReads {
 public:
  explicit RandomRead(Params& p)
      : BlockReads(p, {.profiles = {"ranged", "mmap", "mds", "row_group"},
                       .profile_help = "calls that read a block. ranged: one read of a file that stays open. mmap: "
                                       "copied out of a mapped file. mds: open, 8 bytes of index, the block, close. "
                                       "row_group: open, 64 KiB of footer, the block, close",
                       .io = reading,
                       .tunes_block_size = false,
                       .advice = Advice::random}),
        alignment_(
            p.bytes("alignment", io_.block_size, {.min = 1}, "offsets are multiples of this; block_size by default")) {
    sample_size_ =
        p.bytes("sample_size", io_.block_size, {.min = 1}, "stored bytes of one sample; block_size by default");
    reads_ = p.count("reads", 0, {}, "reads per repetition; 0 = as many blocks as the files have");
    if (io_.direct && alignment_ % 4_KiB != 0)
      p.conflict("alignment",
                 "direct reads are at multiples of 4KiB: " + nearest_multiple(alignment_, 4_KiB) + " is the nearest");
    declare_rate(p);
    check_profile(p);
  }

  static std::span<const Metric> metrics() { return kRandomReadMetrics; }
  Footprint footprint() const override {
    return io_.footprint(spec_, reads_ ? reads_ * io_.block_size : spec_.bytes());
  }
  std::vector<std::string> latency_parts() const override { return open_loop_.latency_parts(parts()); }

  CacheUse cache_use() const override { return {.whole_files = false}; }

  void before_phase(unsigned, unsigned, std::uint64_t seed) override {
    order_ = RandomOrder(places_->count(), seed + team_index_);  // each process one of its own
    steps_ = places_->steps(order_, reads_ ? reads_ : places_->blocks());
    next_ = 0;
    open_loop_.before_phase(io_.workers, static_cast<unsigned>(parts().size()), seed);
    requests_.before_phase();
    per_batch_ = reads_in_batch();
    loader_.before_phase(io_.workers, per_batch_, steps_, false);
  }

  void run(Worker& worker) override {
    Reader& reader = readers_[worker.index];
    Recorder& recorder = worker.recorder;
    if (loader_.in_order()) return read_batches(worker, *reader.io);
    Picker picker{*this};
    reader.loop.run(
        *reader.io, open_loop_.begin(worker),
        [&](BlockRequest& request) { return recorder.running() && picker.next(request); },
        [&](const BlockCompletion& block) { record(block, recorder); });
  }

  void report(const Repetition& repetition, MetricSink& sink) const override {
    const PhaseResult& phase = repetition.phases.front();
    sink.put("read_iops", phase.operations_per_s());
    sink.put("read_bandwidth", phase.bytes_per_s());
    sink.put("sample_rate", phase.bytes_per_s() / static_cast<double>(sample_size_));
    open_loop_.report(phase, sink);
    requests_.report(phase, sink);
  }

 private:
  /// For objects: when the first byte came.
  std::vector<std::string> parts() const {
    return io_.traits().objects ? std::vector<std::string>{"first_byte"} : std::vector<std::string>{};
  }
  template <class Record>
  void record(const BlockCompletion& block, Record& recorder) noexcept {
    if (record_block(block, io_.block_size, places_->selected()[block.file], recorder) && block.first_ns != 0)
      recorder.part(1, block.first_ns - block.begin_ns);
  }

  static StorageParams::Defaults reading(ReadProfile profile) {
    return {.workers = 4,
            .block_size = 4_KiB,
            .direct_allowed = true,
            .maps = true,
            .queue_depth = 32,
            .engine = profile == ReadProfile::mmap ? mapping_engine() : ""};
  }
  void check_profile(Params& p) const {
    if (profile_ == ReadProfile::ranged) return;
    if (tuning_.wanted()) p.conflict("tune", "a read profile reads as it does: there is nothing to search");
    if (profile_ == ReadProfile::mmap && !io_.traits().maps)
      p.conflict("engine", "read_profile mmap copies out of mapped files: engine " + mapping_engine());
    if (profile_ == ReadProfile::mmap) return;
    if (!io_.traits().blocks() || io_.direct)
      p.conflict("read_profile", "mds and row_group read with engine posix, through the page cache");
  }

  /// One worker's batches, each block after block: every that many-th step of the order is its own.
  void read_batches(const Worker& worker, BlockReader& reader) {
    Batches::Lane& lane = loader_.begin(worker);
    std::uint64_t step = worker.index;
    BlockRequest request;
    const auto find = [&] {
      for (std::uint64_t place; step < steps_;) {
        const bool found = order_.at(step, place);
        step += worker.count;
        if (!found) continue;
        places_->locate(place, request);
        return true;
      }
      return false;
    };
    for (bool found = find(); found;) {
      if (!lane.next()) return reader.detach();
      for (std::uint64_t i = 0; i < per_batch_ && found; ++i, found = find()) {
        const BlockCompletion& block = reader.exchange({&request, 1}, 1).front();
        record(block, lane);
        if (lane.goes_on(block.end_ns)) continue;
        lane.leave();
        return reader.detach();
      }
      lane.read();
    }
    lane.end();
    reader.detach();
  }

  void choose_files() override { places_.emplace(data_->files(), io_.block_size, alignment_); }
  std::span<const std::uint32_t> files_of(unsigned) const override { return places_->selected(); }
  std::string left_out() const override {
    const std::size_t left = data_->files().count() - places_->selected().size();
    return left == 0 ? "" : std::to_string(left) + " files are smaller than block_size and were not read";
  }

  /// Goes through the random order together with the other workers: a free one takes the next few steps.
  struct Picker {
    static constexpr std::uint64_t kBatch = 64;
    RandomRead& workload;
    std::uint64_t step = 0, end = 0;

    bool next(BlockRequest& request) noexcept {
      for (std::uint64_t place;;) {
        if (step == end) {
          step = workload.next_.fetch_add(kBatch, std::memory_order_relaxed);
          if (step >= workload.steps_) {
            end = step;
            return false;
          }
          end = std::min(step + kBatch, workload.steps_);
        }
        if (workload.order_.at(step++, place)) {
          workload.places_->locate(place, request);
          return true;
        }
      }
    }
  };

  const std::uint64_t alignment_;
  std::uint64_t reads_ = 0;
  std::uint64_t per_batch_ = 1;  // blocks
  std::optional<BlockPlaces> places_;
  RandomOrder order_{1, 0};
  std::uint64_t steps_ = 0;
  alignas(128) std::atomic<std::uint64_t> next_{0};
};

const Register<RandomRead> registered_random_read{"random_read",
                                                  "blocks of large files in random order, each once, as token "
                                                  "files and indexed records are read"};
}  // namespace
