// shard_stream - large files read in order by N readers, each its own shards: what packed data sets
// (tar, TFRecord) give.
#include <array>

#include "harness/backends/loader.h"
#include "harness/backends/read_profiles.h"
#include "harness/storage/block_loop.h"
#include "harness/storage/loader.h"
#include "harness/storage/open_loop.h"
#include "harness/storage/storage_params.h"
#include "harness/storage/tuning.h"
#include "harness/workload.h"
#include "workloads/storage/file_cursor.h"

namespace {
using namespace headrace;

constexpr auto kMetrics = with_open_loop(std::array{
    Metric{"read_bandwidth", "B/s", Better::higher, "Bytes delivered per second"},
    Metric{"sample_rate", "1/s", Better::higher, "Samples of sample_size delivered per second"},
    Metric{"first_byte_latency_ns", "ns", Better::lower,
           "From asking for a shard's first block to having it; the median of the shards"},
    Metric{"read_iops", "1/s", Better::higher, "Reads of block_size per second"},
});

/// One reader and its shards.
struct Stream {
  std::vector<std::uint32_t> shards;  // indices in the data set
  std::unique_ptr<BlockReader> reader;
  BlockLoop loop;
};

/// How many bytes/s do large files give when they are read in order?
class ShardStream final : public Workload {
 public:
  explicit ShardStream(Params& p)
      : loader_(Loader::declare(p)),
        profile_(read_profile(p.choice("read_profile", "ranged", {"ranged", "wds"},
                                       "calls by which a shard is read. ranged: block_size at a time of a file that "
                                       "stays open; wds: opened, 10 KiB at a time as WebDataset does, closed"))),
        io_(StorageParams::declare(p, {.workers = 4,
                                       .block_size = profile_ == ReadProfile::wds ? kTarRecord : 1_MiB,
                                       .direct_allowed = true,
                                       .engine = loader_.engine()})),
        tuning_(Tuning::declare(p, io_, true)),
        spec_(DataSetSpec::declare(p, {.files = 4, .file_size = 256_MiB})),
        sample_size_(p.bytes("sample_size", 128_KiB, {.min = 1}, "stored bytes of one sample")),
        passes_(p.count("passes", 1, {.min = 1, .max = 1e6}, "how often each reader goes through its shards")),
        open_loop_(OpenLoop::declare(p, per_read())) {
    if (open_loop_.asked() && tuning_.wanted()) p.conflict("tune", OpenLoop::kNotTuned);
    loader_.check(p, io_.engine, open_loop_, tuning_.wanted());
    if (profile_ == ReadProfile::ranged) return;
    if (!io_.traits().blocks() || io_.direct || tuning_.wanted())
      p.conflict("read_profile", "wds reads with engine posix, through the page cache, and is not tuned");
    if (io_.block_size != kTarRecord) p.conflict("block_size", "wds reads 10 KiB at a time");
  }

  static std::span<const Metric> metrics() { return kMetrics; }
  std::optional<Skip> check(Node& node) override { return io_.check(node); }
  Footprint footprint() const override { return io_.footprint(spec_, spec_.bytes() * passes_); }
  unsigned workers() const override { return io_.workers; }
  std::vector<std::string> latency_parts() const override { return open_loop_.latency_parts({"first_byte"}); }
  std::vector<CacheState> cache_states() const override { return io_.cache_states(); }

  void prepare(Node& node, const DataProgress& progress) override {
    team_index_ = node.team_index();
    team_size_ = static_cast<unsigned>(node.team().size());
    data_ = DataSet::open(spec_, node, progress);
    backends_ = &node.backends();
    open_streams();
  }
  void tune(CacheState state, const DataProgress& progress) override {
    const auto use = [this](const Way& way) {
      io_.engine = way.engine;
      io_.block_size = way.block_size;
      io_.queue_depth = way.queue_depth;
      open_streams();
    };
    tuning_.run(*this, state, *data_, *backends_, use, progress);
    open_loop_.ramp(*this, state, *data_, progress);
  }
  const DataSet* data() const override { return data_.get(); }
  CacheUse cache_use() const override { return {.names_only = false, .readers = static_cast<unsigned>(passes_)}; }

  void before_phase(unsigned, unsigned, std::uint64_t seed) override {
    open_loop_.before_phase(io_.workers, 1, seed);
    per_batch_ = loader_.operations(static_cast<double>(io_.block_size) / static_cast<double>(sample_size_));
    const FileTable& files = data_->files();
    const std::uint64_t most = (files.total_bytes() / io_.block_size + files.count()) * passes_;
    loader_.before_phase(io_.workers, per_batch_, most, true);
  }
  void before_run(Worker& worker) override { streams_[worker.index].reader->attach(); }

