// random_read - blocks of large files in random order, each once: token files, indexed records,
// memory-mapped arrays.
#include <array>

#include "harness/backends/loader.h"
#include "harness/backends/read_profiles.h"
#include "harness/base/random.h"
#include "harness/storage/block_loop.h"
#include "harness/storage/loader.h"
#include "harness/storage/open_loop.h"
#include "harness/storage/storage_params.h"
#include "harness/storage/tuning.h"
#include "harness/workload.h"
#include "workloads/storage/block_places.h"

namespace {
using namespace headrace;

constexpr auto kMetrics = with_open_loop(std::array{
    Metric{"read_iops", "1/s", Better::higher, "Reads of block_size per second"},
    Metric{"read_bandwidth", "B/s", Better::higher, "Bytes delivered per second"},
    Metric{"sample_rate", "1/s", Better::higher, "Samples of sample_size delivered per second"},
});

/// One worker's reader, and its loop.
struct Reader {
  std::unique_ptr<BlockReader> io;
  BlockLoop loop;
};

/// How many random reads/s, and at what latency, do large files give?
class RandomRead final : public Workload {
 public:
  explicit RandomRead(Params& p)
      : loader_(Loader::declare(p)),
        profile_(read_profile(p.choice("read_profile", "ranged", {"ranged", "mmap", "mds", "row_group"},
                                       "calls by which a block is read. ranged: one read of a file that stays open; "
                                       "mmap: copied out of a mapped file; mds: open, 8 bytes of index, the block, "
                                       "close; row_group: open, 64 KiB of footer, the block, close"))),
        io_(StorageParams::declare(p, {.workers = 4,
                                       .block_size = 4_KiB,
                                       .direct_allowed = true,
                                       .maps = true,
                                       .queue_depth = 32,
                                       .engine = profile_ == ReadProfile::mmap ? mapping_engine() : loader_.engine()})),
        tuning_(Tuning::declare(p, io_, false)),
        spec_(DataSetSpec::declare(p, {.files = 4, .file_size = 256_MiB})),
        alignment_(p.bytes("alignment", io_.block_size, {.min = 1},
                           "offsets are multiples of this; block_size unless told otherwise")),
        sample_size_(p.bytes("sample_size", io_.block_size, {.min = 1},
                             "stored bytes of one sample; block_size unless told otherwise")),
        reads_(p.count("reads", 0, {}, "reads per repetition; 0 = as many blocks as the files have")),
        open_loop_(OpenLoop::declare(p, per_read())) {
    if (io_.direct && alignment_ % 4_KiB != 0) p.conflict("alignment", "direct reads are at multiples of 4KiB");
    if (open_loop_.asked() && tuning_.wanted()) p.conflict("tune", OpenLoop::kNotTuned);
    loader_.check(p, io_.engine, open_loop_, tuning_.wanted());
    check_profile(p);
  }

  static std::span<const Metric> metrics() { return kMetrics; }
  std::optional<Skip> check(Node& node) override { return io_.check(node); }
  Footprint footprint() const override {
    return io_.footprint(spec_, reads_ ? reads_ * io_.block_size : spec_.bytes());
  }
  unsigned workers() const override { return io_.workers; }
  std::vector<std::string> latency_parts() const override { return open_loop_.latency_parts({}); }
  std::vector<CacheState> cache_states() const override { return io_.cache_states(); }

  void prepare(Node& node, const DataProgress& progress) override {
    team_index_ = node.team_index();
    data_ = DataSet::open(spec_, node, progress);
    places_.emplace(data_->files(), io_.block_size, alignment_);
    backends_ = &node.backends();
    open_readers();
  }
  void tune(CacheState state, const DataProgress& progress) override {
    const auto use = [this](const Way& way) {
      io_.engine = way.engine;
      io_.queue_depth = way.queue_depth;
      open_readers();
    };
    tuning_.run(*this, state, *data_, *backends_, use, progress);
    open_loop_.ramp(*this, state, *data_, progress);
  }
  const DataSet* data() const override { return data_.get(); }
  CacheUse cache_use() const override { return {.whole_files = false}; }

  void before_phase(unsigned, unsigned, std::uint64_t seed) override {
    order_ = RandomOrder(places_->count(), seed + team_index_);
    steps_ = places_->steps(order_, reads_ ? reads_ : places_->blocks());
    next_ = 0;
    open_loop_.before_phase(io_.workers, 0, seed);
    per_batch_ = loader_.operations(static_cast<double>(io_.block_size) / static_cast<double>(sample_size_));
    loader_.before_phase(io_.workers, per_batch_, steps_, false);
  }
  void before_run(Worker& worker) override { readers_[worker.index].io->attach(); }

