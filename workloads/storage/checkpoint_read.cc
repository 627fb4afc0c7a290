// checkpoint_read - all ranks restore at once, from a cold cache: each its own shard, or all the
// same weights.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <mutex>
#include <tuple>

#include "harness/backends/loader.h"
#include "harness/base/parallel.h"
#include "harness/workload/data/block_loop.h"
#include "harness/workload/data/storage_params.h"
#include "harness/workload/workload.h"
#include "workloads/storage/file_cursor.h"
#include "workloads/storage/object_metrics.h"

namespace {
using namespace headrace;

constexpr auto kCheckpointReadMetrics = with_object_metrics(std::array{
    Metric{"read_bandwidth", "B/s", Better::higher,
           "layout sharded: bytes of all ranks over the time until the last rank has its own"},
    Metric{"shared_read_bandwidth", "B/s", Better::higher,
           "layout same: the same; the page cache may have served all ranks but the first"},
    Metric{"time_to_restored_s", "s", Better::lower, "From the start until the last rank has read all that it needs"},
    Metric{"first_rank_restored_s", "s", Better::lower,
           "From the start until the first rank has: the others are held back, not the storage"},
});

constexpr double kLargestShard = 0x1p44;  // 16 TiB, what ext4 holds
constexpr std::size_t kMostWrong = 8;
constexpr std::uint64_t kChecked = 4_KiB;  // the label with its file and offset

/// One rank: what it reads, and how.
struct Rank {
  std::vector<std::uint32_t> files;  // indices in the data set
  std::unique_ptr<BlockReader> reader;
  BlockLoop loop;
};

/// How long does it take until every rank has its part of a checkpoint?
class CheckpointRead final : public Workload, public ReadsFiles {
 public:
  explicit CheckpointRead(Params& p)
      : io_(StorageParams::declare(p, {.workers = 2,
                                       .block_size = 1_MiB,
                                       .direct_allowed = true,
                                       .maps = true,
                                       .queue_depth = 8,
                                       .workers_key = "ranks",
                                       .workers_help = "processes that restore at once, a thread "
                                                       "each",
                                       .objects = true})),
        same_(p.choice("layout", "sharded", {"sharded", "same"},
                       "each rank its own shard, or all ranks the same weights") == "same") {
    spec_.path = p.path("path",
                        "an existing checkpoint, read-only: a folder, whose files go to the ranks "
                        "in turn, or one file, or objects below s3://bucket/prefix; none: one is made",
                        true);
    spec_.files = same_ ? 1 : io_.workers;
    spec_.file_size = p.bytes("shard_size", 512_MiB, {.min = 1, .max = kLargestShard}, "what each rank reads");
    if (!spec_.path.empty() && p.given("shard_size"))
      p.conflict("shard_size", "makes shards; not together with path, which reads existing ones");
    if (io_.traits().objects && io_.direct)
      p.conflict("direct", "is of files: there is no page cache before an object store");
  }

  static std::span<const Metric> metrics() { return kCheckpointReadMetrics; }
  std::optional<Skip> check(Node& node) override { return io_.check(node); }
  Footprint footprint() const override {
    return io_.footprint(spec_, spec_.path.empty() ? io_.workers * spec_.file_size : 0);
  }
  unsigned workers() const override { return io_.workers; }
  std::vector<CacheState> cache_states() const override { return io_.cache_states(); }
  CacheUse cache_use() const override { return {.names_only = false, .readers = same_ ? io_.workers : 1}; }

  void prepare(Node& node, const DataProgress& progress) override {
    data_ = DataSet::open(spec_, node, progress);
    engine_ = &node.backends().storage(io_.engine);
    requests_.open(node, io_.engine, data_->files());
    wanted_ = 0;
    for (unsigned rank = 0; rank < io_.workers; ++rank) {
      ranks_.push_back(open(rank, false));
      for (const std::uint32_t file : ranks_.back().files) wanted_ += data_->files().size(file);
    }
  }
  const DataSet* data() const override { return data_.get(); }

  void before_phase(unsigned, unsigned, std::uint64_t) override { requests_.before_phase(); }
  void before_run(Worker& worker) override { ranks_[worker.index].reader->attach(); }
  void run(Worker& worker) override {
    Rank& rank = ranks_[worker.index];
    Recorder& recorder = worker.recorder;
    FileCursor cursor = cursor_of(rank);
    rank.loop.run(
        *rank.reader, [&](BlockRequest& request) { return recorder.running() && cursor.next(request); },
        [&](const BlockCompletion& block) {
          record_block(block, cursor.length_at(block.file, block.offset), rank.files[block.file], recorder);
        });
  }