  void run(Worker& worker) override {
    Stream& stream = streams_[worker.index];
    Recorder& recorder = worker.recorder;
    FileCursor cursor(data_->files(), stream.shards, io_.block_size, io_.direct, passes_);
    if (loader_.in_order()) return read_batches(stream, cursor, loader_.begin(worker));
    stream.loop.run(
        *stream.reader, open_loop_.begin(worker),
        [&](BlockRequest& request) { return recorder.running() && cursor.next(request); },
        [&](const BlockCompletion& block) { record(block, stream, cursor, recorder); });
  }

  void report(const Repetition& repetition, MetricSink& sink) const override {
    const PhaseResult& phase = repetition.phases.front();
    sink.put("read_bandwidth", phase.bytes_per_s());
    sink.put("sample_rate", phase.bytes_per_s() / static_cast<double>(sample_size_));
    sink.put("first_byte_latency_ns", phase.parts.front().percentile(0.5));
    sink.put("read_iops", phase.operations_per_s());
    open_loop_.report(phase, sink);
  }

  std::vector<WrongBlock> verify(const DataProgress& progress) override { return data_->verify(progress); }
  std::vector<std::string> notes() override {
    std::vector<std::string> notes;
    if (backends_) notes = backends_->storage(io_.engine).take_notes();
    if (!tuning_.note().empty()) notes.push_back(tuning_.note());
    for (std::string& note : open_loop_.notes()) notes.push_back(std::move(note));
    if (data_ && data_->files().count() < io_.workers)
      notes.push_back("only " + std::to_string(data_->files().count()) + " of " + std::to_string(io_.workers) +
                      " workers had a shard to read");
    return notes;
  }
  void cleanup(Node&) override {
    streams_.clear();
    data_.reset();
  }

 private:
  template <class Record>
  void record(const BlockCompletion& block, const Stream& stream, const FileCursor& cursor, Record& recorder) noexcept {
    const std::uint64_t wanted = cursor.length_at(block.file, block.offset);
    if (record_block(block, wanted, stream.shards[block.file], recorder) && block.offset == 0)
      recorder.part(1, block.end_ns - block.begin_ns);
  }

  /// One worker's batches, each block after block, as long as its shards last.
  void read_batches(Stream& stream, FileCursor& cursor, Batches::Lane& lane) {
    while (cursor.more()) {
      if (!lane.next()) return stream.reader->detach();
      BlockRequest request;
      for (std::uint64_t i = 0; i < per_batch_ && cursor.next(request); ++i) {
        const BlockCompletion& block = stream.reader->exchange({&request, 1}, 1).front();
        record(block, stream, cursor, lane);
        if (lane.goes_on(block.end_ns)) continue;
        lane.leave();
        return stream.reader->detach();
      }
      lane.read();
    }
    lane.end();
    stream.reader->detach();
  }

  std::vector<PerOperation> per_read() const {
    const auto block = static_cast<double>(io_.block_size);
    return {{"read_iops", 1}, {"read_bandwidth", block}, {"sample_rate", block / static_cast<double>(sample_size_)}};
  }

  void open_streams() {
    streams_.clear();  // first, so that two sets of buffers never exist at once
    ReaderOptions options = io_.reader_options();
    options.advice = Advice::sequential;
    StorageEngine& engine = backends_->storage(io_.engine);
    std::vector<std::vector<std::uint32_t>> shards(io_.workers);
    for (std::uint32_t i = team_index_; i < data_->files().count(); i += team_size_)
      shards[i / team_size_ % io_.workers].push_back(i);
    for (auto& mine : shards) {
      auto reader = profile_ == ReadProfile::ranged
                        ? engine.block_reader(data_->files(), mine, options)
                        : profile_block_reader(profile_, data_->files(), mine, io_.block_size);
      streams_.push_back({std::move(mine), std::move(reader), BlockLoop(io_.queue_depth)});
    }
  }

  Loader loader_;
  ReadProfile profile_;
  StorageParams io_;
  Tuning tuning_;
  std::uint64_t per_batch_ = 1;              // blocks
  unsigned team_index_ = 0, team_size_ = 1;  // processes that share the shards
  DataSetSpec spec_;
  std::uint64_t sample_size_, passes_;
  OpenLoop open_loop_;
  std::shared_ptr<DataSet> data_;
  Backends* backends_ = nullptr;
  std::vector<Stream> streams_;
};

const Register<ShardStream> registered{
    "shard_stream", "large files in order by N readers, each its own shards, as packed data sets are read"};
}  // namespace
