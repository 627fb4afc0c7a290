// shard_stream - large files read in order by N readers, each its own shards: what packed data sets
// (tar, TFRecord) give.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "harness/workload/data/some_samples.h"
#include "workloads/storage/block_reads.h"
#include "workloads/storage/file_cursor.h"

namespace {
using namespace headrace;

constexpr auto kShardStreamMetrics = with_open_loop(with_object_metrics(std::array{
    Metric{"read_bandwidth", "B/s", Better::higher, "Bytes delivered per second"},
    Metric{"sample_rate", "1/s", Better::higher,
           "Samples delivered per second: of tar, TFRecord and MDS shards as they were counted, else of sample_size"},
    Metric{"first_byte_latency_ns", "ns", Better::lower,
           "From asking for a shard's first block to having it; the median of the shards"},
    Metric{"read_iops", "1/s", Better::higher, "Reads of block_size per second"},
}));

/// How many bytes/s do large files give when they are read in order?
class ShardStream final : public BlockReads {
 public:
  explicit ShardStream(Params& p)
      : BlockReads(p, {.profiles = {"ranged", "wds"},
                       .profile_help = "calls by which a shard is read. ranged: block_size at a time of a file that "
                                       "stays open; wds: opened, 10 KiB at a time as WebDataset does, closed",
                       .io = reading,
                       .tunes_block_size = true,
                       .advice = Advice::sequential}) {
    sample_size_ = p.bytes("sample_size", 128_KiB, {.min = 1}, "stored bytes of one sample");
    passes_ = p.count("passes", 1, {.min = 1, .max = 1e6}, "how often each reader goes through its shards");
    declare_rate(p);
    if (profile_ == ReadProfile::ranged) return;
    if (!io_.traits().blocks() || io_.direct || tuning_.wanted())
      p.conflict("read_profile", "wds reads with engine posix, through the page cache, and is not tuned");
    if (io_.block_size != kTarRecord) p.conflict("block_size", "wds reads 10 KiB at a time");
  }

  static std::span<const Metric> metrics() { return kShardStreamMetrics; }
  Footprint footprint() const override { return io_.footprint(spec_, spec_.bytes() * passes_); }
  std::vector<std::string> latency_parts() const override { return open_loop_.latency_parts({"first_byte"}); }

  CacheUse cache_use() const override { return {.names_only = false, .readers = static_cast<unsigned>(passes_)}; }

  void before_phase(unsigned, unsigned, std::uint64_t seed) override {
    open_loop_.before_phase(io_.workers, 1, seed);
    requests_.before_phase();
    per_batch_ = reads_in_batch();
    const FileTable& files = data_->files();
    const std::uint64_t most = (files.total_bytes() / io_.block_size + files.count()) * passes_;
    loader_.before_phase(io_.workers, per_batch_, most, true);
  }

  void run(Worker& worker) override {
    Reader& reader = readers_[worker.index];
    const std::vector<std::uint32_t>& shards = shards_[worker.index];
    Recorder& recorder = worker.recorder;
    FileCursor cursor(data_->files(), shards, io_.block_size, io_.direct, passes_);
    if (loader_.in_order()) return read_batches(*reader.io, shards, cursor, loader_.begin(worker));
    reader.loop.run(
        *reader.io, open_loop_.begin(worker),
        [&](BlockRequest& request) { return recorder.running() && cursor.next(request); },
        [&](const BlockCompletion& block) { record(block, shards, cursor, recorder); });
  }

  void report(const Repetition& repetition, MetricSink& sink) const override {
    const PhaseResult& phase = repetition.phases.front();
    sink.put("read_bandwidth", phase.bytes_per_s());
    sink.put("sample_rate", phase.bytes_per_s() / stored_size_);
    sink.put("first_byte_latency_ns", phase.parts.front().percentile(0.5));
    sink.put("read_iops", phase.operations_per_s());
    open_loop_.report(phase, sink);
    requests_.report(phase, sink);
  }

 private:
  static StorageParams::Defaults reading(ReadProfile profile) {
    return {.workers = 4, .block_size = profile == ReadProfile::wds ? kTarRecord : 1_MiB, .direct_allowed = true};
  }

  void choose_files() override {
    count_samples();
    shards_.assign(io_.workers, {});
    for (std::uint32_t i = team_index_; i < data_->files().count(); i += team_size_)
      shards_[i / team_size_ % io_.workers].push_back(i);
  }
  /// The user's shards hold headers and padding in addition to the samples.
  void count_samples() {
    stored_size_ = static_cast<double>(sample_size_);
    counted_.clear();
    const OwnSamples own = data_->generated() ? OwnSamples{} : own_samples(data_->files());
    if (own.stored_size <= 0) return;
    stored_size_ = own.stored_size;
    sample_size_ = std::max<std::uint64_t>(1, static_cast<std::uint64_t>(std::llround(own.stored_size)));
    counted_ = fmt::format("samples were counted in the {} shards: {:.0f} bytes each, with headers and padding",
                           formats::to_string(own.format), own.stored_size);
  }
  std::span<const std::uint32_t> files_of(unsigned worker) const override { return shards_[worker]; }
  std::string left_out() const override {
    const std::uint32_t files = data_->files().count();
    if (files >= io_.workers) return counted_;
    return fmt::format("{}{}only {} of {} workers had a shard to read", counted_, counted_.empty() ? "" : "; ", files,
                       io_.workers);
  }

  template <class Record>
  void record(const BlockCompletion& block, const std::vector<std::uint32_t>& shards, const FileCursor& cursor,
              Record& recorder) noexcept {
    const std::uint64_t wanted = cursor.length_at(block.file, block.offset);
    if (!record_block(block, wanted, shards[block.file], recorder)) return;
    if (block.first_ns != 0)  // of an object: of every range
      recorder.part(1, block.first_ns - block.begin_ns);
    else if (block.offset == 0)
      recorder.part(1, block.end_ns - block.begin_ns);
  }

  /// One worker's batches, each block after block, as long as its shards last.
  void read_batches(BlockReader& reader, const std::vector<std::uint32_t>& shards, FileCursor& cursor,
                    Batches::Lane& lane) {
    while (cursor.more()) {
      if (!lane.next()) return reader.detach();
      BlockRequest request;
      for (std::uint64_t i = 0; i < per_batch_ && cursor.next(request); ++i) {
        const BlockCompletion& block = reader.exchange({&request, 1}, 1).front();
        record(block, shards, cursor, lane);
        if (lane.goes_on(block.end_ns)) continue;
        lane.leave();
        return reader.detach();
      }
      lane.read();
    }
    lane.end();
    reader.detach();
  }

  std::uint64_t passes_ = 1;
  double stored_size_ = 1;                          // of a sample in its shard [B]
  std::string counted_;                             // its source; "" = sample_size
  std::uint64_t per_batch_ = 1;                     // blocks
  std::vector<std::vector<std::uint32_t>> shards_;  // of each worker: indices in the data set
};

const Register<ShardStream> registered_shard_stream{
    "shard_stream", "large files in order by N readers, each its own shards, as packed data sets are read"};
}  // namespace