  void report(const Repetition& repetition, MetricSink& sink) const override {
    requests_.report(sink);
    // A restore is all of it: no warm-up is cut off.
    const PhaseResult& phase = repetition.phases.front();
    if (phase.elapsed_s > 0)
      sink.put(same_ ? "shared_read_bandwidth" : "read_bandwidth", static_cast<double>(phase.bytes) / phase.elapsed_s);
    const bool whole = phase.bytes == wanted_;
    cut_ = cut_ || !whole;
    if (!whole) return;
    sink.put("time_to_restored_s", phase.elapsed_s);
    sink.put("first_rank_restored_s", phase.first_finish_s);
  }

  /// Reads everything once more as the ranks do, and checks each block as the engine delivers it.
  std::vector<WrongBlock> verify(const DataProgress& progress) override {
    std::vector<WrongBlock> wrong;
    if (!data_->generated()) return wrong;
    std::mutex mutex;
    std::atomic<std::uint64_t> done{0};
    const auto look = [&](unsigned, std::uint64_t number) {
      Rank rank = open(static_cast<unsigned>(number), true);
      rank.reader->attach();
      FileCursor cursor = cursor_of(rank);
      rank.loop.run(
          *rank.reader, [&](BlockRequest& request) { return cursor.next(request); },
          [&](const BlockCompletion& block) {
            const std::uint64_t wanted = cursor.length_at(block.file, block.offset);
            std::vector<WrongBlock> found = wrong_in(rank, block, wanted);
            done += wanted;
            if (found.empty()) return;
            const std::lock_guard lock(mutex);
            std::move(found.begin(), found.end(), std::back_inserter(wrong));
          });
    };
    parallel_for(io_.workers, io_.workers, look, [&] {
      if (progress) progress(done, wanted_, "restoring once more, to check every byte");
    });
    const auto place = [](const WrongBlock& block) { return std::tie(block.file, block.offset); };
    const auto before = [&](const auto& a, const auto& b) { return place(a) < place(b); };
    const auto equal = [&](const auto& a, const auto& b) { return place(a) == place(b); };
    std::sort(wrong.begin(), wrong.end(), before);
    wrong.erase(std::unique(wrong.begin(), wrong.end(), equal), wrong.end());
    wrong.resize(std::min(wrong.size(), kMostWrong));
    return wrong;
  }

  std::vector<std::string> notes() override {
    std::vector<std::string> notes = engine_ ? engine_->take_notes() : std::vector<std::string>{};
    if (data_ && !same_ && data_->files().count() < io_.workers)
      notes.push_back(fmt::format("only {} of {} ranks had a file to read", data_->files().count(), io_.workers));
    requests_.add_notes(notes);
    if (cut_) notes.emplace_back("the time budget ended before all was restored: no time to restored");
    return notes;
  }
  void cleanup(Node&) override {
    ranks_.clear();
    data_.reset();
  }

 private:
  Rank open(unsigned number, bool keep_data) {
    std::vector<std::uint32_t> files;
    for (std::uint32_t i = same_ ? 0 : number; i < data_->files().count(); i += same_ ? 1 : io_.workers)
      files.push_back(i);
    ReaderOptions options = io_.reader_options();
    options.advice = Advice::sequential;
    options.keep_data = keep_data;
    auto reader = engine_->block_reader(data_->files(), files, options);
    return {std::move(files), std::move(reader), BlockLoop(io_.queue_depth)};
  }
  FileCursor cursor_of(const Rank& rank) const { return {data_->files(), rank.files, io_.block_size, io_.direct}; }

  /// Every wrong block of one request that asked for `wanted` bytes.
  std::vector<WrongBlock> wrong_in(const Rank& rank, const BlockCompletion& block, std::uint64_t wanted) const {
    const std::uint32_t file = rank.files[block.file];
    if (block.result < static_cast<std::int64_t>(wanted)) {
      const bool failed = block.result < 0;
      return {{data_->files().full_path(file), block.offset + static_cast<std::uint64_t>(failed ? 0 : block.result),
               failed ? system_error("read", "", static_cast<int>(-block.result)).what() : "the file ends here"}};
    }
    std::vector<WrongBlock> wrong;
    const unsigned char* data = rank.reader->data(block.slot);
    const std::uint64_t end = block.offset + wanted;
    WrongBlock found;
    for (std::uint64_t at = block.offset;
         at < end && wrong.size() < kMostWrong && !data_->check(file, at, data + (at - block.offset), end - at, &found);
         at = (found.offset / kChecked + 1) * kChecked)
      wrong.push_back(found);
    return wrong;
  }

  StorageParams io_;
  bool same_;
  DataSetSpec spec_;
  std::shared_ptr<DataSet> data_;
  StorageEngine* engine_ = nullptr;
  std::vector<Rank> ranks_;
  ObjectRequests requests_;
  std::uint64_t wanted_ = 0;  // bytes of all ranks
  mutable bool cut_ = false;  // found in report(), reported in notes()
};

const Register<CheckpointRead> registered_checkpoint_read{
    "checkpoint_read", "N ranks restore at once: each its own shard, or all the same weights"};
}  // namespace