  void run(Worker& worker) override {
    Reader& reader = readers_[worker.index];
    Recorder& recorder = worker.recorder;
    if (loader_.in_order()) return read_batches(worker, *reader.io);
    Picker picker{*this};
    reader.loop.run(
        *reader.io, open_loop_.begin(worker),
        [&](BlockRequest& request) { return recorder.running() && picker.next(request); },
        [&](const BlockCompletion& block) {
          record_block(block, io_.block_size, places_->selected()[block.file], recorder);
        });
  }

  void report(const Repetition& repetition, MetricSink& sink) const override {
    const PhaseResult& phase = repetition.phases.front();
    sink.put("read_iops", phase.operations_per_s());
    sink.put("read_bandwidth", phase.bytes_per_s());
    sink.put("sample_rate", phase.bytes_per_s() / static_cast<double>(sample_size_));
    open_loop_.report(phase, sink);
  }

  std::vector<WrongBlock> verify(const DataProgress& progress) override { return data_->verify(progress); }
  std::vector<std::string> notes() override {
    std::vector<std::string> notes;
    if (backends_) notes = backends_->storage(io_.engine).take_notes();
    if (!tuning_.note().empty()) notes.push_back(tuning_.note());
    for (std::string& note : open_loop_.notes()) notes.push_back(std::move(note));
    if (data_ && places_ && places_->selected().size() < data_->files().count())
      notes.push_back(std::to_string(data_->files().count() - places_->selected().size()) +
                      " files are smaller than block_size and were not read");
    return notes;
  }
  void cleanup(Node&) override {
    readers_.clear();
    data_.reset();
  }

 private:
  void check_profile(Params& p) const {
    if (profile_ == ReadProfile::ranged) return;
    if (tuning_.wanted()) p.conflict("tune", "a read profile reads as it does: there is nothing to search");
    if (profile_ == ReadProfile::mmap && !io_.traits().maps)
      p.conflict("engine", "read_profile mmap copies out of mapped files: engine " + mapping_engine());
    if (profile_ == ReadProfile::mmap) return;
    if (!io_.traits().blocks() || io_.direct)
      p.conflict("read_profile", "mds and row_group read with engine posix, through the page cache");
  }

  /// One worker's batches, each block after block: every so many-th step of the order is its own.
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
        record_block(block, io_.block_size, places_->selected()[block.file], lane);
        if (lane.goes_on(block.end_ns)) continue;
        lane.leave();
        return reader.detach();
      }
      lane.read();
    }
    lane.end();
    reader.detach();
  }

  std::vector<PerOperation> per_read() const {
    const auto block = static_cast<double>(io_.block_size);
    return {{"read_iops", 1}, {"read_bandwidth", block}, {"sample_rate", block / static_cast<double>(sample_size_)}};
  }

  void open_readers() {
    readers_.clear();  // first, so that two sets of buffers never exist at once
    ReaderOptions options = io_.reader_options();
    options.advice = Advice::random;
    StorageEngine& engine = backends_->storage(io_.engine);
    for (unsigned i = 0; i < io_.workers; ++i)
      readers_.push_back({profile_ == ReadProfile::ranged || profile_ == ReadProfile::mmap
                              ? engine.block_reader(data_->files(), places_->selected(), options)
                              : profile_block_reader(profile_, data_->files(), places_->selected(), io_.block_size),
                          BlockLoop(io_.queue_depth)});
  }

  /// Goes through the random order together with the other workers: whoever is free takes the next
  /// few steps.
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

  Loader loader_;
  ReadProfile profile_;
  StorageParams io_;
  Tuning tuning_;
  std::uint64_t per_batch_ = 1;  // blocks
  unsigned team_index_ = 0;      // processes that read the same files, each in an order of its own
  DataSetSpec spec_;
  std::uint64_t alignment_, sample_size_, reads_;
  OpenLoop open_loop_;
  std::shared_ptr<DataSet> data_;
  Backends* backends_ = nullptr;
  std::optional<BlockPlaces> places_;
  RandomOrder order_{1, 0};
  std::uint64_t steps_ = 0;
  std::vector<Reader> readers_;
  alignas(128) std::atomic<std::uint64_t> next_{0};
};

const Register<RandomRead> registered{"random_read",
                                      "blocks of large files in random order, each once, as token "
                                      "files and indexed records are read"};
}  // namespace
