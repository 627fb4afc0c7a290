// mixed - ingest reads at a fixed rate, before, while and after a checkpoint is saved. It shows the effect of a save on
// the data loader.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>

#include "harness/backends/loader.h"
#include "harness/workload/data/checkpoint_saver.h"
#include "harness/workload/data/open_loop.h"
#include "harness/workload/data/storage_params.h"
#include "harness/workload/workload.h"
#include "workloads/storage/object_metrics.h"
#include "workloads/storage/whole_files.h"

namespace {
using namespace headrace;
using checkpoint::SaveTimes;

constexpr auto kMixedMetrics = with_object_metrics(std::array{
    Metric{"before_read_rate", "1/s", Better::higher, "Files read per second before the save"},
    Metric{"during_read_rate", "1/s", Better::higher, "Files read per second during the save"},
    Metric{"after_read_rate", "1/s", Better::higher, "Files read per second after the save"},
    Metric{"before_latency_p50_ns", "ns", Better::lower, "Median latency before the save"},
    Metric{"during_latency_p50_ns", "ns", Better::lower, "Median latency during the save"},
    Metric{"after_latency_p50_ns", "ns", Better::lower, "Median latency after the save"},
    Metric{"before_latency_p99_ns", "ns", Better::lower, "99 % of the reads before the save"},
    Metric{"during_latency_p99_ns", "ns", Better::lower, "99 % of the reads during the save"},
    Metric{"after_latency_p99_ns", "ns", Better::lower, "99 % of the reads after the save"},
    Metric{"latency_p99_ratio", "ratio", Better::lower, "p99 during the save over p99 before it"},
    Metric{"before_sustained", "ratio", Better::higher, "1: the rate was sustained before"},
    Metric{"during_sustained", "ratio", Better::higher, "1: the rate was sustained during the save"},
    Metric{"after_sustained", "ratio", Better::higher, "1: the rate was sustained after"},
    Metric{"read_bandwidth", "B/s", Better::higher, "File bytes per second during the save"},
    Metric{"durable_bandwidth", "B/s", Better::higher, "Checkpoint bytes over the time until the last is durable"},
    Metric{"time_to_durable_s", "s", Better::lower, "From the start of the save until it is durable"},
});

enum Phase : unsigned { kBefore, kDuring, kAfter, kPhases };
constexpr std::array<const char*, kPhases> kSideNames{"before", "during", "after"};

/// How do a checkpoint's save and concurrent reads affect each other?
class Mixed final : public Workload, public ReadsFiles, public SavesCheckpoints {
 public:
  explicit Mixed(Params& p)
      : io_(StorageParams::declare(p, {.workers = 8, .block_size = 1_MiB, .direct_allowed = true, .objects = true})),
        spec_(DataSetSpec::declare(p, {.files = 10'000, .file_size = 128_KiB, .objects = true})),
        open_loop_(OpenLoop::declare(p, per_file(), 100)),
        around_s_(p.seconds("around", 5, {.min = 0.1, .max = 3600}, "how long to read before the save, and after it")),
        save_(checkpoint::SaveParams::declare(p, "checkpoint_")) {
    if (spec_.path.empty() && reads_around() > spec_.files)
      p.conflict("files",
                 fmt::format("{} files are read in {:g} s at {:g}/s: give as many, or fewer seconds in `around`",
                             reads_around(), around_s_, open_loop_.rate()));
  }

  static std::span<const Metric> metrics() { return kMixedMetrics; }
  std::optional<Skip> check(Node& node) override {
    if (auto skip = io_.check(node)) return skip;
    return save_.check(node);
  }
  Footprint footprint() const override {
    Footprint all = io_.footprint(spec_, 3 * reads_around() * spec_.file_size);
    all.written_bytes += 2 * save_.total_bytes();  // the old one stays until the new one is durable
    all.memory_bytes += save_.memory_bytes();
    all.page_cache_bytes += save_.direct || save_.objects ? 0 : save_.total_bytes();
    all.data_id = "mixed " + all.data_id;
    return all;
  }
  unsigned workers() const override { return io_.workers + save_.ranks; }
  unsigned background_workers() const override { return save_.ranks; }
  std::vector<std::string> latency_parts() const override { return open_loop_.latency_parts(parts()); }
  /// Each with a new cache, so that they can be compared. The temporary slowdown of reads is the result.
  std::vector<PhaseSpec> phases() const override {
    std::vector<PhaseSpec> phases;
    for (const char* name : kSideNames) phases.push_back({name, false, true});
    return phases;
  }
  std::vector<CacheState> cache_states() const override { return io_.cache_states(); }

  void prepare(Node& node, const DataProgress& progress) override {
    team_index_ = node.team_index();
    team_size_ = static_cast<unsigned>(node.team().size());
    data_ = DataSet::open(spec_, node, progress);
    if (reads_around() > data_->files().count())
      throw RunError(fmt::format("{} has {} files, and {} are read in {:g} s", data_->files().root(),
                                 data_->files().count(), reads_around(), around_s_));
    backends_ = &node.backends();
    for (unsigned i = 0; i < io_.workers; ++i)
      readers_.push_back(backends_->storage(io_.engine).whole_file_reader(data_->files(), io_.reader_options()));
    saver_ = std::make_unique<checkpoint::Saver>(save_, node, progress);
    times_.resize(save_.ranks);
    requests_.open(node, io_.engine, data_->files());
    if (save_.objects && !requests_.on()) requests_.open(node, save_.engine, node.scratch_path());
  }
  const DataSet* data() const override { return data_.get(); }

  void before_phase(unsigned phase, unsigned, std::uint64_t seed) override {
    if (phase > kBefore)
      trends_[phase - 1] = open_loop_.trend();
    else
      requests_.before_phase();
    const std::uint64_t own_seed = Random(seed + phase).next();
    queue_.fill(data_->files(), own_seed);
    queue_.keep_due();
    queue_.split(team_index_, team_size_);
    if (phase != kDuring) queue_.keep(reads_around());
    open_loop_.before_phase(io_.workers, parts().size(), own_seed);
    if (phase != kDuring) return;
    saver_->fill(seed);
    std::fill(times_.begin(), times_.end(), SaveTimes{});
    saving_ = save_.ranks;
  }
  void before_run(Worker& worker) override {
    if (worker.index < io_.workers) {
      readers_[worker.index]->attach();
    } else if (worker.phase == kDuring) {
      saver_->attach(worker.index - io_.workers);
    }
  }

  void run(Worker& worker) override {
    if (worker.index < io_.workers) {
      read_whole_files(*readers_[worker.index], queue_, open_loop_.begin(worker), worker.recorder,
                       [](const FileCompletion&) {});
    } else if (worker.phase == kDuring) {
      const unsigned rank = worker.index - io_.workers;
      times_[rank] = saver_->save(rank, worker.recorder);
      if (saving_.fetch_sub(1) == 1) queue_.close();  // the reads end with the save
    }
  }

  void report(const Repetition& repetition, MetricSink& sink) const override {
    std::uint64_t begin = UINT64_MAX, durable = 0;
    for (const SaveTimes& t : times_) {
      if (t.durable_ns == 0) return;  // stopped: no save, no value
      begin = std::min(begin, t.begin_ns);
      durable = std::max(durable, t.durable_ns);
    }
    const double save_s = 1e-9 * static_cast<double>(durable - begin);
    for (unsigned p = kBefore; p < kPhases; ++p) {
      const PhaseResult& phase = repetition.phases[p];
      const auto put = [&](const char* name, double value, double seconds = 0) {
        sink.put(std::string(kSideNames[p]) + name, value, seconds);
      };
      const OpenLoopResult result =
          judge_open_loop(p == kAfter ? open_loop_.trend() : trends_[p], open_loop_.rate(), phase.elapsed_s);
      put("_read_rate", result.achieved_rate, phase.elapsed_s);
      put("_sustained", result.sustained ? 1 : 0);
      put("_latency_p50_ns", phase.latency.percentile(0.5));
      put("_latency_p99_ns", phase.latency.percentile(0.99));
    }
    const PhaseResult &before = repetition.phases[kBefore], &during = repetition.phases[kDuring];
    sink.put("latency_p99_ratio", during.latency.percentile(0.99) / std::max(1.0, before.latency.percentile(0.99)));
    sink.put("read_bandwidth", during.bytes_per_s(), during.elapsed_s);
    sink.put("durable_bandwidth", static_cast<double>(saver_->params().total_bytes()) / save_s, save_s);
    sink.put("time_to_durable_s", save_s);
    requests_.report(sink);
    ended_early_ = ended_early_ || during.elapsed_s < kMostOf * save_s;
  }

  std::vector<WrongBlock> verify(const DataProgress& progress) override {
    std::vector<WrongBlock> wrong = data_->verify(progress);
    for (WrongBlock& block : saver_->verify(progress)) wrong.push_back(std::move(block));
    return wrong;
  }
  std::vector<std::string> notes() override {
    std::vector<std::string> notes;
    if (ended_early_)
      notes.emplace_back("every file was read before the checkpoint was durable: more files would show the rest");
    if (!backends_) return notes;
    const auto add = [&notes](std::vector<std::string> more) {
      for (std::string& note : more)
        if (std::find(notes.begin(), notes.end(), note) == notes.end()) notes.push_back(std::move(note));
    };
    add(backends_->storage(io_.engine).take_notes());
    add(backends_->storage(save_.engine).take_notes());
    if (saver_) add(saver_->notes());
    requests_.add_notes(notes);
    return notes;
  }
  std::string unproven() const override { return saver_ ? saver_->unproven() : ""; }
  void cleanup(Node&) override {
    readers_.clear();
    saver_.reset();
    data_.reset();
  }

 private:
  static constexpr double kMostOf = 0.95;

  /// The job's ingest, for any layout: that many files, or that many bytes in files of this size.
  std::vector<PerOperation> per_file() const {
    std::vector<PerOperation> per_file{{"small_file_read.open_rate", 1}};
    for (const char* metric :
         {"small_file_read.read_bandwidth", "shard_stream.read_bandwidth", "random_read.read_bandwidth"}) {
      if (spec_.path.empty()) per_file.push_back({metric, static_cast<double>(spec_.file_size)});
    }
    return per_file;
  }
  std::vector<std::string> parts() const { return whole_file_parts(io_.traits().objects); }
  std::uint64_t reads_around() const { return static_cast<std::uint64_t>(std::ceil(open_loop_.rate() * around_s_)); }

  StorageParams io_;
  unsigned team_index_ = 0, team_size_ = 1;  // processes that share the files
  DataSetSpec spec_;
  OpenLoop open_loop_;
  double around_s_;
  checkpoint::SaveParams save_;
  Backends* backends_ = nullptr;
  std::shared_ptr<DataSet> data_;
  std::vector<std::unique_ptr<WholeFileReader>> readers_;
  std::unique_ptr<checkpoint::Saver> saver_;
  FileQueue queue_;
  ObjectRequests requests_;
  std::vector<SaveTimes> times_;
  std::atomic<unsigned> saving_{0};
  std::array<LatencyTrend, kPhases> trends_;
  mutable bool ended_early_ = false;  // found in report(), reported in notes()
};

const Register<Mixed> registered_mixed{
    "mixed", "ingest reads at a fixed rate before, while and after a checkpoint is saved: what breaks"};
}  // namespace
